"""A graph of tensors as ggml records it: what each tensor takes, what it reads, and in which order nodes are run.

Only what memory depends on is kept. A tensor is a *leaf* (a weight, a cache or an input) or a *node* (the result of an
operation); a *view* is a node without memory of its own. Weights and caches live in buffers of their own, on `place`;
everything else is memory of the compute buffer. Nodes are recorded depth first, sources from left to right, when
`Graph.run` is called with a result, so the order in which parts of a model are built is part of what it costs
(ggml/src/ggml.c: ggml_visit_parents_graph).
"""

from __future__ import annotations

__all__ = ["F16", "F32", "HOST_PLACE", "I32", "I64", "INPLACE", "NOWHERE", "Graph", "Node", "contiguous"]

F16, F32, I32, I64 = 2, 4, 4, 8
"""Bytes of one value."""

HOST_PLACE = -1
"""The host, as a place of weights and nodes."""

NOWHERE = -2
"""No place: the scheduler decides."""

INPLACE = frozenset(
    {
        "add",
        "add_id",
        "clamp",
        "div",
        "fill",
        "mul",
        "rms_norm",
        "rope",
        "scale",
        "soft_max",
        "sqr",
        "sqrt",
        "sub",
        "unary",
    }
)
"""Operations whose result may take the place of a source of the same layout (ggml/src/ggml-alloc.c)."""

Shape = tuple[int, int, int, int]


class Node:
    """One tensor. `extents` and `strides` are innermost first, strides in bytes, as ggml has them."""

    __slots__ = (
        "extents",
        "is_input",
        "is_output",
        "is_view_operation",
        "operation",
        "place",
        "root",
        "size",
        "sources",
        "strides",
        "value",
        "wanted",
    )

    def __init__(
        self, operation: str, extents: Shape, strides: Shape, value: int, sources: tuple[Node, ...], root: Node | None
    ) -> None:
        self.operation = operation
        self.extents = extents
        self.strides = strides
        self.value = value
        self.sources = sources
        self.root = root
        self.place = NOWHERE
        self.wanted = NOWHERE
        self.is_input = False
        self.is_output = False
        self.is_view_operation = operation == "view"
        self.size = value + sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))
        if 0 in extents:
            self.size = 0

    @property
    def is_placed(self) -> bool:
        """Return whether its memory, or that of what it looks at, is a buffer of weights or cache."""
        return (self.root or self).place != NOWHERE


def contiguous(extents: Shape, value: int) -> Shape:
    """Return the strides of a dense tensor of these extents."""
    one = value * extents[0]
    two = one * extents[1]
    return (value, one, two, two * extents[2])


def _shape(*extents: int) -> Shape:
    first, second, third, fourth = (*extents, 1, 1, 1)[:4]
    return (first, second, third, fourth)


class Graph:
    """A graph in the making: methods add tensors, `run` records them."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.leaves: list[Node] = []
        self._seen: set[int] = set()
        self._kept: list[Node] = []

    def weight(self, place: int, size: int, *extents: int) -> Node:
        """Return a tensor in a buffer of its own on `place`; `size` is what a copy of it would take."""
        shape = _shape(*extents)
        node = Node("weight", shape, contiguous(shape, F32), F32, (), None)
        node.size, node.place = size, place
        return node

    def input(self, value: int, *extents: int) -> Node:
        """Return a tensor that is filled before every run."""
        shape = _shape(*extents)
        node = Node("input", shape, contiguous(shape, value), value, (), None)
        node.is_input = True
        return node

    def make(self, operation: str, sources: tuple[Node, ...], *extents: int, value: int = F32) -> Node:
        """Return a dense result of its own memory."""
        shape = _shape(*extents)
        return Node(operation, shape, contiguous(shape, value), value, sources, None)

    def cache(self, place: int, value: int, *extents: int) -> Node:
        """Return a cache or state in a buffer of its own on `place`."""
        shape = _shape(*extents)
        node = Node("cache", shape, contiguous(shape, value), value, (), None)
        node.place = place
        return node

    def constant(self, *extents: int) -> Node:
        """Return memory that no node has written yet: it is held from the start of a graph."""
        shape = _shape(*extents)
        return Node("constant", shape, contiguous(shape, F32), F32, (), None)

    def like(self, operation: str, first: Node, *others: Node) -> Node:
        """Return a dense result with the extents of its first source."""
        return Node(
            operation, first.extents, contiguous(first.extents, first.value), first.value, (first, *others), None
        )

    def into(self, operation: str, target: Node, *sources: Node) -> Node:
        """Return the result of writing into `target`, which is a view of it."""
        root = target.root or target
        return Node(operation, target.extents, target.strides, target.value, (*sources, target), root)

    def view(self, source: Node, *extents: int, strides: tuple[int, ...] | None = None) -> Node:
        """Return a look at the memory of `source`; dense unless strides (of dimensions 1, 2, 3) are given."""
        shape = _shape(*extents)
        dense = contiguous(shape, source.value)
        if strides:
            given = [source.value, *strides]
            while len(given) < len(shape):
                given.append(given[-1] * shape[len(given) - 1])
            dense = (given[0], given[1], given[2], given[3])
        return Node("view", shape, dense, source.value, (source,), source.root or source)

    def permute(self, source: Node, *axes: int) -> Node:
        """Return a look at `source` where its dimension i has become dimension axes[i]."""
        extents, strides = [1] * 4, [0] * 4
        for index, axis in enumerate(axes):
            extents[axis] = source.extents[index]
            strides[axis] = source.strides[index]
        result = Node("view", source.extents, source.strides, source.value, (source,), source.root or source)
        result.extents = (extents[0], extents[1], extents[2], extents[3])
        result.strides = (strides[0], strides[1], strides[2], strides[3])
        result.size = source.size
        return result

    def product(self, weight: Node, source: Node) -> Node:
        """Return the matrix product ggml_mul_mat(weight, source)."""
        extents = source.extents
        return self.make("mul_mat", (weight, source), weight.extents[1], extents[1], extents[2], extents[3])

    def rows(self, source: Node, indices: Node) -> Node:
        """Return rows of `source` by index."""
        extents = indices.extents
        return self.make("get_rows", (source, indices), source.extents[0], extents[0], extents[1], extents[2])

    def dense(self, source: Node, *extents: int) -> Node:
        """Return a dense copy of `source`."""
        shape = extents or source.extents
        return self.make("cont", (source,), *shape, value=source.value)

    def run(self, result: Node) -> None:
        """Record `result` and all that it needs and is not recorded yet."""
        stack: list[tuple[Node, int]] = [(result, 0)]
        while stack:
            node, index = stack.pop()
            if index == 0:
                if id(node) in self._seen:
                    continue
                self._seen.add(id(node))
                self._kept.append(node)
            while index < len(node.sources) and id(node.sources[index]) in self._seen:
                index += 1
            if index < len(node.sources):
                stack.append((node, index + 1))
                stack.append((node.sources[index], 0))
            elif not node.sources:
                self.leaves.append(node)
            else:
                self.nodes.append(node)
