"""Nodes grouped for the searches: alike in what they can hold and how quickly, and in which links hold them back.

Where every link of a problem carries all tokens alone, links do not matter. Else links are told apart by what they are
to a node: wide enough, too thin to carry all tokens, or forbidden; nodes that are joined to all others in the same way
are one kind, however their thin links differ. A node that a rule names is a kind of its own, and devices of distinct
machines are never one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from solver.flow.stages import stage_times
from solver.measures import transfer_ns

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from solver.problem import Node, Problem

__all__ = ["Kind", "Kinds", "kinds_of"]

_FORBIDDEN = -1


@dataclass(frozen=True, eq=False)
class Kind:
    """Nodes in the order listed. `times` is the table of `stage_times`."""

    members: tuple[str, ...]
    times: NDArray[np.int64]

    @property
    def count(self) -> int:
        """Return how many nodes there are."""
        return len(self.members)


@dataclass(frozen=True, eq=False)
class Kinds:
    """All nodes that may take a stage. Between them links bind at the paces in question, or `free` says that none does.

    `slow_ns[k, l]` is the slowest transfer from a node of kind k to one of kind l, `quick_ns` the quickest; -1 where
    one, or all, of those links are forbidden.
    """

    kinds: tuple[Kind, ...]
    free: bool
    slow_ns: NDArray[np.int64]
    quick_ns: NDArray[np.int64]

    @property
    def counts(self) -> tuple[int, ...]:
        """Return how many nodes there are of each kind."""
        return tuple(kind.count for kind in self.kinds)


def kinds_of(problem: Problem, fastest_ns: Fraction) -> Kinds:
    """Return the nodes in kinds; no placement has a pace below `fastest_ns`."""
    nodes = [member for group in problem.classes for member in group.members]
    nodes.sort(key=problem.nodes.index)
    crossing = _transfers(problem, nodes)
    looks = np.where(crossing == _FORBIDDEN, 2, (crossing > float(fastest_ns)).astype(np.int64))
    np.fill_diagonal(looks, 0)
    free = not looks.any()
    own = _told_apart(problem)
    groups: dict[tuple[object, ...], list[list[int]]] = {}
    for number, node in enumerate(nodes):
        alike = groups.setdefault((*_table_key(node), own.get(node.name)), [])
        for group in alike:
            if free or all(_twins(looks, number, other) for other in group):
                group.append(number)
                break
        else:
            alike.append([number])
    listed = sorted((group for alike in groups.values() for group in alike), key=lambda group: group[0])
    kinds = tuple(
        Kind(tuple(nodes[number].name for number in group), stage_times(problem, nodes[group[0]])) for group in listed
    )
    return Kinds(kinds, free, _between(crossing, listed, slowest=True), _between(crossing, listed, slowest=False))


def _table_key(node: Node) -> tuple[object, ...]:
    draws = node.draws
    host = None if draws is None else (draws.shape, draws.host_pool is None)
    return node.room_bytes, node.bytes_per_second, node.stage_ns, host


def _told_apart(problem: Problem) -> dict[str, int]:
    """Return a number for every node that a rule, its machine or a shared memory tells apart, links left out."""
    apart = problem if problem.is_plain else replace(problem, links=replace(problem.links, pairs=()))
    named = problem.rules.named
    return {
        member.name: number
        for number, group in enumerate(apart.classes)
        for member in group.members
        if not problem.is_plain or member.name in named
    }


def _transfers(problem: Problem, nodes: list[Node]) -> NDArray[np.int64]:
    return np.array(
        [
            [
                _FORBIDDEN
                if problem.link(source.name, target.name).forbidden
                else transfer_ns(problem, source.name, target.name)
                for target in nodes
            ]
            for source in nodes
        ],
        dtype=np.int64,
    ).reshape(len(nodes), len(nodes))


def _twins(looks: NDArray[np.int64], one: int, other: int) -> bool:
    """Return whether two nodes are joined to all others, and to each other, in the same way."""
    rest = np.ones(len(looks), dtype=bool)
    rest[[one, other]] = False
    return bool(
        (looks[one, rest] == looks[other, rest]).all()
        and (looks[rest, one] == looks[rest, other]).all()
        and looks[one, other] == looks[other, one]
    )


def _between(crossing: NDArray[np.int64], groups: list[list[int]], *, slowest: bool) -> NDArray[np.int64]:
    table = np.zeros((len(groups), len(groups)), dtype=np.int64)
    for row, sources in enumerate(groups):
        for column, targets in enumerate(groups):
            times = [int(crossing[source, target]) for source in sources for target in targets if source != target]
            allowed = [time for time in times if time != _FORBIDDEN]
            if slowest:
                table[row, column] = _FORBIDDEN if len(allowed) < len(times) else max(times, default=0)
            else:
                table[row, column] = min(allowed, default=_FORBIDDEN if times else 0)
    return table
