"""Planning for llama.cpp: what its devices would really hold, as a problem in integers.

Sizes are padded as the engine pads them; caches have its cells and the workload's context for every sequence apart.
Multi-token prediction blocks are left out. Embeddings, rows of logits and what the host computes in stay with the head,
which is where the first stage is. What a device computes in is an upper end, and taken off every budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.generic import EnginePlan, active_weight_bytes
from solver.engines.llamacpp.needs import block_cache_needs, compute_need, planned_settings, weight_need
from solver.engines.llamacpp.profile import CPU, DEFAULT_BUILD, profile_of
from solver.engines.llamacpp.seats import head_of, links_of, rules_of, seats_of
from solver.errors import InputError
from solver.problem import Block, Ends, Node, Problem
from solver.wording import counted
from tensors.inventory import Part
from tensors.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.cluster import Cluster
    from solver.engines.llamacpp.needs import ComputeNeed, WeightNeed
    from solver.engines.llamacpp.seats import Seat
    from solver.problem import Rules
    from solver.workload import Workload
    from tensors.cache import BlockCache
    from tensors.inventory import Inventory

__all__ = ["llamacpp"]

# Activations cross a seam as 32-bit floats.
_ACTIVATION_VALUE_BYTES = 4
_DEVICES_AT_MOST = 16


def llamacpp(inventory: Inventory, cluster: Cluster, workload: Workload, rules: Rules) -> EnginePlan:
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
    seats = seats_of(cluster, frozenset(rules.exclude))
    head = head_of(cluster, seats, rules)
    firsts = seats if head is None else (head,)
    settings = planned_settings(profile, inventory, workload)
    backends = tuple({seat.backend.name: seat.backend for seat in seats}.values())
    if any(seat.is_host for seat in firsts):
        backends = (*backends, CPU)
    on_host = all(seat.is_host for seat in firsts)
    weights = weight_need(profile, inventory, settings, backends, on_host=on_host)
    caches = block_cache_needs(profile, inventory, settings, backends)
    compute = compute_need(profile, inventory, settings, backends, devices=len(seats))
    apart = all(_keeps_host_apart(seat) for seat in firsts)
    beside = compute.output_bytes + _host_compute(compute, on_host=on_host)
    problem = Problem(
        blocks=_blocks(inventory, weights, caches),
        ends=Ends(
            input_bytes=weights.first_bytes + (0 if apart else weights.host_bytes),
            output_bytes=weights.head_bytes,
            tied_bytes=weights.tied_bytes,
            host_bytes=0 if apart else beside,
        ),
        nodes=tuple(_node(seat, weights.everywhere_bytes + compute.device_bytes) for seat in seats),
        activation_bytes=(inventory.architecture.hidden_size or 0) * _ACTIVATION_VALUE_BYTES,
        context_tokens=workload.context_tokens,
        links=links_of(cluster, seats),
        rules=rules_of(rules, seats, head),
    )
    _check_hosts(firsts, weights.host_bytes + beside, fixed=head is not None)
    notes = (*inventory.notes, *_notes(inventory, workload, seats, weights, compute, settings.context_tokens))
    return EnginePlan(
        problem=problem, notes=(*notes, *_host_notes(apart, firsts, weights, beside)), build=profile.build, served=None
    )


def _host_compute(compute: ComputeNeed, *, on_host: bool) -> int:
    """Return what the head's host computes in beyond what every device is set aside for."""
    return max(compute.host_bytes - compute.device_bytes, 0) if on_host else compute.host_bytes


def _keeps_host_apart(seat: Seat) -> bool:
    """Return whether what the head's host holds is in another memory than the device's."""
    return not seat.is_host and not seat.machine.unified


def _blocks(inventory: Inventory, weights: WeightNeed, caches: tuple[BlockCache, ...]) -> tuple[Block, ...]:
    blocks = []
    last = len(caches) - 1
    for number, (summary, weight, cache) in enumerate(zip(inventory.blocks(), weights.blocks, caches, strict=False)):
        read = active_weight_bytes(inventory, weight, summary.expert_bytes) + cache.cache_bytes
        blocks.append(
            Block(
                weight_bytes=weight,
                cache_bytes=cache.cache_bytes,
                active_bytes=read + (weights.head_bytes if number == last else 0),
                cache_bytes_per_token=cache.bytes_per_token,
                cache_fixed_bytes=cache.fixed_bytes,
            )
        )
    return tuple(blocks)


def _node(seat: Seat, aside_bytes: int) -> Node:
    _, driver_bytes = seat.backend.context_bytes
    return Node(
        name=seat.node,
        budget_bytes=max(seat.budget_bytes - aside_bytes - driver_bytes, 0),
        bytes_per_second=seat.bytes_per_second,
        stage_ns=None,
        machine=None if seat.node == seat.machine.name else seat.machine.name,
    )


def _check_hosts(firsts: tuple[Seat, ...], needed_bytes: int, *, fixed: bool) -> None:
    """Refuse a head whose host has no room for what stays there; where any machine may be it, one must have."""
    short = [seat for seat in firsts if _keeps_host_apart(seat) and seat.machine.budget_bytes < needed_bytes]
    if short and (fixed or len(short) == len(firsts)):
        machine = short[0].machine
        raise InputError(
            f"node {machine.name}",
            f"its host may hold {format_bytes(max(machine.budget_bytes, 0))}; the head needs "
            f"{format_bytes(needed_bytes)} there for embeddings and buffers. Lower its reserve, or start llama.cpp on "
            "another node.",
        )


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
    for name in dict.fromkeys(seat.machine.name for seat in seats if seat.machine.gpus and seat.machine.cpu):
        yield f"{name}: its processor takes no whole blocks beside its cards."


def _host_notes(apart: bool, firsts: tuple[Seat, ...], weights: WeightNeed, beside_bytes: int) -> Iterator[str]:
    held = f"{format_bytes(weights.host_bytes)} of embeddings and {format_bytes(beside_bytes)} of buffers"
    where = "the host memory of the first stage's machine" if apart else "the first stage's memory"
    yield f"The machine of the first stage is the head, where llama.cpp is started: {held} are in {where}."
    if not apart and any(_keeps_host_apart(seat) for seat in firsts):
        yield "They are counted there even where the first stage is a card of its own memory."
