"""What no placement with replicas and chains exceeds, by arithmetic: nodes alone, in any order, links left out.

Give every item a weight y. Every token passes every item once, so that a flow of V tokens a second carries V·Σy; a node
with a stage [a, b) passes at most its rate, and never more than V tokens a second, so it carries at most
y[a, b)·min(rate, V). Hence, in terms of the pace p = 1/V:

    Σ over nodes of  max over stages  y[a, b) · min(p / time, 1)  >=  Σ y

The left side grows with p, and the least p that satisfies it is the bound. It is taken with y = 1 (blocks) and with y =
the bytes that a token reads, which is sharp where times are bytes over a bandwidth; the better one counts. Nothing in
it needs chains or whole steps: it holds for any flow through nodes that each hold one run.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from solver.flow.stages import most_devices, stage_times

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from solver.problem import Problem

__all__ = ["Options", "least_pace_ns", "options_of", "pace_for"]

# Stages of one kind of node worth having, as (weight, time in ns): more weight only for more time.
Options = tuple[tuple[int, int], ...]


def least_pace_ns(problem: Problem) -> Fraction | None:
    """Return a time between two tokens that no placement is below; None if the nodes together cannot hold the items."""
    tables = [(stage_times(problem, group.members[0]), group.count) for group in problem.classes]
    active = [block.active_bytes for block in problem.blocks]
    best = Fraction(0)
    for weights in ([1] * len(active), active):
        if sum(weights) == 0:
            continue
        kinds = [(options_of(times, weights), count) for times, count in tables]
        pace = pace_for(kinds, sum(weights), most_devices(problem))
        if pace is None:
            return None
        best = max(best, pace)
    return best


def options_of(times: NDArray[np.int64], weights: Sequence[int]) -> Options:
    """Return the stages of a table that no other betters in weight and time, the quickest first."""
    import numpy as np  # noqa: PLC0415 - as in `stage_times`

    sums = np.concatenate(([0], np.cumsum(np.array(weights, dtype=np.int64))))
    starts, ends = np.nonzero(times)
    held, taken = sums[ends] - sums[starts], times[starts, ends]
    by_time = np.lexsort((-held, taken))
    held, taken = held[by_time], taken[by_time]
    before = np.concatenate(([0], np.maximum.accumulate(held)[:-1]))
    kept = held > before
    return tuple(zip(held[kept].tolist(), taken[kept].tolist(), strict=True))


def pace_for(kinds: Sequence[tuple[Options, int]], total: int, most_nodes: int | None) -> Fraction | None:
    """Return the least pace at which (options, count) of each kind of node carry a total weight; None if none does."""
    steps = sorted({time for options, _ in kinds for _, time in options})
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high) // 2
        if _carried(kinds, Fraction(steps[middle]), steps[middle], most_nodes)[0] >= total:
            high = middle
        else:
            low = middle + 1
    if low == len(steps):
        return None
    # Between two steps the left side is convex and piecewise linear: Newton's method from the right ends at its root.
    pace = Fraction(steps[low])
    whole = steps[low - 1] if low else 0
    while True:
        carried, slope = _carried(kinds, pace, whole, most_nodes)
        if carried == total or slope == 0:
            return pace
        pace -= (carried - total) / slope


def _carried(
    kinds: Sequence[tuple[Options, int]], pace: Fraction, whole: int, most_nodes: int | None
) -> tuple[Fraction, Fraction]:
    """Return the weight that all nodes carry at a pace, and how it grows; stages of up to `whole` ns carry theirs."""
    best: list[tuple[Fraction, Fraction, int]] = []
    for options, count in kinds:
        fixed = Fraction(max((weight for weight, time in options if time <= whole), default=0))
        slope = max((Fraction(weight, time) for weight, time in options if time > whole), default=Fraction(0))
        best.append((fixed, Fraction(0), count) if fixed >= slope * pace else (slope * pace, slope, count))
    best.sort(key=lambda kind: kind[0], reverse=True)
    left = sum(count for *_, count in best) if most_nodes is None else most_nodes
    carried = growth = Fraction(0)
    for weight, slope, count in best:
        taken = min(count, left)
        carried, growth, left = carried + weight * taken, growth + slope * taken, left - taken
    return carried, growth
