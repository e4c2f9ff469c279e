"""Longest-prefix search: exact for every question about memory, room for tokens, and times that links do not touch.

For counts used of each group of equal nodes, reach[counts] = the longest prefix of items that those nodes can hold in
some order. Holding more is never worse, so one number a state is enough, and reach is a maximum over the group that
comes last:

    reach[counts] = max over groups g with counts[g] > 0 of farthest[g][reach[counts - 1 of g]]

States = product of (count + 1) over groups: 2^n for n unlike nodes, few for equal ones. Pins, first, last and order
keep the rule "more is never worse" (what is skipped is never a node that must be used). A least number of blocks a
node, forbidden or unlike links, and measured times that fall with more blocks do not keep it, and the search declines
those.

Where only budgets tell nodes apart, a larger node can stand in for a smaller one: of m nodes the m largest are enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.line import Group, Line, groups_of, line_of, windows_of
from solver.exact.states import States, TableError, lay_out, size_of
from solver.limits import most_nodes
from solver.measures import block_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from solver.limits import Limits
    from solver.problem import Problem

__all__ = [
    "Chain",
    "PrefixSearch",
    "TableError",
    "answers",
    "cells_of",
    "enough_groups",
    "find",
    "largest_first",
    "lay_out_search",
    "mirrored",
    "reach",
]

# A cell costs 4 bytes in the tables of a layout, and half as much again while they are made; beyond this they would
# pass half a gibibyte.
_MOST_CELLS = 70_000_000


@dataclass(frozen=True, slots=True)
class Chain:
    """Stages as (group, start, end), in order."""

    stages: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, eq=False)
class PrefixSearch:
    """Groups, line and states of a problem, laid out once for any number of passes."""

    groups: tuple[Group, ...]
    line: Line
    states: States


def answers(problem: Problem, *, by_time: bool) -> bool:
    """Return whether more is never worse in this problem, so that the search can answer questions on it."""
    if problem.rules.min_blocks > 1 or problem.has_forbidden_links:
        return False
    return not by_time or (_has_like_transfers(problem) and _has_rising_times(problem))


def _has_like_transfers(problem: Problem) -> bool:
    default = problem.links.default.bytes_per_second
    return all(pair.link.bytes_per_second == default for pair in problem.links.pairs)


def _has_rising_times(problem: Problem) -> bool:
    tables = (group.members[0].stage_ns for group in problem.classes)
    return all(table is None or list(table) == sorted(table) for table in tables)


def enough_groups(problem: Problem, nodes: int, *, by_time: bool) -> tuple[Group, ...]:
    """Return the groups that placements on so many nodes need: the largest nodes, and those that rules name."""
    groups = groups_of(problem, by_time=by_time)
    if by_time or any(group.node.stage_ns is not None for group in groups):
        return groups
    left = nodes
    counts: dict[int, int] = {}
    by_size = largest_first(groups)
    beside = [groups[number].node.held_bytes for number in by_size]
    if beside != sorted(beside):
        # Which of two is the larger then depends on how far they may be filled.
        return groups
    for number in by_size:
        group = groups[number]
        counts[number] = group.count if group.named else min(group.count, left)
        left -= 0 if group.named else counts[number]
    return tuple(
        Group(group.node, counts[number], group.classes, group.named)
        for number, group in enumerate(groups)
        if counts[number]
    )


def largest_first(groups: Sequence[Group]) -> list[int]:
    """Return the numbers of groups by what stages may take, most first, and of equals what holds less beside them."""
    sizes = [(-group.node.room_bytes, group.node.held_bytes) for group in groups]
    return sorted(range(len(groups)), key=sizes.__getitem__)


def lay_out_search(problem: Problem, groups: Sequence[Group], nodes: int) -> PrefixSearch | None:
    """Return the search over these groups and up to so many nodes, or None where its tables would grow too large."""
    counts = [group.count for group in groups]
    if size_of(counts) * max(len(counts), 1) > _MOST_CELLS:
        return None
    line = line_of(problem, groups)
    return PrefixSearch(tuple(groups), line, lay_out(counts, line.ranks, nodes))


def cells_of(search: PrefixSearch | None) -> int:
    """Return how many cells the tables of a layout have."""
    return 0 if search is None else search.states.size * len(search.groups)


def mirrored(search: PrefixSearch) -> PrefixSearch:
    """Return the search that starts from the last item."""
    line = search.line.mirrored()
    states = search.states
    plain = all(rank is None for rank in line.ranks)
    turned = states if plain else lay_out(states.counts, line.ranks, len(states.levels) - 1)
    return PrefixSearch(search.groups, line, turned)


def ends_of(search: PrefixSearch, problem: Problem, limits: Limits) -> NDArray[np.int32]:
    """Return the farthest end by group and start, with a last column for a state that does not exist."""
    return windows_of(problem, search.groups, search.line, limits).farthest()


def reach(
    search: PrefixSearch, ends: NDArray[np.int32], nodes: int, *, stop_at_end: bool
) -> tuple[NDArray[np.int32], int | None]:
    """Return the longest prefix by state up to a number of nodes, and the fewest nodes that hold all items or None.

    The array has shape (states + 1,), its last entry standing for no state. With `stop_at_end` levels after the first
    that holds everything are left at 0.
    """
    count, states = search.line.items, search.states
    longest = np.zeros(states.size + 1, dtype=np.int32)
    longest[-1] = count + 1
    fewest: int | None = None
    for level in range(1, min(nodes, len(states.levels) - 1) + 1):
        sources = states.sources[level]
        best = ends[0][longest[sources[0]]]
        for group in range(1, len(ends)):
            np.maximum(best, ends[group][longest[sources[group]]], out=best)
        longest[states.levels[level]] = best
        if fewest is None and int(best.max()) == count:
            fewest = level
            if stop_at_end:
                break
    return longest, fewest


def nodes_allowed(problem: Problem, limits: Limits) -> int:
    """Return the largest number of nodes that rules and limits leave; one where no transfer is quick enough."""
    nodes = most_nodes(problem, limits)
    if limits.max_slowest_ns is None or nodes <= 1:
        return nodes
    rate = problem.links.default.bytes_per_second
    transfer = 0 if rate is None else block_ns(problem.activation_bytes, rate)
    return 1 if transfer > limits.max_slowest_ns else nodes


def find(search: PrefixSearch, problem: Problem, limits: Limits) -> Chain | None:
    """Return a chain of the fewest nodes within the limits, or None: then there is none on these groups."""
    ends = ends_of(search, problem, limits)
    longest, fewest = reach(search, ends, nodes_allowed(problem, limits), stop_at_end=True)
    if fewest is None:
        return None
    position = int(np.argmax(longest[search.states.levels[fewest]]))
    return _walk_back(search, ends, longest, fewest, position)


def _walk_back(
    search: PrefixSearch, ends: NDArray[np.int32], longest: NDArray[np.int32], level: int, position: int
) -> Chain:
    states = search.states
    stages: list[tuple[int, int, int]] = []
    while level > 0:
        state = int(states.levels[level][position])
        for group in range(len(search.groups)):
            source = int(states.sources[level][group, position])
            if source < states.size and ends[group, longest[source]] == longest[state]:
                stages.append((group, int(longest[source]), int(longest[state])))
                level -= 1
                position = int(np.searchsorted(states.levels[level], source))
                break
    return Chain(tuple(reversed(stages)))
