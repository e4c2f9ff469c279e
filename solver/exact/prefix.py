"""Longest-prefix search: exact for every question that is about memory and the number of nodes.

For counts used of each group of equal nodes, reach[counts] = the longest prefix of items that those nodes can hold in
some order. Holding more is never worse, so one number a state is enough, and reach is a maximum over the group that
comes last:

    reach[counts] = max over groups g with counts[g] > 0 of farthest[g][reach[counts - 1 of g]]

States = product of (count + 1) over groups: 2^n for n unlike nodes, few for equal ones. Pins, first, last and order
keep the rule "more is never worse" (what is skipped is never a node that must be used); a least number of blocks a
node does not, nor do forbidden links, and the search declines those.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.line import Group, Line, farthest_ends, groups_of, line_of
from solver.objectives import Limits, cap_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from solver.problem import Problem

__all__ = ["Chain", "PrefixSearch", "applies", "find", "prefix_search", "reach"]

# A cell costs 4 bytes in the tables of either direction and as much while the answer is chosen: 1.2 GiB in all here,
# which 22 nodes without equals reach.
_MOST_CELLS = 100_000_000


@dataclass(frozen=True, slots=True)
class Chain:
    """Stages as (group, start, end), in order."""

    stages: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, eq=False)
class PrefixSearch:
    """The states of a problem, laid out once for any number of passes.

    `levels[j]` holds the states that use j nodes; `sources[j]`, shape (groups, states of level j), the state without
    one node of each group, or the number of states where there is none.
    """

    groups: tuple[Group, ...]
    line: Line
    states: int
    levels: tuple[NDArray[np.int32], ...]
    sources: tuple[NDArray[np.int32], ...]


def applies(problem: Problem) -> bool:
    """Return whether the search answers questions on this problem exactly and within its memory."""
    groups = groups_of(problem)
    cells = prod(group.count + 1 for group in groups) * max(len(groups), 1)
    return cells <= _MOST_CELLS and problem.rules.min_blocks <= 1 and not problem.has_forbidden_links


def prefix_search(problem: Problem) -> PrefixSearch:
    """Return the laid-out search of a problem for which it applies."""
    groups = groups_of(problem)
    line = line_of(problem, groups)
    return _lay_out(groups, line)


def mirrored(search: PrefixSearch) -> PrefixSearch:
    """Return the search that starts from the last item."""
    return _lay_out(search.groups, search.line.mirrored())


def _lay_out(groups: tuple[Group, ...], line: Line) -> PrefixSearch:
    counts = [group.count for group in groups]
    strides = [prod(count + 1 for count in counts[number + 1 :]) for number in range(len(counts))]
    states = prod(count + 1 for count in counts)
    used = np.zeros(1, dtype=np.int32)
    for count in counts:
        used = (used[:, None] + np.arange(count + 1, dtype=np.int32)[None, :]).reshape(-1)
    by_level = np.argsort(used, kind="stable").astype(np.int32)
    bounds = np.concatenate(([0], np.cumsum(np.bincount(used))))
    levels = tuple(by_level[bounds[level] : bounds[level + 1]] for level in range(len(bounds) - 1))
    return PrefixSearch(
        groups=groups,
        line=line,
        states=states,
        levels=levels,
        sources=tuple(_sources(level, counts, strides, states, line) for level in levels),
    )


def _sources(
    level: NDArray[np.int32], counts: Sequence[int], strides: Sequence[int], states: int, line: Line
) -> NDArray[np.int32]:
    digits = [level // stride % (count + 1) for stride, count in zip(strides, counts, strict=True)]
    table = np.full((len(counts), len(level)), states, dtype=np.int32)
    for group, (stride, digit) in enumerate(zip(strides, digits, strict=True)):
        allowed = digit > 0
        rank = line.ranks[group]
        if rank is not None:
            for other, other_rank in enumerate(line.ranks):
                if other_rank is not None and other_rank > rank:
                    allowed &= digits[other] == 0
        table[group, allowed] = level[allowed] - stride
    return table


def reach(
    search: PrefixSearch, ends: NDArray[np.int32], most_nodes: int, *, stop_at_end: bool
) -> tuple[NDArray[np.int32], int | None]:
    """Return the longest prefix by state up to a number of nodes, and the fewest nodes that hold all items or None.

    The array has shape (states + 1,), its last entry standing for no state. With `stop_at_end` levels after the first
    that holds everything are left at 0.
    """
    count = search.line.items
    longest = np.zeros(search.states + 1, dtype=np.int32)
    longest[-1] = count + 1
    rows = np.arange(len(search.groups))[:, None]
    fewest: int | None = None
    for level in range(1, min(most_nodes, len(search.levels) - 1) + 1):
        best = ends[rows, longest[search.sources[level]]].max(axis=0)
        longest[search.levels[level]] = best
        if fewest is None and int(best.max()) == count:
            fewest = level
            if stop_at_end:
                break
    return longest, fewest


def most_nodes(problem: Problem, limits: Limits) -> int:
    """Return the largest number of nodes that rules and limits leave."""
    stages = problem.stages_at_most
    return stages if limits.max_nodes is None else min(stages, limits.max_nodes)


def find(search: PrefixSearch, problem: Problem, limits: Limits) -> Chain | None:
    """Return a chain of the fewest nodes within the limits, or None: then there is none at all."""
    ends = farthest_ends(search.line, [cap_bytes(limits, group.budget_bytes) for group in search.groups])
    longest, fewest = reach(search, ends, most_nodes(problem, limits), stop_at_end=True)
    if fewest is None:
        return None
    level = search.levels[fewest]
    position = int(np.argmax(longest[level]))
    return _walk_back(search, ends, longest, fewest, position)


def _walk_back(
    search: PrefixSearch, ends: NDArray[np.int32], longest: NDArray[np.int32], level: int, position: int
) -> Chain:
    stages: list[tuple[int, int, int]] = []
    while level > 0:
        state = int(search.levels[level][position])
        for group in range(len(search.groups)):
            source = int(search.sources[level][group, position])
            if source < search.states and ends[group, longest[source]] == longest[state]:
                if longest[source] < longest[state]:
                    stages.append((group, int(longest[source]), int(longest[state])))
                level -= 1
                position = int(np.searchsorted(search.levels[level], source))
                break
    return Chain(tuple(reversed(stages)))
