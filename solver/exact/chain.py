"""Set-and-first search: exact for every objective and rule, links and measured times included, on few unlike nodes.

For counts used of each class and the class that comes first, cover[counts, class][a] = the least time in which those
nodes can hold the items from boundary a to the end, as for travelling salesmen (Held and Karp, 1962, with boundaries
as labels):

    cover[e_g, g][a]     = time_g(a, items)
    cover[counts, g][a]  = min over b in window_g(a), h of  time_g(a, b) + hop(g, h) + cover[counts - 1 of g, h][b]

Memory, tokens, pins and the like narrow the windows; a hop that is forbidden or too slow takes forever. Where times do
not matter they are all 0 and the search answers whether there is a placement. States = product of (count + 1) over
classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.line import Group, Line, Windows, classes_as_groups, line_of, time_prefix, windows_of
from solver.exact.states import States, TableError, lay_out, size_of
from solver.limits import most_nodes
from solver.measures import hop_ns, transfer_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from solver.limits import Limits
    from solver.problem import Problem

__all__ = ["NEVER", "ChainSearch", "Cover", "chain_search", "cover_of", "work_of"]

# Far above any sum of times, and twice that still fits 64 bits.
NEVER = 2**61


@dataclass(frozen=True, eq=False)
class ChainSearch:
    """Classes, line and states of a problem, the states laid out from the last stage to the first."""

    groups: tuple[Group, ...]
    line: Line
    states: States


@dataclass(frozen=True, eq=False)
class Cover:
    """What one pass found.

    `tables[j][g]`, shape (rows, items + 1), are the times of states of level j that begin with g. `rows[j][g]`, shape
    (states of level j,), is the row of a state in that table, or -1. `windows`, `prefixes` and `hops` are what the
    pass went by; `prefixes[g]` is None for a class with measured times.
    """

    windows: Windows
    prefixes: tuple[NDArray[np.int64] | None, ...]
    hops: NDArray[np.int64]
    timed: bool
    max_slowest_ns: int | None
    tables: tuple[tuple[NDArray[np.int64], ...], ...]
    rows: tuple[tuple[NDArray[np.int32], ...], ...]


def work_of(problem: Problem) -> tuple[int, int]:
    """Return about how many additions a pass takes, and the bytes of its tables."""
    counts = [group.count for group in problem.classes]
    states, groups, boundaries = size_of(counts), max(len(counts), 1), len(problem.items) + 1
    if all(count == 1 for count in counts):
        most = min(problem.stages_at_most, groups)
        kept = sum(comb(groups, level) * level for level in range(most + 1))
    else:
        kept = states * groups
    return kept * boundaries * (groups + 8), kept * boundaries * 8


def chain_search(problem: Problem) -> ChainSearch:
    """Return the laid-out search of a problem."""
    groups = classes_as_groups(problem)
    line = line_of(problem, groups)
    backwards = line.mirrored()
    states = lay_out([group.count for group in groups], backwards.ranks, problem.stages_at_most)
    return ChainSearch(groups, line, states)


def cover_of(
    search: ChainSearch, problem: Problem, limits: Limits, *, timed: bool, spent: Callable[[], bool] = lambda: False
) -> Cover:
    """Return the least times by state, first class and boundary; with `timed` False every allowed step takes 0.

    Raises:
        TableError: `spent`, asked once a level, said that the time is up.
    """
    windows = windows_of(problem, search.groups, search.line, limits)
    prefixes = tuple(
        None if group.node.stage_ns is not None else _prefix(problem, group, timed=timed) for group in search.groups
    )
    hops = _hops(search, problem, limits, timed=timed)
    cover = Cover(windows, prefixes, hops, timed, limits.max_slowest_ns, (), ())
    tables: list[tuple[NDArray[np.int64], ...]] = [()]
    rows: list[tuple[NDArray[np.int32], ...]] = [()]
    for level in range(1, min(most_nodes(problem, limits), len(search.states.levels) - 1) + 1):
        if spent():
            raise TableError
        level_tables, level_rows = _next_level(search, cover, level, tables[-1], rows[-1])
        tables.append(level_tables)
        rows.append(level_rows)
    return Cover(windows, prefixes, hops, timed, limits.max_slowest_ns, tuple(tables), tuple(rows))


def _next_level(
    search: ChainSearch,
    cover: Cover,
    level: int,
    tables: Sequence[NDArray[np.int64]],
    rows: Sequence[NDArray[np.int32]],
) -> tuple[tuple[NDArray[np.int64], ...], tuple[NDArray[np.int32], ...]]:
    found, numbered = [], []
    for number in range(len(search.groups)):
        sources = search.states.sources[level][number]
        there = np.flatnonzero(sources < search.states.size)
        numbers = np.full(len(sources), -1, dtype=np.int32)
        numbers[there] = np.arange(len(there), dtype=np.int32)
        if level == 1:
            rest = np.full((len(there), search.line.items + 1), NEVER, dtype=np.int64)
            rest[:, -1] = 0
        else:
            places = np.searchsorted(search.states.levels[level - 1], sources[there])
            rest = _rest(cover, number, places, tables, rows, search.line.items)
        found.append(step_back(search.groups[number], number, cover, rest))
        numbered.append(numbers)
    return tuple(found), tuple(numbered)


def _rest(
    cover: Cover,
    number: int,
    places: NDArray[np.intp],
    tables: Sequence[NDArray[np.int64]],
    rows: Sequence[NDArray[np.int32]],
    items: int,
) -> NDArray[np.int64]:
    """Return the least time of hop and rest behind a stage of one class, by state and boundary."""
    rest = np.full((len(places), items + 1), NEVER, dtype=np.int64)
    for following, table in enumerate(tables):
        hop = int(cover.hops[number, following])
        if hop >= NEVER:
            continue
        chosen = rows[following][places]
        there = np.flatnonzero(chosen >= 0)
        if len(there) == len(places):
            np.minimum(rest, table[chosen] + hop, out=rest)
        elif len(there):
            rest[there] = np.minimum(rest[there], table[chosen[there]] + hop)
    return rest


def step_back(group: Group, number: int, cover: Cover, rest: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the least time from each boundary on where a stage of one class comes first, shape of `rest`."""
    prefix = cover.prefixes[number]
    low, high = cover.windows.low[number], cover.windows.high[number]
    if prefix is None:
        best = _step_measured(group, cover, low, high, rest)
    else:
        best = _least_in_windows(rest + prefix, low, high) - prefix
    return np.minimum(best, NEVER)


def _least_in_windows(values: NDArray[np.int64], low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the least of values[:, low … high] for each boundary, by a table of runs of doubling lengths."""
    best = np.full(values.shape, 2 * NEVER, dtype=np.int64)
    there = high >= low
    spans = np.where(there, high - low + 1, 0)
    runs, length = values, 1
    while True:
        fitting = np.flatnonzero(there & (spans >= length) & (spans < 2 * length))
        if len(fitting):
            left = runs[:, low[fitting]]
            best[:, fitting] = np.minimum(left, runs[:, high[fitting] - length + 1])
        if 2 * length > int(spans.max(initial=0)):
            return best
        runs = np.minimum(runs[:, : runs.shape[1] - length], runs[:, length:])
        length *= 2


def _step_measured(
    group: Group, cover: Cover, low: NDArray[np.int32], high: NDArray[np.int32], rest: NDArray[np.int64]
) -> NDArray[np.int64]:
    best = np.full(rest.shape, NEVER, dtype=np.int64)
    starts = np.arange(rest.shape[1])
    for count, time in enumerate(group.node.stage_ns or (), start=1):
        if cover.max_slowest_ns is not None and time > cover.max_slowest_ns:
            continue
        fitting = starts[(starts + count >= low) & (starts + count <= high)]
        if len(fitting):
            taken = rest[:, fitting + count] + (time if cover.timed else 0)
            best[:, fitting] = np.minimum(best[:, fitting], taken)
    return best


def _prefix(problem: Problem, group: Group, *, timed: bool) -> NDArray[np.int64]:
    if not timed:
        return np.zeros(len(problem.items) + 1, dtype=np.int64)
    return np.array(time_prefix(problem, group.node), dtype=np.int64)


def _hops(search: ChainSearch, problem: Problem, limits: Limits, *, timed: bool) -> NDArray[np.int64]:
    """Return the time of a hop by the classes of its ends; NEVER where it is forbidden or its transfer too slow."""
    count = len(search.groups)
    hops = np.zeros((count, count), dtype=np.int64)
    for source, group in enumerate(search.groups):
        for target, other in enumerate(search.groups):
            names = group.node.name, other.node.name
            link = problem.links.default if source == target else problem.link(*names)
            slow = limits.max_slowest_ns is not None and transfer_ns(problem, *names) > limits.max_slowest_ns
            barred = link.forbidden or slow
            hops[source, target] = NEVER if barred else hop_ns(problem, *names) if timed else 0
    return hops
