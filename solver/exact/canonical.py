"""The one answer among equals: it depends on the problem and the limits alone, never on how a solver got there.

Fewest nodes; then the earliest-listed class at each stage from the front; then the longest stage from the front; then
the lowest-numbered node of a class. Which classes can still follow is asked of the longest-prefix search run from the
other end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from solver.exact.line import Group, groups_of, line_of, windows_of
from solver.exact.prefix import (
    PrefixSearch,
    TableError,
    ends_of,
    enough_groups,
    largest_first,
    lay_out_search,
    mirrored,
    nodes_allowed,
    reach,
)
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.exact.prefix import Chain
    from solver.limits import Limits
    from solver.problem import Problem

__all__ = ["canonical_placement", "placement_of"]


def placement_of(search: PrefixSearch, problem: Problem, chain: Chain) -> Placement:
    """Return a chain with the lowest-numbered free node of its group at every stage."""
    free = [
        [member.name for index in group.classes for member in problem.classes[index].members] for group in search.groups
    ]
    return Placement(tuple(Stage(start=start, end=end, node=free[group].pop(0)) for group, start, end in chain.stages))


def canonical_placement(problem: Problem, limits: Limits, fewest: int, *, by_time: bool) -> Placement | None:
    """Return the canonical placement within the limits, which leave one on `fewest` nodes and none on fewer.

    None if the tables of the search would grow too large.
    """
    groups = groups_of(problem, by_time=by_time)
    search = lay_out_search(problem, groups, fewest)
    if search is not None:
        return _walk(problem, groups, fewest, _Everywhere(problem, search, limits))
    if enough_groups(problem, fewest, by_time=by_time) == groups or any(group.named for group in groups):
        return None
    try:
        return _walk(problem, groups, fewest, _Largest(problem, groups, limits))
    except TableError:
        return None


def _walk(problem: Problem, groups: tuple[Group, ...], fewest: int, rest: _Everywhere | _Largest) -> Placement | None:
    group_of_class = {index: number for number, group in enumerate(groups) for index in group.classes}
    unused = [list(group.members) for group in problem.classes]
    left = [group.count for group in groups]
    ranks = rest.ranks
    boundary = 0
    passed: int | None = None
    stages: list[Stage] = []
    for remaining in range(fewest - 1, -1, -1):
        for index, members in enumerate(unused):
            group = group_of_class[index]
            end, rank = int(rest.ends[group, boundary]), ranks[group]
            if not members or end <= boundary or (rank is not None and passed is not None and rank < passed):
                continue
            left[group] -= 1
            highest = passed if rank is None else rank
            if rest.can_finish(_in_turn(ranks, left, highest), remaining, end):
                stages.append(Stage(start=boundary, end=end, node=members.pop(0).name))
                boundary, passed = end, highest
                break
            left[group] += 1
        else:
            return None
    return Placement(tuple(stages))


def _in_turn(ranks: Sequence[int | None], left: list[int], passed: int | None) -> list[int]:
    """Return the counts left without the nodes whose turn in the order asked for has passed."""
    gone = (passed is not None and rank is not None and rank < passed for rank in ranks)
    return [0 if over else count for over, count in zip(gone, left, strict=True)]


class _Everywhere:
    """Answers from one pass over all states."""

    def __init__(self, problem: Problem, search: PrefixSearch, limits: Limits) -> None:
        self.ranks = search.line.ranks
        self.ends = ends_of(search, problem, limits)
        self._search = mirrored(search)
        backwards = ends_of(self._search, problem, limits)
        most = min(nodes_allowed(problem, limits), len(search.states.levels) - 1)
        self._covered, _ = reach(self._search, backwards, most, stop_at_end=True)

    def can_finish(self, left: list[int], nodes: int, boundary: int) -> bool:
        """Return whether so many of the nodes left can hold all items from a boundary on."""
        states = self._search.states
        level = states.levels[nodes]
        fits = self._covered[level] >= self._search.line.items - boundary
        for group, count in enumerate(left):
            if count < states.counts[group]:
                fits &= states.digits(level, group) <= count
        return bool(fits.any())


class _Largest:
    """Answers from small passes over the largest nodes left, which can stand in for any others."""

    def __init__(self, problem: Problem, groups: tuple[Group, ...], limits: Limits) -> None:
        self.ranks: tuple[int | None, ...] = (None,) * len(groups)
        self._problem, self._groups, self._limits = problem, groups, limits
        self.ends = windows_of(problem, groups, line_of(problem, groups), limits).farthest()
        self._known: dict[tuple[int, ...], int] = {}

    def can_finish(self, left: list[int], nodes: int, boundary: int) -> bool:
        """Return whether so many of the nodes left can hold all items from a boundary on."""
        counts, wanted = [0] * len(left), nodes
        for group in largest_first(self._groups):
            counts[group] = min(left[group], wanted)
            wanted -= counts[group]
        if wanted:
            return False
        key = tuple(counts)
        if key not in self._known:
            search = mirrored(_only(self._problem, self._groups, counts, nodes))
            covered, _ = reach(search, ends_of(search, self._problem, self._limits), nodes, stop_at_end=False)
            self._known[key] = int(covered[search.states.levels[nodes]].max())
        return self._known[key] >= len(self._problem.items) - boundary


def _only(problem: Problem, groups: tuple[Group, ...], counts: list[int], nodes: int) -> PrefixSearch:
    chosen = [replace(group, count=count) for group, count in zip(groups, counts, strict=True) if count]
    search = lay_out_search(problem, chosen, nodes)
    if search is None:
        raise TableError
    return search
