"""Planning for llama.cpp: what its devices would really hold, as a problem in integers.

Sizes are padded as the engine pads them; caches have its cells and the workload's context for every sequence apart.
Multi-token prediction blocks are left out. Embeddings, rows of logits and what the host computes in stay with the head,
which is where the first stage is. What a device computes in is an upper end, and taken off every budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.blocks import head_block
from solver.engines.generic import EnginePlan
from solver.engines.generic_shapes import active_weight_bytes
from solver.engines.llamacpp.hosts import (
    Counted,
    Held,
    Hosts,
    check_hosts,
    hosts_of,
    keeps_host_apart,
    node_of,
    pools_with,
)
from solver.engines.llamacpp.movable import all_blocks_pattern, movable_bytes
from solver.engines.llamacpp.needs import block_cache_needs, compute_need, planned_settings, weight_need
from solver.engines.llamacpp.profile import CPU, DEFAULT_BUILD, profile_of
from solver.engines.llamacpp.seats import links_of, rules_of
from solver.engines.seating import Kind
from solver.errors import InputError
from solver.problem import Block, Ends, Problem
from solver.wording import counted, several
from solver.workload import USUAL_CHOICES, Offload
from tensors.inventory import Part
from tensors.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.cluster import Cluster
    from solver.engines.llamacpp.needs import ComputeNeed, WeightNeed
    from solver.engines.llamacpp.seats import Seat
    from solver.problem import Rules
    from solver.workload import Choices, Workload
    from tensors.cache import BlockCache
    from tensors.inventory import Inventory

__all__ = ["llamacpp"]

# Activations cross a seam as 32-bit floats.
_ACTIVATION_VALUE_BYTES = 4
_DEVICES_AT_MOST = 16


def llamacpp(
    inventory: Inventory, cluster: Cluster, workload: Workload, rules: Rules, choices: Choices = USUAL_CHOICES
) -> EnginePlan:
    """Return the problem of placing a model on the devices of a cluster as llama.cpp holds it.

    Raises:
        ArchitectureError: no rule says what the caches are.
        InputError: the model is none that llama.cpp loads, it refuses the workload, or cluster and rules contradict.
    """
    if inventory.format != "gguf":
        raise InputError(
            inventory.name, f"its format is {inventory.format}; llama.cpp loads GGUF. Convert it, or name a GGUF file."
        )
    if not inventory.trunk_blocks:
        raise InputError(
            inventory.name, "it has no numbered blocks; expected a model of layers. Check that it is not an adapter."
        )
    profile = profile_of(DEFAULT_BUILD)
    movable = movable_bytes(inventory, choices.offload)
    hosts = hosts_of(cluster, rules, moves=any(size for size, _ in movable))
    settings = planned_settings(profile, inventory, workload)
    backends = tuple({seat.backend.name: seat.backend for seat in hosts.seats}.values())
    if any(seat.is_host for seat in hosts.firsts):
        backends = (*backends, CPU)
    on_host = all(seat.is_host for seat in hosts.firsts)
    weights = weight_need(profile, inventory, settings, backends, on_host=on_host)
    moves = any(size for size, _ in movable) and bool(hosts.machines)
    compute = compute_need(
        profile,
        inventory,
        settings,
        backends,
        devices=len(hosts.seats),
        moved=all_blocks_pattern(choices.offload) if moves else None,
    )
    # A processor beside cards is set aside no buffer of its own: it is the host's.
    beside = compute.output_bytes + _host_compute(
        compute, on_host=all(seat.site.kind is Kind.HOST for seat in hosts.firsts)
    )
    held = Held(weights.everywhere_bytes, compute.device_bytes, weights.host_bytes + beside)
    check_hosts(hosts, held.held_bytes)
    blocks = _blocks(
        inventory,
        weights,
        block_cache_needs(profile, inventory, settings, backends),
        movable if moves else tuple((0, 0) for _ in movable),
    )
    ends = _ends(hosts, weights, beside)
    problem = Problem(
        blocks=(*blocks, head_block(ends)),
        ends=ends,
        nodes=tuple(node_of(seat, hosts, held) for seat in hosts.seats),
        activation_bytes=(inventory.architecture.hidden_size or 0) * _ACTIVATION_VALUE_BYTES,
        context_tokens=workload.context_tokens,
        links=links_of(cluster, hosts.seats, hosts.head),
        rules=rules_of(rules, hosts.seats, hosts.first),
        pools=pools_with(hosts, held),
        head_alone=True,
    )
    # A stage without a block never has so many.
    if rules.min_blocks > 1:
        problem = problem.with_head_folded()
    notes = (
        *inventory.notes,
        *_notes(inventory, workload, hosts.seats, weights, compute, settings.context_tokens),
        *_host_notes(hosts, weights, beside),
        *_offload_notes(inventory, cluster, hosts, choices),
    )
    return EnginePlan(problem=problem, notes=notes, build=profile.build, served=None)


def _ends(hosts: Hosts, weights: WeightNeed, beside_bytes: int) -> Ends:
    """Return what both ends hold; what the head's host holds goes to the host of a first stage that has one."""
    counted = hosts.counted is Counted.WITH_FIRST
    to_host = hosts.head is not None and hosts.head.name in hosts.machines
    embeddings = weights.host_bytes if counted else 0
    return Ends(
        input_bytes=weights.first_bytes + (0 if to_host else embeddings),
        output_bytes=weights.head_bytes,
        tied_bytes=weights.tied_bytes,
        host_bytes=(beside_bytes if counted else 0) + (embeddings if to_host else 0),
    )


def _host_compute(compute: ComputeNeed, *, on_host: bool) -> int:
    """Return what the head's host computes in beyond what every device is set aside for."""
    return max(compute.host_bytes - compute.device_bytes, 0) if on_host else compute.host_bytes


def _blocks(
    inventory: Inventory,
    weights: WeightNeed,
    caches: tuple[BlockCache, ...],
    movable: tuple[tuple[int, int], ...],
) -> tuple[Block, ...]:
    blocks = []
    for summary, weight, cache, (moved, moved_read) in zip(
        inventory.blocks(), weights.blocks, caches, movable, strict=False
    ):
        read = active_weight_bytes(inventory, weight, summary.expert_bytes) + cache.cache_bytes
        blocks.append(
            Block(
                weight_bytes=weight,
                cache_bytes=cache.cache_bytes,
                active_bytes=read,
                cache_bytes_per_token=cache.bytes_per_token,
                cache_fixed_bytes=cache.fixed_bytes,
                expert_bytes=moved,
                expert_active_bytes=moved_read,
            )
        )
    return tuple(blocks)


def _notes(
    inventory: Inventory,
    workload: Workload,
    seats: tuple[Seat, ...],
    weights: WeightNeed,
    compute: ComputeNeed,
    context_tokens: int,
) -> Iterator[str]:
    bound = "an upper end from the graphs of the model" if compute.is_simulated else (
        "a coarse bound, twice the sum of logits, states, feed-forward and masks, as no rule is known for its graph"
    )  # fmt: skip
    yield (
        f"Assumed: llama.cpp {DEFAULT_BUILD}, -c {context_tokens} for {counted(workload.sequences, 'sequence')} apart. "
        f"{format_bytes(compute.device_bytes)} of every device are kept for compute buffers: {bound}."
    )
    drivers = {seat.backend.name: seat.backend.context_bytes[1] for seat in seats if seat.backend.context_bytes[1]}
    for name, size in drivers.items():
        yield f"{format_bytes(size)} of every device of kind {name} are kept for its driver's context."
    if weights.everywhere_bytes:
        yield f"{format_bytes(weights.everywhere_bytes)} of rope factors are kept on every device."
    kinds = sorted({seat.backend.name for seat in seats if not seat.is_host})
    if len({*kinds, *("CPU" for seat in seats if seat.is_host)}) > 1 or "unknown" in kinds:
        yield "Devices of several kinds round sizes up differently: every block counts as where it is largest."
    if inventory.nextn_blocks:
        yield (
            f"{counted(inventory.nextn_blocks, 'multi-token prediction block')} of "
            f"{format_bytes(inventory.part_bytes(Part.NEXTN))} in all left out: the engine skips them unless it drafts."
        )
    if len(seats) > _DEVICES_AT_MOST:
        yield f"There are {len(seats)} devices; one run takes {_DEVICES_AT_MOST} at most."


def _host_notes(hosts: Hosts, weights: WeightNeed, beside_bytes: int) -> Iterator[str]:
    held = f"{format_bytes(weights.host_bytes)} of embeddings and {format_bytes(beside_bytes)} of buffers"
    if hosts.counted is Counted.ASIDE and hosts.head is not None:
        yield f"{hosts.head.name} is the head, where llama.cpp is started: {held} are set aside in its host memory."
        return
    to_host = hosts.head is not None and hosts.head.name in hosts.machines
    apart = to_host or hosts.counted is Counted.APART
    where = "the host memory of the first stage's machine" if apart else "the first stage's memory"
    yield f"The machine of the first stage is the head, where llama.cpp is started: {held} are in {where}."
    if not apart and any(keeps_host_apart(seat) for seat in hosts.firsts):
        yield "They are counted there even where the first stage is a card of its own memory."


def _offload_notes(inventory: Inventory, cluster: Cluster, hosts: Hosts, choices: Choices) -> Iterator[str]:
    what = choices.offload.words.capitalize()
    if choices.offload is Offload.NONE or not any(size for size, _ in movable_bytes(inventory, choices.offload)):
        return
    if hosts.machines:
        yield (
            f"{what} of a block may stay in the memory of the host that its card stands in "
            f"({several(sorted(hosts.machines))}). Overrides of tensors end pipelining; compute buffers are "
            "counted for both."
        )
    others = [
        node.name
        for node in cluster.nodes
        if node.name not in hosts.machines and any(s.machine == node and s.site.kind is Kind.CARD for s in hosts.seats)
    ]
    if others:
        yield (
            f"{what} cannot stay in the memory of {several(others)}: the head's own process leaves them with its host "
            "alone (head = true), and a server with another only where it serves the processor (cpu = true)."
        )
