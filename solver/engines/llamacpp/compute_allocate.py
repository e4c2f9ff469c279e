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


class _Pieces:
    """Free pieces of one buffer, by address; beyond the last one the buffer may grow."""

    __slots__ = ("free", "highest")

    def __init__(self) -> None:
        self.free: list[tuple[int, int]] = []
        self.highest = 0

    def take(self, size: int) -> int:
        best, best_size = -1, 0
        last = self.tail()
        for index in range(last):
            start, end = self.free[index]
            if end - start >= size and (best < 0 or end - start <= best_size):
                best, best_size = index, end - start
        if best < 0:
            if last < len(self.free):
                start = self.free.pop()[0]
            else:
                start = self.highest
            end = start + size
            if end < self.highest:
                self.free.append((end, self.highest))
            self.highest = max(self.highest, end)
            return start
        start, end = self.free[best]
        if start + size == end:
            del self.free[best]
        else:
            self.free[best] = (start + size, end)
        return start

    def tail(self) -> int:
        """Return the index of the free piece at the end of the buffer, or how many pieces there are without one."""
        if self.free and self.free[-1][1] == self.highest:
            return len(self.free) - 1
        return len(self.free)

    def give(self, start: int, size: int) -> None:
        if not size:
            return
        low, high = 0, len(self.free)
        while low < high:
            middle = (low + high) // 2
            if self.free[middle][0] < start:
                low = middle + 1
            else:
                high = middle
        end = start + size
        if low < len(self.free) and self.free[low][0] == end:
            end = self.free.pop(low)[1]
        if low and self.free[low - 1][1] == start:
            start = self.free.pop(low - 1)[0]
            low -= 1
        self.free.insert(low, (start, end))


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
