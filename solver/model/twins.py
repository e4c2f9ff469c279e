"""Machines that could be exchanged whole: devices of the same sizes, sharing the same way, on the same links."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.problem import DeviceClass, Node, Problem

__all__ = ["twins_of"]


def twins_of(problem: Problem, classes: Sequence[DeviceClass]) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Return the machines that nothing tells apart, each as the positions of its classes in the same order."""
    members: dict[str, list[int]] = {}
    for c, group in enumerate(classes):
        if group.members[0].machine is not None:
            members.setdefault(group.members[0].machine, []).append(c)
    alike: dict[tuple[object, ...], list[tuple[int, ...]]] = {}
    for positions in members.values():
        nodes = [node for c in positions for node in classes[c].members]
        if problem.rules.named.isdisjoint(node.name for node in nodes):
            counts = tuple(classes[c].count for c in positions)
            alike.setdefault((counts, *_outline(problem, nodes)), []).append(tuple(positions))
    found = []
    for machines in alike.values():
        same = [machines[0], *(other for other in machines[1:] if _same_links(problem, classes, machines[0], other))]
        if len(same) > 1:
            found.append(tuple(same))
    return tuple(found)


def _outline(problem: Problem, nodes: list[Node]) -> tuple[object, ...]:
    """Return what the devices of a machine are, with pools and cards numbered as they first occur."""
    pools: dict[str | None, int] = {None: 0}
    cards: dict[str, int] = {}
    lines: list[object] = []
    for node in nodes:
        drawn = tuple(pools.setdefault(pool, len(pools)) for pool in node.pools)
        host = pools.setdefault(node.host_pool, len(pools))
        occupied = tuple(cards.setdefault(card, len(cards)) for card in node.cards)
        draws = None if node.draws is None else (node.draws.host_bytes_per_second, node.draws.shape)
        sizes = (node.budget_bytes, node.held_bytes)
        lines.append((*sizes, node.bytes_per_second, node.stage_ns, drawn, host, occupied, draws))
    rooms = tuple(problem.pools_by_name[pool].room_bytes for pool in pools if pool is not None)
    return (*lines, rooms)


def _same_links(problem: Problem, classes: Sequence[DeviceClass], one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether every link between classes stays the same when two machines are exchanged."""
    if not problem.links.pairs:
        return True
    swapped = {**dict(zip(one, other, strict=True)), **dict(zip(other, one, strict=True))}
    names = [group.members[0].name for group in classes]
    return all(
        problem.link(names[c], names[e]) == problem.link(names[swapped.get(c, c)], names[swapped.get(e, e)])
        for c in range(len(classes))
        for e in range(len(classes))
        if c != e
    )
