"""Which device runs which node, and what has to be copied: the scheduler's passes (ggml/src/ggml-backend.cpp).

A node runs where its weights are; nodes without weights join their neighbours, devices before the host. A run of nodes
on one device is a split; what a split reads from elsewhere is copied to its device first. With pipeline parallelism
every copy, and every input, exists `copies` times and is never given up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_graph import HOST_PLACE, NOWHERE, Node

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_graph import Graph

__all__ = ["Schedule", "schedule"]


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


def _split(graph: Graph, places: dict[int, int], copies: int) -> Schedule:
    steps: list[tuple[Node, tuple[Node, ...], int]] = []
    pending: list[tuple[Node, tuple[Node, ...], int]] = []
    copied: dict[tuple[int, int], list[Node]] = {}
    split_inputs: list[tuple[Node, int]] = []
    inputs: list[Node] = []
    current = next((places[id(node)] for node in graph.nodes if not node.is_view_operation), HOST_PLACE)

    def close(place: int) -> None:
        for source in inputs:
            steps.append(
                (Node("keep", (1, 1, 1, 1), (1, 1, 1, 1), 1, (), source.root or source), (source,), places[id(source)])
            )
            steps.append((copied[id(source), place][0], (), place))
        steps.extend(pending)
        split_inputs.extend((source, place) for source in inputs)
        inputs.clear()
        pending.clear()

    for node in graph.nodes:
        place = places[id(node)]
        if node.is_view_operation:
            pending.append((node, node.sources, place))
            continue
        foreign_weight = inputs and any(
            source.operation == "weight" and places[id(source)] != current for source in node.sources
        )
        if place != current or foreign_weight:
            close(current)
            current = place
        sources = []
        for source in node.sources:
            where = (source.root or source).place if source.is_placed else places[id(source)]
            if where == current:
                sources.append(source)
                continue
            key = (id(source), current)
            if key not in copied:
                copied[key] = [_copy(source) for _ in range(copies)]
                inputs.append(source)
            sources.append(copied[key][0])
        pending.append((node, tuple(sources), place))
    close(current)
    leaves: list[tuple[Node, int]] = []
    kept: set[int] = set()
    if copies > 1:
        for leaf in graph.leaves:
            if leaf.is_input:
                place = places[id(leaf)]
                own = copied.setdefault((id(leaf), place), [leaf, *(_copy(leaf) for _ in range(copies - 1))])
                leaves.extend((copy, place) for copy in own)
        for source, place in split_inputs:
            leaves.extend((copy, place) for copy in copied[id(source), place])
        kept = {id(leaf) for leaf, _ in leaves}
    kept.update(id(node) for node in graph.nodes if node.is_output)
    leaves.extend((leaf, places.get(id(leaf), HOST_PLACE)) for leaf in graph.leaves)
    return Schedule(tuple(steps), tuple(leaves), frozenset(kept))
