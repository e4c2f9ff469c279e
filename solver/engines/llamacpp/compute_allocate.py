"""How large the compute buffer of every place becomes: the graph allocator, run without memory (ggml/src/ggml-alloc.c).

Leaves and inputs are allocated first, then every result in order. A tensor is given up after its last reader; a result
takes over the memory of a source that nobody else reads where the operation allows it. The smallest free piece that is
large enough is taken, and the buffer grows only where none is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_graph import INPLACE, Node

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_schedule import Schedule

__all__ = ["buffer_sizes"]

_ENDLESS = 1 << 62


class _Pieces:
    """Free pieces of one buffer as [start, size], by start; the last one has no end.

    Pieces of no bytes are kept as the engine keeps them: they can hide that two pieces touch, and cost memory.
    """

    __slots__ = ("free", "highest")

    def __init__(self) -> None:
        self.free: list[list[int]] = [[0, _ENDLESS]]
        self.highest = 0

    def take(self, size: int) -> int:
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
        self.highest = max(self.highest, start + size)
        return start

    def give(self, start: int, size: int) -> None:
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
    def __init__(self, plan: Schedule, alignment: int) -> None:
        self.plan = plan
        self.alignment = alignment
        self.buffers: dict[int, _Pieces] = {}
        self.held: dict[int, tuple[int, int]] = {}
        self.readers: dict[int, int] = {}
        self.views: dict[int, int] = {}

    def padded(self, node: Node) -> int:
        return -(-node.size // self.alignment) * self.alignment

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
        self.held[id(node)] = (place, self.buffer(place).take(self.padded(node)))

    def release(self, node: Node) -> None:
        if id(node) in self.plan.kept:
            return
        place, start = self.held.pop(id(node))
        self.buffer(place).give(start, self.padded(node))

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


def buffer_sizes(plan: Schedule, alignment_bytes: int) -> dict[int, int]:
    """Return the bytes of the compute buffer of every place that has one."""
    allocator = _Allocator(plan, alignment_bytes)
    allocator.run()
    return {place: pieces.highest for place, pieces in allocator.buffers.items()}
