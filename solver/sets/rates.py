"""What every set of nodes passes with a stage in common, and what links carry between two sets, in tokens a second.

A set is a number whose bit i stands for node i. Everything is a float here: what is concluded from it leaves room for
rounding, or is summed again in fractions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from solver.flow.stages import stage_times
from solver.measures import transfer_ns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from solver.problem import Node, Problem

__all__ = ["Rates", "members", "rates_of", "subsets"]

_NS = 10**9


@dataclass(frozen=True, eq=False)
class Rates:
    """Nodes that may take a stage. Tables have a row for the first item of a stage and a column for its end.

    `times` in ns and `each` in tokens a second by node, 0 where it may not hold the stage; `links` by source and target
    in tokens a second, 0 where forbidden. `binding` says that some link carries less than nodes could, or none.
    """

    problem: Problem
    nodes: tuple[Node, ...]
    times: NDArray[np.int64]
    each: NDArray[np.float64]
    links: NDArray[np.float64]
    binding: bool
    _together: dict[int, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def items(self) -> int:
        """Return how many items there are."""
        return len(self.problem.items)

    @property
    def full(self) -> int:
        """Return the set of all nodes."""
        return (1 << len(self.nodes)) - 1

    def together(self, team: int) -> NDArray[np.float64]:
        """Return what a set passes together by stage, 0 where one of its nodes may not hold it."""
        if team not in self._together:
            each = self.each[list(members(team))]
            self._together[team] = np.where((each > 0).all(axis=0), each.sum(axis=0), 0.0)
        return self._together[team]

    def exactly(self, team: int, start: int, end: int) -> Fraction:
        """Return what a set passes together with a stage, exactly."""
        return sum((Fraction(_NS, int(self.times[node, start, end])) for node in members(team)), Fraction(0))


def rates_of(problem: Problem) -> Rates:
    """Return the rates of the nodes that may take a stage, in the order listed."""
    nodes = [member for group in problem.classes for member in group.members]
    nodes.sort(key=problem.nodes.index)
    times = np.array([stage_times(problem, node) for node in nodes])
    each = np.divide(float(_NS), times, out=np.zeros(times.shape), where=times > 0)
    most = each.reshape(len(nodes), -1).max(axis=1, initial=0).sum()
    links = np.array([[_carried(problem, one, other) for other in nodes] for one in nodes])
    np.fill_diagonal(links, np.inf)
    return Rates(problem, tuple(nodes), times, each, links, binding=bool((links < most).any()))


def _carried(problem: Problem, source: Node, target: Node) -> float:
    if problem.link(source.name, target.name).forbidden:
        return 0.0
    time = transfer_ns(problem, source.name, target.name)
    return _NS / time if time else np.inf


def members(team: int) -> Iterator[int]:
    """Yield the numbers of the nodes of a set."""
    return (node for node in range(team.bit_length()) if team >> node & 1)


def subsets(team: int) -> Iterator[int]:
    """Yield every nonempty subset of a set."""
    part = team
    while part:
        yield part
        part = (part - 1) & team
