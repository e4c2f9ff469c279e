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
from typing import TYPE_CHECKING, Final, TypeAlias

from solver.engines.llamacpp.compute_allocate import Peak, Share, buffer_peaks
from solver.engines.llamacpp.compute_blocks import build
from solver.engines.llamacpp.compute_context import MissingTensorError, Mode, context
from solver.engines.llamacpp.compute_envelope import envelope
from solver.engines.llamacpp.compute_families import COMPARED, FOLLOWED, NOT_UNDERSTOOD
from solver.engines.llamacpp.compute_graph import HOST_PLACE
from solver.engines.llamacpp.compute_recall import Recall, copied_weights, shape_key
from solver.engines.llamacpp.compute_schedule import schedule
from solver.engines.llamacpp.facts import HOST, FlashAttention
from tensors.inventory import Part

if TYPE_CHECKING:
    from solver.engines.llamacpp.facts import Assignment, DeviceFacts, Settings
    from tensors.inventory import Inventory

__all__ = ["ComputeBuffer", "ComputeTerm", "compute_buffer", "compute_interval", "simulate", "unseen_interval"]

_MEASURED_BACKENDS: Final = frozenset({"CPU", "RPC"})
_HOST_ALIGNMENT_BYTES: Final = 32
_KEPT_ANSWERS: Final = 64

_Margin = tuple[Fraction, Fraction]

_COMPARED: Final[_Margin] = (Fraction(-5, 100), Fraction(5, 100))
"""Families whose graphs were compared with runs: what another setting may show."""

_FOLLOWED: Final[_Margin] = (Fraction(-10, 100), Fraction(10, 100))
"""Families whose graphs were written after their source alone."""

_UNSEEN: Final[_Margin] = (Fraction(-15, 100), Fraction(25, 100))
"""Families whose graphs follow from their tensors alone: of compared ones taken so, a run in 25 exceeds it."""

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
    """Return the least and the most bytes of the compute buffer of a device, None without embeddings to start from."""
    return _interval(facts, unseen=False)


def unseen_interval(facts: DeviceFacts) -> tuple[int, int] | None:
    """Return the interval as if the family had never been seen: what a new family of the same build would get."""
    return _interval(facts, unseen=True)


def _interval(facts: DeviceFacts, *, unseen: bool) -> tuple[int, int] | None:
    try:
        buffer = compute_buffer(facts, unseen=unseen)
    except MissingTensorError:
        return None
    return buffer.low_bytes, buffer.high_bytes


def compute_buffer(facts: DeviceFacts, *, unseen: bool = False) -> ComputeBuffer:
    """Return the compute buffer of a device by terms, from its graph or else from the widths of its tensors.

    Raises:
        MissingTensorError: the model has no embeddings by the engine's name for them.
    """
    question = _Question(facts.settings, facts.assignment, facts.pipeline_copies, unseen)
    peaks = _peaks(facts.inventory, question)
    place = HOST_PLACE if facts.is_host else facts.device
    terms = _enveloped(facts, place, unseen=unseen) if peaks is None else _simulated(facts, peaks, place, unseen=unseen)
    low, high = sum(term.low_bytes for term in terms), sum(term.high_bytes for term in terms)
    known = (*terms, *_margins(facts, low, high))
    return ComputeBuffer(tuple(term for term in known if term.low_bytes or term.high_bytes))


def _simulated(facts: DeviceFacts, peaks: _Peaks, place: int, *, unseen: bool) -> tuple[ComputeTerm, ...]:
    runs = [peak.get(place, _NOTHING) for peak in peaks]
    shares = [run.shares for run in runs]
    terms = [
        ComputeTerm(share.value, min(each[share] for each in shares), max(each[share] for each in shares))
        for share in Share
    ]
    low, high = min(run.size_bytes for run in runs), max(run.size_bytes for run in runs)
    # The least of every share do not add up to the least of the sums.
    open_low, open_high = low - sum(term.low_bytes for term in terms), high - sum(term.high_bytes for term in terms)
    below, above = _UNSEEN if unseen else _layout_margin(facts.inventory.architecture.family)
    return (
        *terms,
        ComputeTerm("norms where a dry run has them", open_low, open_high),
        ComputeTerm("layout of this family", int(low * below), int(high * above)),
    )


def _layout_margin(family: str) -> _Margin:
    if family in COMPARED:
        return _COMPARED
    return _FOLLOWED if family in FOLLOWED else _UNSEEN


def _enveloped(facts: DeviceFacts, place: int, *, unseen: bool) -> tuple[ComputeTerm, ...]:
    mode = Mode(flash=facts.settings.flash_attention is not FlashAttention.OFF, pinned=True, probe=False, unseen=unseen)
    here = context(facts.inventory, facts.settings, facts.assignment, mode)
    parts = envelope(here, place, facts.pipeline_copies)
    return tuple(ComputeTerm(part.name, part.low_bytes, part.high_bytes) for part in parts)


def _margins(facts: DeviceFacts, low: int, high: int) -> list[ComputeTerm]:
    terms = []
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
    sizes = [item.size_bytes for item in facts.inventory.tensors if item.part in parts and item.block in at_host]
    return max(sizes, default=0)


@dataclass(frozen=True, slots=True)
class _Question:
    settings: Settings
    assignment: Assignment
    copies: int
    unseen: bool


_Peaks: TypeAlias = tuple[dict[int, Peak], ...]
_NOTHING: Final = Peak(0, dict.fromkeys(Share, 0))
_simulated_peaks: Final[Recall[dict[int, Peak]]] = Recall()
_fused: Final[Recall[bool]] = Recall()
_answers: OrderedDict[tuple[int, _Question], tuple[Inventory, _Peaks | None]] = OrderedDict()


def _peaks(inventory: Inventory, question: _Question) -> _Peaks | None:
    """Return the peaks of a run and, where they may differ, of a dry run; one simulation answers for every device."""
    key = (id(inventory), question)
    if key not in _answers:
        _answers[key] = (inventory, _all_peaks(inventory, question))
        if len(_answers) > _KEPT_ANSWERS:
            _answers.popitem(last=False)
    _answers.move_to_end(key)
    return _answers[key][1]


def _all_peaks(inventory: Inventory, question: _Question) -> _Peaks | None:
    if inventory.architecture.family in NOT_UNDERSTOOD:
        return None
    settings, assignment = question.settings, question.assignment
    pins = (True, False) if len(set(assignment.slots)) > 1 else (True,)
    try:
        flash = _is_fused(inventory, settings, assignment, unseen=question.unseen)
        modes = [Mode(flash=flash, pinned=pinned, probe=False, unseen=question.unseen) for pinned in pins]
        return tuple(simulate(inventory, settings, assignment, question.copies, mode) for mode in modes)
    except (MissingTensorError, ArithmeticError, IndexError):
        # Shapes that no such block can have: what a header says is not to be trusted.
        return None


def simulate(
    inventory: Inventory, settings: Settings, assignment: Assignment, copies: int, mode: Mode
) -> dict[int, Peak]:
    """Return the peak of every place's compute buffer.

    Raises:
        MissingTensorError: the model has not the tensors of any block that is known.
    """
    key = (shape_key(inventory), settings, assignment, copies, mode)
    known = _simulated_peaks.find(key, inventory)
    if known is not None:
        return known
    here = context(inventory, settings, assignment, mode)
    build(here)
    plan = schedule(here.graph, copies)
    alignment = {number: device.backend.alignment_bytes for number, device in enumerate(assignment.devices)}
    peaks = buffer_peaks(plan, {**alignment, HOST_PLACE: _HOST_ALIGNMENT_BYTES})
    return _simulated_peaks.keep(key, inventory, copied_weights(here, plan), peaks)


def _is_fused(inventory: Inventory, settings: Settings, assignment: Assignment, *, unseen: bool) -> bool:
    """Return whether attention is fused: as asked for, or where a small graph would run it on its block's device."""
    if settings.flash_attention is not FlashAttention.AUTO:
        return settings.flash_attention is FlashAttention.ON
    key = (shape_key(inventory), settings, assignment, unseen)
    known = _fused.find(key, inventory)
    if known is not None:
        return known
    here = context(inventory, settings, assignment, Mode(flash=True, pinned=True, probe=True, unseen=unseen))
    build(here)
    places = {id(node): place for node, _, place in schedule(here.graph, 1).steps}
    answer = all(places[id(node)] == here.device(block) for node, block in here.fused)
    # Where nodes are run does not depend on sizes.
    return _fused.keep(key, inventory, (), answer)
