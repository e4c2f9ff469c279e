"""Which device runs which node, and what has to be copied: the scheduler's passes (ggml/src/ggml-backend.cpp).

A node runs where its weights are; nodes without weights join their neighbours, devices before the host. A run of nodes
on one device is a split; what a split reads from elsewhere is copied to its device first. With pipeline parallelism
every copy, and every input, exists `copies` times and is never given up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from solver.engines.llamacpp.compute_graph import HOST_PLACE, NOWHERE, Node

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_graph import Graph

__all__ = ["Schedule", "schedule"]

_Step: TypeAlias = tuple[Node, tuple[Node, ...], int]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The order of work: (node, sources after copying, place) of every step, and (leaf, place).

    `kept` are tensors (by id) that stay allocated to the end.
    """

    steps: tuple[tuple[Node, tuple[Node, ...], int], ...]
    leaves: tuple[tuple[Node, int], ...]
    kept: frozenset[int]


def schedule(graph: Graph, copies: int) -> Schedule:
    """Return where and when the nodes of a graph are run."""
    places: dict[int, int] = {}
    for node in (*graph.leaves, *graph.nodes):
        place = _own_place(node)
        if place != NOWHERE:
            places[id(node)] = place
    _spread(graph.nodes, places)
    _settle(graph.nodes, places)
    return _split(graph, places, copies)


def _own_place(node: Node) -> int:
    if node.wanted != NOWHERE:
        return node.wanted
    if node.is_placed:
        return (node.root or node).place
    if node.is_input:
        return HOST_PLACE
    if node.operation not in {"rope", "flash_attention"}:
        for source in node.sources:
            if source.operation == "weight":
                return source.place
    return NOWHERE


def _spread(nodes: list[Node], places: dict[int, int]) -> None:
    """Let nodes without a place take that of a neighbour: of a device first, forwards then backwards, then of any."""
    own = [node for node in nodes if not node.is_view_operation]
    for order in (own, own[::-1]):
        current = NOWHERE
        for node in order:
            place = places.get(id(node), NOWHERE)
            if place != NOWHERE:
                current = NOWHERE if place == HOST_PLACE else place
            elif current != NOWHERE:
                places[id(node)] = current
    for order in (own, own[::-1]):
        current = NOWHERE
        for node in order:
            place = places.get(id(node), NOWHERE)
            if place != NOWHERE:
                current = place
            elif current != NOWHERE:
                places[id(node)] = current


def _settle(nodes: list[Node], places: dict[int, int]) -> None:
    """Give views the place of what they look at, and other sources that of their first reader."""
    for node in nodes:
        if node.root is not None and id(node) not in places and id(node.root) in places:
            places[id(node)] = places[id(node.root)]
        for source in node.sources:
            if id(source) in places:
                continue
            if source.root is not None and id(source.root) in places:
                places[id(source)] = places[id(source.root)]
            elif id(node) in places:
                places[id(source)] = places[id(node)]
        places.setdefault(id(node), HOST_PLACE)


def _copy(node: Node) -> Node:
    copy = Node("copy", node.extents, node.strides, node.value, (), None)
    copy.size = node.size
    return copy


class _Splitter:
    """The split that is open, and what has been copied to which place."""

    def __init__(self, places: dict[int, int], copies: int, place: int) -> None:
        self.places = places
        self.copies = copies
        self.place = place
        self.steps: list[_Step] = []
        self.pending: list[_Step] = []
        self.inputs: list[Node] = []
        self.copied: dict[tuple[int, int], list[Node]] = {}
        self.split_inputs: list[tuple[Node, int]] = []

    def add(self, node: Node) -> None:
        """Add a node to the open split, or to a new one where it has to start one."""
        place = self.places[id(node)]
        if node.is_view_operation:
            self.pending.append((node, node.sources, place))
            return
        if place != self.place or self._needs_weights_of_another(node):
            self.close()
            self.place = place
        self.pending.append((node, tuple(self._here(source) for source in node.sources), place))

    def _needs_weights_of_another(self, node: Node) -> bool:
        """Where something was copied already, other weights start a split, so that copies of weights do not add up."""
        return bool(self.inputs) and any(
            source.operation == "weight" and self.places[id(source)] != self.place for source in node.sources
        )

    def _here(self, source: Node) -> Node:
        where = (source.root or source).place if source.is_placed else self.places[id(source)]
        if where == self.place:
            return source
        key = (id(source), self.place)
        if key not in self.copied:
            self.copied[key] = [_copy(source) for _ in range(self.copies)]
            self.inputs.append(source)
        return self.copied[key][0]

    def close(self) -> None:
        """End the open split: what it copies is held until it is copied, and is there before its nodes."""
        for source in self.inputs:
            held = Node("keep", (1, 1, 1, 1), (1, 1, 1, 1), 1, (), source.root or source)
            self.steps.append((held, (source,), self.places[id(source)]))
            self.steps.append((self.copied[id(source), self.place][0], (), self.place))
        self.steps.extend(self.pending)
        self.split_inputs.extend((source, self.place) for source in self.inputs)
        self.inputs.clear()
        self.pending.clear()


def _split(graph: Graph, places: dict[int, int], copies: int) -> Schedule:
    first = next((places[id(node)] for node in graph.nodes if not node.is_view_operation), HOST_PLACE)
    splitter = _Splitter(places, copies, first)
    for node in graph.nodes:
        splitter.add(node)
    splitter.close()
    leaves = _copied_leaves(graph, splitter) if copies > 1 else []
    kept = {id(leaf) for leaf, _ in leaves}
    kept.update(id(node) for node in graph.nodes if node.is_output)
    leaves.extend((leaf, places.get(id(leaf), HOST_PLACE)) for leaf in graph.leaves)
    return Schedule(tuple(splitter.steps), tuple(leaves), frozenset(kept))


def _copied_leaves(graph: Graph, splitter: _Splitter) -> list[tuple[Node, int]]:
    """Return every copy of every input: of the graph first, then of the splits in order."""
    leaves: list[tuple[Node, int]] = []
    for leaf in graph.leaves:
        if leaf.is_input:
            place = splitter.places[id(leaf)]
            others = (_copy(leaf) for _ in range(splitter.copies - 1))
            leaves.extend((copy, place) for copy in splitter.copied.setdefault((id(leaf), place), [leaf, *others]))
    for source, place in splitter.split_inputs:
        leaves.extend((copy, place) for copy in splitter.copied[id(source), place])
    return leaves
