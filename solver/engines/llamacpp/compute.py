"""The compute buffer of a device as an interval with named terms: the worst-case graph is laid out, its peak read off.

Nothing is fitted. The graph of a model follows its tensors (`compute_blocks`), nodes go where the scheduler would send
them (`compute_schedule`), and memory is given out as the allocator gives it out (`compute_allocate`). What is left open
is named: a dry run and a run differ in where norms are run, a family that no run was compared with may have nodes that
its tensors do not show, and other devices than CPUs, here or behind RPC, have other operations.

Written from llama.cpp at 0c1e570 (October 2026): src/llama-context.cpp (sched_reserve), src/llama-graph.cpp.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from solver.engines.llamacpp import compute_families
from solver.engines.llamacpp.compute_allocate import Peak, Share, buffer_peaks
from solver.engines.llamacpp.compute_blocks import build
from solver.engines.llamacpp.compute_context import MissingTensorError, context
from solver.engines.llamacpp.compute_graph import HOST_PLACE
from solver.engines.llamacpp.compute_schedule import schedule
from solver.engines.llamacpp.facts import HOST, FlashAttention
from tensors.inventory import Part

if TYPE_CHECKING:
    from solver.engines.llamacpp.facts import Assignment, DeviceFacts, Settings
    from tensors.inventory import Inventory

__all__ = ["ComputeBuffer", "ComputeTerm", "compute_buffer", "compute_interval", "simulate"]

_MEASURED_BACKENDS: Final = frozenset({"CPU", "RPC"})
_HOST_ALIGNMENT_BYTES: Final = 32
_KEPT_ANSWERS: Final = 64

_Margin = tuple[Fraction, Fraction]

_COMPARED: Final[_Margin] = (Fraction(-5, 100), Fraction(5, 100))
"""Families whose graphs were compared with runs: what another setting may show."""

_UNSEEN: Final[_Margin] = (Fraction(-25, 100), Fraction(35, 100))
"""Families whose graphs follow from their tensors alone: with its traits forgotten, a compared one in 24 exceeds this."""

_OTHER_DEVICES: Final[_Margin] = (Fraction(-30, 100), Fraction(40, 100))
"""Devices that split or fuse operations in their own way."""


@dataclass(frozen=True, slots=True)
class ComputeTerm:
    """A part of a compute buffer, from low to high in bytes; what makes it smaller is below zero."""

    name: str
    low_bytes: int
    high_bytes: int


@dataclass(frozen=True, slots=True)
class ComputeBuffer:
    """The compute buffer of a device: its terms add up to the interval it lies in."""

    terms: tuple[ComputeTerm, ...]

    @property
    def low_bytes(self) -> int:
        """Return the least that the buffer takes."""
        return sum(term.low_bytes for term in self.terms)

    @property
    def high_bytes(self) -> int:
        """Return the most that the buffer takes."""
        return sum(term.high_bytes for term in self.terms)


def compute_interval(facts: DeviceFacts) -> tuple[int, int] | None:
    """Return the least and the most bytes of the compute buffer of a device, None where the model is not understood."""
    buffer = compute_buffer(facts)
    return None if buffer is None else (buffer.low_bytes, buffer.high_bytes)


def compute_buffer(facts: DeviceFacts) -> ComputeBuffer | None:
    """Return the compute buffer of a device by terms, None where the model is not understood."""
    peaks = _peaks(facts.inventory, facts.settings, facts.assignment, facts.pipeline_copies)
    if peaks is None:
        return None
    place = HOST_PLACE if facts.is_host else facts.device
    nothing = Peak(0, dict.fromkeys(Share, 0))
    runs = [peak.get(place, nothing) for peak in peaks]
    shares = [run.shares for run in runs]
    terms = [
        ComputeTerm(share.value, min(each[share] for each in shares), max(each[share] for each in shares))
        for share in Share
    ]
    low, high = min(run.size_bytes for run in runs), max(run.size_bytes for run in runs)
    known = [term for term in terms if term.high_bytes or term.low_bytes]
    open_terms = [
        ComputeTerm(
            "norms where a dry run has them",
            low - sum(term.low_bytes for term in known),
            high - sum(term.high_bytes for term in known),
        ),
        *_margins(facts, low, high),
    ]
    return ComputeBuffer((*known, *(term for term in open_terms if term.low_bytes or term.high_bytes)))


def _margins(facts: DeviceFacts, low: int, high: int) -> list[ComputeTerm]:
    below, above = _COMPARED if facts.inventory.architecture.family in compute_families.COMPARED else _UNSEEN
    terms = [ComputeTerm("layout of this family", int(low * below), int(high * above))]
    backends = {device.backend.name for device in facts.assignment.devices}
    if not backends <= _MEASURED_BACKENDS:
        below, above = _OTHER_DEVICES
        terms.append(ComputeTerm("operations of this kind of device", int(low * below), int(high * above)))
        if facts.settings.offloads_operations and not facts.is_host:
            terms.append(ComputeTerm("weights of the host, lent for large batches", 0, _largest_on_host(facts)))
    if facts.settings.drafts:
        terms.append(ComputeTerm("graph of the drafting context", 0, high))
    return terms


def _largest_on_host(facts: DeviceFacts) -> int:
    """Return the bytes of the largest block tensor on the host: a device may copy one in to multiply a large batch."""
    slots = facts.assignment.slots
    at_host = {block for block in range(len(slots) - 1) if slots[block] == HOST}
    if any(override.device == HOST for override in facts.assignment.overrides):
        at_host.update(range(len(slots) - 1))
    parts = (Part.TRUNK, Part.NEXTN)
    sizes = [
        tensor.size_bytes for tensor in facts.inventory.tensors if tensor.part in parts and tensor.block in at_host
    ]
    return max(sizes, default=0)


_Answer = tuple[dict[int, Peak], ...] | None
_answers: OrderedDict[tuple[int, Settings, Assignment, int], tuple[Inventory, _Answer]] = OrderedDict()


def _peaks(inventory: Inventory, settings: Settings, assignment: Assignment, copies: int) -> _Answer:
    """Return the peaks of a run and, where they may differ, of a dry run; one simulation answers for every device."""
    key = (id(inventory), settings, assignment, copies)
    if key not in _answers:
        _answers[key] = (inventory, _simulated(inventory, settings, assignment, copies))
        if len(_answers) > _KEPT_ANSWERS:
            _answers.popitem(last=False)
    _answers.move_to_end(key)
    return _answers[key][1]


def _simulated(inventory: Inventory, settings: Settings, assignment: Assignment, copies: int) -> _Answer:
    if inventory.architecture.family in compute_families.NOT_UNDERSTOOD:
        return None
    may_differ = len(set(assignment.slots)) > 1
    try:
        runs = [simulate(inventory, settings, assignment, copies, pinned=True)]
        if may_differ:
            runs.append(simulate(inventory, settings, assignment, copies, pinned=False))
    except (MissingTensorError, ArithmeticError, IndexError):
        # Shapes that no such block can have: what a header says is not to be trusted.
        return None
    return tuple(runs)


def simulate(
    inventory: Inventory, settings: Settings, assignment: Assignment, copies: int, *, pinned: bool
) -> dict[int, Peak]:
    """Return the peak of every place's compute buffer; `pinned` in a run, not in a dry run.

    Raises:
        MissingTensorError: the model has not the tensors of any block that is known.
    """
    flash = _is_fused(inventory, settings, assignment)
    here = context(inventory, settings, assignment, flash=flash, pinned=pinned, probe=False)
    build(here)
    alignment = {number: device.backend.alignment_bytes for number, device in enumerate(assignment.devices)}
    return buffer_peaks(schedule(here.graph, copies), {**alignment, HOST_PLACE: _HOST_ALIGNMENT_BYTES})


def _is_fused(inventory: Inventory, settings: Settings, assignment: Assignment) -> bool:
    """Return whether attention is fused: as asked for, or where a small graph would run it on its block's device."""
    if settings.flash_attention is not FlashAttention.AUTO:
        return settings.flash_attention is FlashAttention.ON
    here = context(inventory, settings, assignment, flash=True, pinned=True, probe=True)
    build(here)
    places = {id(node): place for node, _, place in schedule(here.graph, 1).steps}
    return all(places[id(node)] == here.device(block) for node, block in here.fused)
