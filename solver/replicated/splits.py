"""What several chains side by side cannot carry together.

Of chains that carry V tokens a second together, some carry at least V over their number; let the quickest of them carry
T. Then its nodes pack all items at T, and the other nodes, at V - T, pack them too if they are one chain; if they are
several they could hold the items twice and pass the closed form, with no node passing more than T. All of that only
gets harder to satisfy as they carry more, so that for T between two grid points the lower one is asked of the chain and
the higher one is taken from the rest. Where no counts of nodes satisfy both on any interval, no two or more chains
carry V.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.states import TableError
from solver.replicated.pace import Pace
from solver.replicated.packing import pack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["most_chains", "split_at"]

_INTERVALS = 24
_NEAR = 1e-6


def most_chains(times: Sequence[Sequence[int]], counts: Sequence[int], items: int) -> int:
    """Return how many times over the nodes could hold the items, whatever the pace."""
    return sum(count * len(row) for count, row in zip(counts, times, strict=True)) // items


def split_at(
    times: Sequence[Sequence[int]],
    counts: Sequence[int],
    items: int,
    pace_ns: Fraction,
    spent: Callable[[], bool],
) -> tuple[int, ...] | None:
    """Return counts of nodes for the quickest chain of several that might keep a pace together; None if none can.

    Raises:
        TableError: there are too many kinds of nodes, or `spent` said that the time is up.
    """
    chains = most_chains(times, counts, items)
    if chains < 2:  # noqa: PLR2004 - several
        return None
    total = 1 / pace_ns
    grid = [
        total * (Fraction(1, chains) + Fraction(number, _INTERVALS) * (1 - Fraction(1, chains)))
        for number in range(_INTERVALS + 1)
    ]
    for carried, more in pairwise(grid):
        if spent():
            raise TableError
        held = pack(times, counts, items, Pace(1 / carried, strict=False)).held
        rest = _rest(times, counts, items, None if more >= total else 1 / (total - more), 1 / more)
        backwards = tuple(slice(None, None, -1) for _ in counts)
        there = np.argwhere((held >= items) & rest[backwards])
        if len(there):
            return tuple(int(count) for count in there[there.sum(axis=1).argmin()])
    return None


def _rest(
    times: Sequence[Sequence[int]], counts: Sequence[int], items: int, pace_ns: Fraction | None, quickest_ns: Fraction
) -> NDArray[np.bool_]:
    """Return by counts of nodes whether they might keep a pace, as one chain or as several none of which is quicker.

    None stands for any pace.
    """
    room = _over_kinds(counts, [float(len(row)) for row in times])
    if pace_ns is None:
        return room >= items
    together, each = float(pace_ns), float(pace_ns / quickest_ns)
    passed = [
        max((length * min(together / time, each, 1.0) for length, time in enumerate(row, 1)), default=0.0)
        for row in times
    ]
    several = (room >= 2 * items) & (_over_kinds(counts, passed) >= items - _NEAR)
    one = pack(times, counts, items, Pace(pace_ns, strict=False)).held >= items
    return one | several


def _over_kinds(counts: Sequence[int], each: Sequence[float]) -> NDArray[np.float64]:
    """Return by counts of nodes what they come to together, one node of each kind coming to so much."""
    total = np.zeros([1] * len(counts))
    for kind, (count, amount) in enumerate(zip(counts, each, strict=True)):
        shape = [1] * len(counts)
        shape[kind] = count + 1
        total = total + (np.arange(count + 1) * amount).reshape(shape)
    return total
