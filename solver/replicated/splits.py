"""What several chains side by side cannot carry together.

Of chains that carry V tokens a second together, some carry at least V over their number; let the quickest of them carry
T. Then its nodes pack all items at T, and the other nodes pass the closed form at V - T. Both only get harder to
satisfy as they carry more, so that for T between two grid points the lower one is asked of the chain and the higher one
is taken from the rest. Where no counts of nodes satisfy both on any interval, no two or more chains carry V.
"""

from __future__ import annotations

from fractions import Fraction
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
    for carried, more in zip(grid, grid[1:], strict=False):
        if spent():
            raise TableError
        held = pack(times, counts, items, Pace(1 / carried, strict=False), None).held
        rest = _passed(times, counts, None if more >= total else 1 / (total - more))
        backwards = tuple(slice(None, None, -1) for _ in counts)
        there = np.argwhere((held >= items) & (rest[backwards] >= items - _NEAR))
        if len(there):
            return tuple(int(count) for count in there[there.sum(axis=1).argmin()])
    return None


def _passed(
    times: Sequence[Sequence[int]], counts: Sequence[int], pace_ns: Fraction | None
) -> NDArray[np.float64]:
    """Return by counts of nodes the items that they pass every token through at a pace; None for any pace."""
    passed = np.zeros([1] * len(counts))
    for kind, (row, count) in enumerate(zip(times, counts, strict=True)):
        if pace_ns is None:
            each = float(len(row))
        else:
            each = max((length * min(float(pace_ns) / time, 1.0) for length, time in enumerate(row, 1)), default=0.0)
        shape = [1] * len(counts)
        shape[kind] = count + 1
        passed = passed + (np.arange(count + 1) * each).reshape(shape)
    return passed
