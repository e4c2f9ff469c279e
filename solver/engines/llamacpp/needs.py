"""What each block, both ends and every device need of memory, whatever the cut: upper ends where devices differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from solver.engines.llamacpp.caches import kept_terms, term_allocation
from solver.engines.llamacpp.compute import compute_interval
from solver.engines.llamacpp.facts import HOST, Assignment, Device, FlashAttention, Override, Program
from solver.engines.llamacpp.memory import device_facts, is_lazy, output_bytes
from solver.engines.llamacpp.placement import allocated_bytes, placed
from solver.engines.llamacpp.profile import CPU
from solver.engines.llamacpp.settings import ContextRequest, settings_of
from tensors.cache import BlockCache, block_caches, cache_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.engines.llamacpp.facts import Backend, Settings
    from solver.engines.llamacpp.profile import Profile
    from solver.workload import Workload
    from tensors.inventory import Inventory

__all__ = ["ComputeNeed", "WeightNeed", "block_cache_needs", "compute_need", "planned_settings", "weight_need"]

_BATCH_TOKENS, _MICRO_BATCH_TOKENS = 2048, 512
_LAZY_BYTES: Final = 4 * 2**30
_MOST_DEVICES: Final = 16
_FLOAT_BYTES = 4
_KNOWN_GRAPHS: Final = frozenset({"CPU", "RPC"})
"""Kinds of devices that compute buffers were measured on."""

_PIPELINE_COPIES = 4


@dataclass(frozen=True, slots=True)
class WeightNeed:
    """Bytes of weights: of each trunk block, on the head's host, with the first block, with the head, on every device.

    `tied_bytes` is the part of the head that is a copy of the host's embedding: not made where the head is there too.
    """

    blocks: tuple[int, ...]
    host_bytes: int
    first_bytes: int
    head_bytes: int
    tied_bytes: int
    everywhere_bytes: int


@dataclass(frozen=True, slots=True)
class ComputeNeed:
    """Upper ends of what a run computes in: on any device, and on the head's host beside it, with its rows of logits.

    `is_simulated` says that graphs were laid out; else the bound is a coarse one.
    """

    device_bytes: int
    host_bytes: int
    output_bytes: int
    is_simulated: bool


def planned_settings(profile: Profile, inventory: Inventory, workload: Workload) -> Settings:
    """Return the settings of a server with this workload, as an export asks for them.

    Raises:
        InputError: the engine refuses the workload for this model.
    """
    key, value, f16 = cache_type(workload.cache_type_k), cache_type(workload.cache_type_v), cache_type("f16")
    request = ContextRequest(
        program=Program.SERVER,
        context_tokens=workload.context_tokens * workload.sequences,
        slot_tokens=None,
        sequences=workload.sequences,
        unified=None,
        batch_tokens=_BATCH_TOKENS,
        micro_batch_tokens=_MICRO_BATCH_TOKENS,
        type_k=key,
        type_v=value,
        draft_type_k=f16,
        draft_type_v=f16,
        flash_attention=FlashAttention.AUTO,
        full_windows=False,
        offloads_cache=True,
        offloads_operations=True,
        maps_files=True,
        lazy_bytes=_LAZY_BYTES,
        fitted=False,
        drafts=False,
        draft_tokens=0,
        rolled_back_tokens=0,
    )
    return settings_of(profile, inventory, request)


def weight_need(
    profile: Profile, inventory: Inventory, settings: Settings, backends: Sequence[Backend], *, on_host: bool
) -> WeightNeed:
    """Return what weights take where devices are of these kinds: the most of any kind, block by block.

    `on_host` says that the first stage is on the head's host whatever the plan.
    """
    needs = [_weight_need(profile, inventory, settings, backend, on_host=on_host) for backend in backends]
    return WeightNeed(
        blocks=tuple(max(sizes) for sizes in zip(*(need.blocks for need in needs), strict=True)),
        host_bytes=needs[0].host_bytes,
        first_bytes=max(need.first_bytes for need in needs),
        head_bytes=max(need.head_bytes for need in needs),
        tied_bytes=min(need.tied_bytes for need in needs),
        everywhere_bytes=max(need.everywhere_bytes for need in needs),
    )


def _weight_need(
    profile: Profile, inventory: Inventory, settings: Settings, backend: Backend, *, on_host: bool
) -> WeightNeed:
    trunk, slots = inventory.trunk_blocks, inventory.trunk_blocks + inventory.nextn_blocks + 1
    # Three devices tell apart what goes with the first block, with every block and with the head.
    devices = tuple(Device(f"D{number}", f"D{number}", backend, None) for number in range(3))
    assignment = Assignment(devices, (0, *(1 for _ in range(slots - 2)), 2), ())
    blocks = [0] * trunk
    host = first = head = tied = everywhere = 0
    for tensor, device, _ in placed(profile, inventory, assignment, drafts=False):
        size = allocated_bytes(tensor, CPU if device == HOST else backend)
        if tensor.block is not None and tensor.block < trunk:
            blocks[tensor.block] += size
        elif tensor.block is not None:
            # Of a skipped block, and loaded all the same.
            head += size
        elif device == HOST:
            host += 0 if is_lazy(tensor, settings) else size
        elif tensor.name.startswith("rope_"):
            everywhere += size if device == 0 else 0
        elif device == 0:
            first += size
        else:
            head += size
            tied += size if tensor.name == "token_embd.weight" else 0
    return WeightNeed(tuple(blocks), host, first, head, tied if on_host else 0, everywhere)


def block_cache_needs(
    profile: Profile, inventory: Inventory, settings: Settings, backends: Sequence[Backend]
) -> tuple[BlockCache, ...]:
    """Return the cache of every trunk block with all padding; what alignment adds counts as fixed.

    Raises:
        ArchitectureError: no rule says what the caches are.
    """
    kept = [term for term in kept_terms(profile, inventory, settings) if term.term.block < inventory.trunk_blocks]
    if not kept:
        return (BlockCache(0, 0, 0),) * inventory.trunk_blocks
    caches = block_caches((term.term for term in kept), inventory.trunk_blocks, kept[0].settings)
    padded = [0] * inventory.trunk_blocks
    for term in kept:
        padded[term.term.block] += max(term_allocation(term, backend) for backend in backends)
    return tuple(
        BlockCache(size, cache.bytes_per_token, cache.fixed_bytes + max(size - cache.cache_bytes, 0))
        for cache, size in zip(caches, padded, strict=True)
    )


def compute_need(
    profile: Profile,
    inventory: Inventory,
    settings: Settings,
    backends: Sequence[Backend],
    *,
    devices: int,
    moved: str | None,
) -> ComputeNeed:
    """Return the upper ends over cuts that hold every kind of block and the head on one device, and over even ones.

    Where tensors that `moved` finds may be overridden, over the same cuts with and without that.
    """
    of_devices: list[int] = []
    of_hosts: list[int] = []
    for assignment in _samples(inventory, backends, devices, moved):
        for device, facts in device_facts(profile, inventory, settings, assignment).items():
            interval = compute_interval(facts)
            if interval is None:
                bound = _coarse_bound(inventory, settings)
                return ComputeNeed(bound, bound, output_bytes(profile, inventory, settings), is_simulated=False)
            (of_hosts if device == HOST else of_devices).append(interval[1])
    output = output_bytes(profile, inventory, settings)
    return ComputeNeed(max(of_devices, default=0), max(of_hosts), output, is_simulated=True)


def _samples(inventory: Inventory, backends: Sequence[Backend], devices: int, moved: str | None) -> list[Assignment]:
    slots = inventory.trunk_blocks + inventory.nextn_blocks + 1
    found = [Assignment((), (HOST,) * slots, ())]
    # Kinds differ in rounding and in how well their graphs are known: one stands for all that are no worse.
    coarsest = max(backends, key=lambda backend: (backend.name not in _KNOWN_GRAPHS, backend.alignment_bytes))
    for count in sorted({1, min(devices, _MOST_DEVICES, slots)}):
        several = tuple(Device(f"D{number}", f"D{number}", coarsest, None) for number in range(count))
        even = tuple(slot * count // slots for slot in range(slots))
        halved = tuple(HOST if slot < slots // 2 else even[slot] for slot in range(slots))
        found += [Assignment(several, even, ()), Assignment(several, halved, ())]
        if moved is not None:
            # To the host, and to the last device as to one that a server has beside its cards.
            places = (HOST, count - 1) if count > 1 else (HOST,)
            found += [Assignment(several, even, (Override(moved, place),)) for place in places]
            found.append(Assignment(several, halved, (Override(moved, HOST),)))
    return found


def _coarse_bound(inventory: Inventory, settings: Settings) -> int:
    """Return twice the sum of all that is known to be in compute buffers at once or in turn.

    Logits; hidden states and inputs in four copies; feed-forward of all experts in use three times; scores without
    fused attention in halves of every head.
    """
    architecture = inventory.architecture
    tokens, hidden = settings.micro_batch_tokens, architecture.hidden_size or 0
    used = 1 if architecture.experts is None else max(architecture.experts.used, 1)
    in_blocks = (tensor.shape for tensor in inventory.tensors if tensor.block is not None)
    widest = max((shape[-2] for shape in in_blocks if len(shape) > 1), default=0)
    logits = (architecture.vocabulary_size or 0) * settings.output_rows * _FLOAT_BYTES
    states = tokens * hidden * _FLOAT_BYTES * 5 * _PIPELINE_COPIES
    feed_forward = tokens * widest * used * _FLOAT_BYTES * 3
    masks = settings.sequence_tokens * tokens * _FLOAT_BYTES * _PIPELINE_COPIES
    scores = settings.sequence_tokens * tokens * _FLOAT_BYTES * (architecture.heads or 1)
    fused = settings.flash_attention is not FlashAttention.OFF
    return 2 * (logits + states + feed_forward + masks + (0 if fused else scores))
