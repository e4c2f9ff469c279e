"""Bytes on every device for a profile, a model, settings and an assignment: what emulation and planning share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from solver.engines.llamacpp import families
from solver.engines.llamacpp.caches import KeptTerm, cache_cells, kept_terms, term_allocation
from solver.engines.llamacpp.facts import HOST, HOST_NAME, DeviceBytes, DeviceFacts
from solver.engines.llamacpp.placement import Copy, allocated_bytes, backend_at, loaded_blocks, placed
from solver.engines.llamacpp.profile import CPU
from solver.errors import InputError

if TYPE_CHECKING:
    from solver.engines.llamacpp.facts import Assignment, ComputeInterval, Settings
    from solver.engines.llamacpp.profile import Profile
    from tensors.inventory import Inventory, Tensor

__all__ = ["device_bytes", "device_facts", "is_lazy", "not_predicted", "output_bytes", "pipeline_copies"]

_LOGIT_BYTES = 4
_PIPELINE_COPIES = 4
"""ggml/src/ggml-backend.cpp, GGML_SCHED_MAX_COPIES."""


def device_bytes(
    profile: Profile, inventory: Inventory, settings: Settings, assignment: Assignment, compute: ComputeInterval
) -> tuple[DeviceBytes, ...]:
    """Return the bytes on every device of the assignment, in its order, and on the host last.

    Raises:
        InputError: the assignment is not one of this model, or a tensor belongs to no slot.
        ArchitectureError: no rule says what the model's caches are.
    """
    blocks = inventory.trunk_blocks + inventory.nextn_blocks
    if inventory.format != "gguf":
        raise InputError(
            inventory.name, f"its format is {inventory.format}; llama.cpp loads GGUF. Convert it, or name a GGUF file."
        )
    if not blocks or assignment.blocks != blocks:
        raise InputError(
            inventory.name,
            f"it has {blocks} blocks, and {assignment.blocks} are assigned; expected a device for each and for the "
            "head. Check that it is a whole model.",
        )
    copies = tuple(placed(profile, inventory, assignment, drafts=settings.drafts))
    terms = kept_terms(profile, inventory, settings)
    facts = _facts(profile, inventory, settings, assignment, copies, terms)
    tallies = _tallies(copies, terms, settings, assignment)
    return tuple(
        DeviceBytes(
            name=HOST_NAME if number == HOST else assignment.devices[number].name,
            model_bytes=tallies[number].model_bytes,
            cache_bytes=tallies[number].cache_bytes,
            state_bytes=tallies[number].state_bytes,
            compute_bytes=compute(facts[number]),
            output_bytes=output_bytes(profile, inventory, settings) if number == HOST else 0,
            mapped_bytes=tallies[HOST].mapped_bytes if number == HOST and settings.maps_files else None,
        )
        for number in (*range(len(assignment.devices)), HOST)
    )


def device_facts(
    profile: Profile, inventory: Inventory, settings: Settings, assignment: Assignment
) -> dict[int, DeviceFacts]:
    """Return what is known at every device and at HOST when compute buffers are sized."""
    # Copies tell what overrides have moved, and nothing else here.
    copies = tuple(placed(profile, inventory, assignment, drafts=settings.drafts)) if assignment.overrides else ()
    return _facts(profile, inventory, settings, assignment, copies, kept_terms(profile, inventory, settings))


def not_predicted(facts: DeviceFacts) -> tuple[int, int] | None:
    """Return no interval, where no rule sizes compute buffers."""
    del facts
    return None


def pipeline_copies(profile: Profile, assignment: Assignment, settings: Settings) -> int:
    """Return how many copies of graph inputs every device keeps (src/llama-context.cpp, pipeline_parallel)."""
    parallel = (
        len(assignment.devices) > 1
        and HOST not in assignment.slots
        and settings.offloads_cache
        and not assignment.overrides
        and all(profile.pipelines(device.backend) for device in assignment.devices)
    )
    return _PIPELINE_COPIES if parallel else 1


def is_lazy(tensor: Tensor, settings: Settings) -> bool:
    """Return whether the rows of a tensor stay on disk until they are needed."""
    allowed = settings.lazy_bytes is not None and tensor.name in families.LAZY_TENSORS
    return allowed and tensor.size_bytes > (settings.lazy_bytes or 0)


@dataclass(slots=True)
class _Span:
    """The part of a file from the first byte of the tensors in a buffer to the last."""

    start: int
    end: int


@dataclass(slots=True)
class _Tally:
    model_bytes: int = 0
    cache_bytes: int = 0
    state_bytes: int = 0
    spans: dict[tuple[int, bool], _Span] = field(default_factory=dict)

    @property
    def mapped_bytes(self) -> int:
        return sum(span.end - span.start for span in self.spans.values())

    def map(self, tensor: Tensor, *, lazy: bool) -> None:
        """Widen what is mapped of a file; tensors that are read by row have a buffer of their own."""
        end = tensor.offset + tensor.size_bytes
        span = self.spans.setdefault((tensor.file, lazy), _Span(tensor.offset, end))
        span.start, span.end = min(span.start, tensor.offset), max(span.end, end)


def _tallies(
    copies: tuple[Copy, ...], terms: tuple[KeptTerm, ...], settings: Settings, assignment: Assignment
) -> dict[int, _Tally]:
    tallies = {number: _Tally() for number in (*range(len(assignment.devices)), HOST)}
    for tensor, device, _ in copies:
        tally = tallies[device]
        lazy = device == HOST and is_lazy(tensor, settings)
        if not lazy:
            tally.model_bytes += allocated_bytes(tensor, backend_at(assignment, device))
        if device == HOST:
            tally.map(tensor, lazy=lazy)
    for kept in terms:
        device = assignment.slots[kept.term.block] if settings.offloads_cache else HOST
        size = term_allocation(kept, backend_at(assignment, device))
        if kept.is_state:
            tallies[device].state_bytes += size
        else:
            tallies[device].cache_bytes += size
    return tallies


def _facts(
    profile: Profile,
    inventory: Inventory,
    settings: Settings,
    assignment: Assignment,
    copies: tuple[Copy, ...],
    terms: tuple[KeptTerm, ...],
) -> dict[int, DeviceFacts]:
    loaded = loaded_blocks(profile, inventory, drafts=settings.drafts)
    moved = {(copy.tensor.block, copy.device) for copy in copies if copy.moved and copy.tensor.block is not None}
    parted = {block for block, _ in moved}
    caches = cache_cells(terms)
    copies_of_inputs = pipeline_copies(profile, assignment, settings)
    return {
        device: DeviceFacts(
            inventory=inventory,
            settings=settings,
            assignment=assignment,
            device=device,
            blocks=tuple(block for block in loaded if assignment.slots[block] == device),
            parted_blocks=tuple(block for block in loaded if assignment.slots[block] == device and block in parted),
            guest_blocks=tuple(sorted(block for block, place in moved if place == device and block in loaded)),
            has_head=assignment.head == device,
            pipeline_copies=copies_of_inputs,
            caches=caches,
        )
        for device in (*range(len(assignment.devices)), HOST)
    }


def output_bytes(profile: Profile, inventory: Inventory, settings: Settings) -> int:
    """Return the rows of logits that the host keeps: one a sequence, for a context that drafts once more.

    src/llama-context.cpp, output_reserve.
    """
    rows = (inventory.architecture.vocabulary_size or 0) * _LOGIT_BYTES * settings.sequences
    drafting = settings.drafts and inventory.architecture.family in profile.drafting_families
    contexts = 2 if drafting and inventory.nextn_blocks else 1
    return -(-rows // CPU.alignment_bytes) * CPU.alignment_bytes * contexts
