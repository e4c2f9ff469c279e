"""From the least times of a set-and-first search to its value and its canonical placement.

Fewest nodes; then the earliest-listed class at each stage from the front; then the longest stage from the front; then
the lowest-numbered node of a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.chain import NEVER, ChainSearch, Cover
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from solver.problem import Problem

__all__ = ["fewest_nodes_within", "least_time", "walk"]


def least_time(cover: Cover) -> int | None:
    """Return the least time to hold all items, or None if nothing can."""
    times = (int(table[:, 0].min()) for level in cover.tables[1:] for table in level if len(table))
    least = min(times, default=NEVER)
    return None if least >= NEVER else least


def fewest_nodes_within(cover: Cover, most_ns: int) -> int | None:
    """Return the fewest nodes that hold all items within a time, or None."""
    for level, tables in enumerate(cover.tables):
        if any(len(table) and int(table[:, 0].min()) <= most_ns for table in tables):
            return level
    return None


@dataclass(frozen=True, eq=False)
class _Walk:
    search: ChainSearch
    cover: Cover
    most_ns: int


def walk(search: ChainSearch, problem: Problem, cover: Cover, most_ns: int) -> Placement | None:
    """Return the canonical placement among those on the fewest nodes within a time, or None if there is none."""
    fewest = fewest_nodes_within(cover, most_ns)
    if fewest is None:
        return None
    steps = _Walk(search, cover, most_ns)
    sequence = _classes(steps, fewest)
    cuts = _cuts(steps, sequence)
    free = [[member.name for member in problem.classes[group.classes[0]].members] for group in search.groups]
    return Placement(
        tuple(Stage(start=cuts[k], end=cuts[k + 1], node=free[number].pop(0)) for k, number in enumerate(sequence))
    )


def _classes(steps: _Walk, fewest: int) -> tuple[int, ...]:
    """Return the earliest-listed class at each stage from the front that still allows an end in time."""
    groups, items = steps.search.groups, steps.search.line.items
    left = [group.count for group in groups]
    spent = np.full(items + 1, NEVER, dtype=np.int64)
    spent[0] = 0
    sequence: list[int] = []
    for remaining in range(fewest - 1, -1, -1):
        in_turn = _in_turn(steps, left, sequence)
        for number in range(len(groups)):
            if in_turn[number] == 0:
                continue
            arrived = _arrive(steps, sequence[-1] if sequence else None, number, spent)
            left[number] -= 1
            if _can_finish(steps, number, arrived, left, remaining, sequence):
                sequence.append(number)
                spent = arrived
                break
            left[number] += 1
    return tuple(sequence)


def _arrive(steps: _Walk, before: int | None, number: int, spent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the least time by boundary once a stage of one more class is placed."""
    left = spent if before is None else spent + steps.cover.hops[before, number]
    arrived: NDArray[np.int64] = np.minimum((left[:, None] + _stage_times(steps, number)).min(axis=0), NEVER)
    return arrived


def _stage_times(steps: _Walk, number: int) -> NDArray[np.int64]:
    """Return the time of a stage of one class by start and end, NEVER where it is not allowed."""
    cover, items = steps.cover, steps.search.line.items
    starts, ends = np.arange(items + 1)[:, None], np.arange(items + 1)[None, :]
    allowed = (ends >= cover.windows.low[number][:, None]) & (ends <= cover.windows.high[number][:, None])
    prefix = cover.prefixes[number]
    if prefix is not None:
        times = prefix[None, :] - prefix[:, None]
    else:
        measured = steps.search.groups[number].node.stage_ns or ()
        by_count = np.full(items + 1, NEVER, dtype=np.int64)
        for count, time in enumerate(measured[:items], start=1):
            if cover.max_slowest_ns is None or time <= cover.max_slowest_ns:
                by_count[count] = time if cover.timed else 0
        times = by_count[np.clip(ends - starts, 0, items)]
    return np.where(allowed, np.minimum(times, NEVER), NEVER)


def _can_finish(
    steps: _Walk, number: int, arrived: NDArray[np.int64], left: list[int], nodes: int, sequence: list[int]
) -> bool:
    """Return whether so many of the nodes left can hold the rest within the time."""
    if nodes == 0:
        return int(arrived[-1]) <= steps.most_ns
    states = steps.search.states
    level = states.levels[nodes]
    fits = np.ones(len(level), dtype=bool)
    for group, count in enumerate(_in_turn(steps, left, [*sequence, number])):
        fits &= states.digits(level, group) <= count
    for following, table in enumerate(steps.cover.tables[nodes]):
        hop = int(steps.cover.hops[number, following])
        chosen = steps.cover.rows[nodes][following][fits]
        chosen = chosen[chosen >= 0]
        if hop < NEVER and len(chosen) and int((table[chosen] + (arrived + hop)[None, :]).min()) <= steps.most_ns:
            return True
    return False


def _in_turn(steps: _Walk, left: list[int], sequence: list[int]) -> list[int]:
    """Return the counts left without the nodes whose turn in the order asked for has passed."""
    ranks = steps.search.line.ranks
    passed = max((rank for number in sequence if (rank := ranks[number]) is not None), default=None)
    return [
        0 if passed is not None and rank is not None and rank < passed else count
        for count, rank in zip(left, ranks, strict=True)
    ]


def _cuts(steps: _Walk, sequence: tuple[int, ...]) -> tuple[int, ...]:
    """Return the cut points that make each stage from the front as long as the time allows."""
    items = steps.search.line.items
    rests = [np.full(items + 1, NEVER, dtype=np.int64)]
    rests[0][-1] = 0
    for k in range(len(sequence) - 1, 0, -1):
        times = _stage_times(steps, sequence[k])
        rest = np.minimum((times + rests[0][None, :]).min(axis=1), NEVER)
        rests.insert(0, np.minimum(rest + steps.cover.hops[sequence[k - 1], sequence[k]], NEVER))
    cuts, spent = [0], 0
    for k, number in enumerate(sequence):
        times = _stage_times(steps, number)[cuts[-1]]
        fitting = np.flatnonzero(spent + times + rests[k] <= steps.most_ns)
        end = int(fitting[-1])
        hop = int(steps.cover.hops[number, sequence[k + 1]]) if k + 1 < len(sequence) else 0
        spent += int(times[end]) + hop
        cuts.append(end)
    return tuple(cuts)
