"""How large the compute buffer of every place becomes: the graph allocator, run without memory (ggml/src/ggml-alloc.c).

Leaves and inputs are allocated first, then every result in order. A tensor is given up after its last reader; a result
takes over the memory of a source that nobody else reads where the operation allows it. The smallest free piece that is
large enough is taken, and the buffer grows only where none is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_graph import INPLACE, Node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solver.engines.llamacpp.compute_schedule import Schedule

__all__ = ["Peak", "Share", "buffer_peaks"]

_ENDLESS = 1 << 62


class Share(StrEnum):
    """What the memory of a compute buffer is for."""

    INPUTS = "graph inputs"
    COPIES = "copies from other devices"
    ACTIVATIONS = "activations"
    RESULTS = "results that are kept"
    GAPS = "gaps between tensors"


@dataclass(frozen=True, slots=True)
class Peak:
    """How large a buffer becomes, and what was in it when it grew last."""

    size_bytes: int
    live_bytes: Mapping[Share, int]

    @property
    def shares(self) -> dict[Share, int]:
        """Return what the bytes are for; they add up to the size."""
        gaps = self.size_bytes - sum(self.live_bytes.values())
        return {**self.live_bytes, Share.GAPS: gaps}


class _Pieces:
    """Free pieces of one buffer as [start, size], by start; the last one has no end.

    Pieces of no bytes are kept as the engine keeps them: they can hide that two pieces touch, and cost memory.
    """

    __slots__ = ("at_peak", "free", "highest", "live")

    def __init__(self) -> None:
        self.free: list[list[int]] = [[0, _ENDLESS]]
        self.highest = 0
        self.live = dict.fromkeys(Share, 0)
        self.at_peak = dict(self.live)

    def take(self, size: int, share: Share) -> int:
        self.live[share] += size
        best, best_size = -1, 0
        for index in range(len(self.free) - 1):
            room = self.free[index][1]
            if room >= size and (best < 0 or room <= best_size):
                best, best_size = index, room
        piece = self.free[best]
        start = piece[0]
        piece[0] += size
        piece[1] -= size
        if not piece[1]:
            del self.free[best]
        if start + size > self.highest:
            self.highest = start + size
            self.at_peak = dict(self.live)
        return start

    def give(self, start: int, size: int, share: Share) -> None:
        self.live[share] -= size
        free = self.free
        for index, piece in enumerate(free):
            if piece[0] + piece[1] == start:
                piece[1] += size
                if index + 1 < len(free) and piece[0] + piece[1] == free[index + 1][0]:
                    piece[1] += free.pop(index + 1)[1]
                return
            if start + size == piece[0]:
                piece[0] = start
                piece[1] += size
                if index and free[index - 1][0] + free[index - 1][1] == start:
                    free[index - 1][1] += free.pop(index)[1]
                return
        place = 0
        while place < len(free) and free[place][0] < start:
            place += 1
        free.insert(place, [start, size])


class _Allocator:
    def __init__(self, plan: Schedule, alignment: Mapping[int, int]) -> None:
        self.plan = plan
        self.alignment = alignment
        self.buffers: dict[int, _Pieces] = {}
        self.held: dict[int, tuple[int, int, Share]] = {}
        self.readers: dict[int, int] = {}
        self.views: dict[int, int] = {}

    def padded(self, node: Node, place: int) -> int:
        return -(-node.size // self.alignment[place]) * self.alignment[place]

    def buffer(self, place: int) -> _Pieces:
        if place not in self.buffers:
            self.buffers[place] = _Pieces()
        return self.buffers[place]

    def allocate(self, node: Node, sources: tuple[Node, ...], place: int) -> None:
        if id(node) in self.held or node.root is not None or node.is_placed:
            return
        if node.operation in INPLACE:
            for source in sources:
                if (
                    id(source) in self.held
                    and id(source) not in self.plan.kept
                    and source.extents == node.extents
                    and source.strides == node.strides
                    and source.value == node.value
                    and self.readers[id(source)] == 1
                    and not self.views.get(id(source))
                ):
                    self.held[id(node)] = self.held.pop(id(source))
                    return
        share = _share(node)
        self.held[id(node)] = (place, self.buffer(place).take(self.padded(node, place), share), share)

    def release(self, node: Node) -> None:
        if id(node) in self.plan.kept:
            return
        place, start, share = self.held.pop(id(node))
        self.buffer(place).give(start, self.padded(node, place), share)

    def read(self, source: Node) -> None:
        self.readers[id(source)] -= 1
        if self.readers[id(source)] or self.views.get(id(source)):
            return
        root = source.root
        if root is None:
            if id(source) in self.held:
                self.release(source)
            return
        self.views[id(root)] -= 1
        if not self.views[id(root)] and not self.readers.get(id(root)) and id(root) in self.held:
            self.release(root)

    def run(self) -> None:
        for leaf, place in self.plan.leaves:
            self.allocate(leaf, (), place)
        for node, sources, place in self.plan.steps:
            if node.root is not None and node.operation != "keep":
                self.views[id(node.root)] = self.views.get(id(node.root), 0) + 1
            for source in sources:
                self.readers[id(source)] = self.readers.get(id(source), 0) + 1
                if source.is_input:
                    self.allocate(source, (), place)
        for node, sources, place in self.plan.steps:
            for source in sources:
                self.allocate(source, source.sources, place)
            self.allocate(node, sources, place)
            for source in sources:
                self.read(source)


def _share(node: Node) -> Share:
    if node.is_output:
        return Share.RESULTS
    if node.is_input or node.operation == "constant":
        return Share.INPUTS
    return Share.COPIES if node.operation == "copy" else Share.ACTIVATIONS


def buffer_peaks(plan: Schedule, alignment_bytes: Mapping[int, int]) -> dict[int, Peak]:
    """Return the compute buffer of every place that has one, with tensors rounded up to the alignment of the place."""
    allocator = _Allocator(plan, alignment_bytes)
    allocator.run()
    return {place: Peak(pieces.highest, pieces.at_peak) for place, pieces in allocator.buffers.items()}
