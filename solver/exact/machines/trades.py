"""What a device's stages can cost against what they put into memories that are short: every trade worth making.

A stage leaves the experts of so many blocks of each kind with its host. What it must leave is given by what its own
memory lacks; to leave more than that can be cheaper, where another mix of kinds is, and then it fills the host more.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.states import TableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from solver.exact.machines.sets import Choices
    from solver.exact.machines.stages import StageCosts

__all__ = ["Trades", "trades_of"]

_MOST_LOOKS = 100_000_000
_LOOKS_AT_ONCE = 2_000_000


@dataclass(frozen=True, eq=False)
class Trades:
    """Every stage of one device with every mix worth leaving, by start, then end: shape (trades,) each.

    `first[a]` to `first[a + 1]` are those that start at `a`. `uses`, shape (memories, trades), are bytes; `numbers`,
    shape (kinds, trades), say how many blocks of each kind are left.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    first: NDArray[np.int64]
    costs: NDArray[np.int64]
    uses: NDArray[np.int64]
    numbers: NDArray[np.int64]
    kind_of: tuple[int, ...]

    def left(self, trade: int) -> tuple[int, ...]:
        """Return the blocks that a trade leaves with the host: of each kind the first."""
        return self.earliest(int(self.starts[trade]), int(self.ends[trade]), self.numbers[:, trade].tolist())

    def earliest(self, start: int, end: int, numbers: Sequence[int]) -> tuple[int, ...]:
        """Return the first blocks of a stage, so many of each kind."""
        rest = list(numbers)
        chosen = []
        for index in range(start, end):
            kind = self.kind_of[index]
            if kind >= 0 and rest[kind]:
                rest[kind] -= 1
                chosen.append(index)
        return tuple(chosen)


def trades_of(stage: StageCosts, uses: Sequence[NDArray[np.int64]], factors: Sequence[int]) -> Trades:
    """Return the trades of a device.

    `uses` are what runs put into each memory with nothing left, by start and end; `factors` what a byte left adds.

    Raises:
        TableError: leaving a block can be of use in itself, or there are too many mixes.
    """
    starts, ends = np.nonzero(stage.costs < stage.prices.never)
    kinds = 0 if stage.sets is None else len(stage.sets.choices.units)
    numbers = np.zeros((kinds, len(starts)), dtype=np.int64)
    pair = np.arange(len(starts))
    if stage.sets is not None:
        choices = stage.sets.choices
        if stage.slack_ns is not None or min(choices.units) < 0 or min(factors, default=0) < 0:
            raise TableError
        pressed = np.flatnonzero(stage.excess_bytes[starts, ends] > 0)
        if len(pressed):
            kept = np.flatnonzero(stage.excess_bytes[starts, ends] <= 0)
            of_pressed, found = _mixes(choices, stage, starts[pressed], ends[pressed])
            pair = np.concatenate((kept, pressed[of_pressed]))
            numbers = np.concatenate((numbers[:, kept], found), axis=1)
            order = np.argsort(pair, kind="stable")
            pair, numbers = pair[order], numbers[:, order]
    starts, ends = starts[pair], ends[pair]
    costs = stage.base[starts, ends]
    relieved = np.zeros(len(starts), dtype=np.int64)
    if stage.sets is not None:
        for kind, (size, unit) in enumerate(
            zip(stage.sets.choices.relieved_bytes, stage.sets.choices.units, strict=True)
        ):
            costs = costs + numbers[kind].astype(stage.prices.dtype) * unit
            relieved = relieved + numbers[kind] * size
    used = [use[starts, ends] + relieved * factor for use, factor in zip(uses, factors, strict=True)]
    first = np.searchsorted(starts, np.arange(stage.costs.shape[0] + 1))
    return Trades(starts, ends, first, costs, np.stack(used), numbers, stage.kind_of)


def _mixes(
    choices: Choices, stage: StageCosts, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the mixes that relieve each of some stages enough: which stage, and the numbers of each kind.

    Of the commonest kind as few are left as suffice. A mix that costs no less than one that leaves less is left out.
    """
    common = int(np.argmax(choices.counts))
    others = [kind for kind in range(len(choices.units)) if kind != common]
    spans = [choices.counts[kind] + 1 for kind in others]
    combinations = prod(spans)
    if combinations * max(len(starts), 1) > _MOST_LOOKS:
        raise TableError
    grid = np.indices(spans, dtype=np.int64).reshape(len(others), combinations)
    sizes = np.array(choices.relieved_bytes, dtype=np.int64)
    relief = sizes[others] @ grid
    cost: NDArray[np.int64] = np.zeros(combinations, dtype=stage.prices.dtype)
    for row, kind in enumerate(others):
        cost = cost + grid[row].astype(stage.prices.dtype) * choices.units[kind]
    counts = np.stack(
        [np.concatenate(([0], np.cumsum([one == kind for one in stage.kind_of]))) for kind in range(len(sizes))]
    )
    there = counts[:, ends] - counts[:, starts]
    which: list[NDArray[np.int64]] = []
    found: list[NDArray[np.int64]] = []
    step = max(_LOOKS_AT_ONCE // combinations, 1)
    for begin in range(0, len(starts), step):
        part = np.arange(begin, min(begin + step, len(starts)))
        short = stage.excess_bytes[starts[part], ends[part]][:, None] - relief[None, :]
        most = np.maximum(-(-short // sizes[common]), 0)
        fits = most <= there[common, part][:, None]
        for row, kind in enumerate(others):
            fits &= grid[row][None, :] <= there[kind, part][:, None]
        rows, columns = np.nonzero(fits)
        left = most[rows, columns]
        weight = relief[columns] + left * sizes[common]
        price = cost[columns] + left.astype(stage.prices.dtype) * choices.units[common]
        order = np.lexsort((price, weight, rows)) if price.dtype != object else _sorted(rows, weight, price)
        rows, columns, left, price = rows[order], columns[order], left[order], price[order]
        worth = _falling(rows, price)
        which.append(part[rows[worth]])
        numbers = np.zeros((len(sizes), len(worth)), dtype=np.int64)
        numbers[others] = grid[:, columns[worth]]
        numbers[common] = left[worth]
        found.append(numbers)
    return np.concatenate(which), np.concatenate(found, axis=1)


def _sorted(rows: NDArray[np.int64], weight: NDArray[np.int64], price: NDArray[np.int64]) -> NDArray[np.int64]:
    by_price = np.argsort(price, kind="stable")
    order: NDArray[np.int64] = by_price[np.lexsort((weight[by_price], rows[by_price]))]
    return order


def _falling(rows: NDArray[np.int64], price: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places, within each row, where the price is below all before it."""
    worth: list[int] = []
    row, least = -1, None
    for place, (at, cost) in enumerate(zip(rows.tolist(), price.tolist(), strict=True)):
        if at != row or least is None or cost < least:
            worth.append(place)
            row, least = at, cost
    return np.array(worth, dtype=np.int64)
