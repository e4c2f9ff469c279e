"""Least-cost sets of blocks whose experts stay with a host: a knapsack over the few kinds of blocks that models have.

Of the most frequent kind the least number that suffices is known in closed form; of the others every number is tried.
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

__all__ = ["Choices", "Needs", "least_sets"]

_MOST_TRIALS = 1_500_000_000
_TRIALS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Choices:
    """Kinds of blocks: what one of each relieves its device of, how much longer it then takes, and what it costs."""

    relieved_bytes: tuple[int, ...]
    penalties_ns: tuple[int, ...]
    units: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Needs:
    """What each of several stages needs: at least `excess_bytes` relieved, at most `slack_ns` longer (None: any).

    `counts`, shape (stages, kinds), are the blocks that there are of each kind.
    """

    counts: NDArray[np.int64]
    excess_bytes: NDArray[np.int64]
    slack_ns: NDArray[np.int64] | None


def least_sets(choices: Choices, needs: Needs, never: int, dtype: type) -> NDArray[np.int64]:
    """Return the cost of the cheapest set for each stage, shape (stages,), `never` where no set suffices.

    Raises:
        TableError: there are too many kinds to try every number of each.
    """
    stages = len(needs.excess_bytes)
    best = np.full(stages, never, dtype=dtype)
    if stages == 0:
        return best
    most = needs.counts.max(axis=0)
    main = int(np.argmax(most)) if len(most) else 0
    others = [kind for kind in range(len(most)) if kind != main and most[kind] > 0]
    trials = prod(int(most[kind]) + 1 for kind in others)
    if trials * stages > _MOST_TRIALS:
        raise TableError
    numbers = np.indices([int(most[kind]) + 1 for kind in others]).reshape(len(others), trials)
    step = max(_TRIALS_AT_ONCE // trials, 1)
    for start in range(0, stages, step):
        part = slice(start, start + step)
        best[part] = _tried(choices, _part(needs, part), main, others, numbers, never, dtype)
    return best


def _part(needs: Needs, part: slice) -> Needs:
    slack = None if needs.slack_ns is None else needs.slack_ns[part]
    return Needs(needs.counts[part], needs.excess_bytes[part], slack)


def _tried(
    choices: Choices,
    needs: Needs,
    main: int,
    others: Sequence[int],
    numbers: NDArray[np.int64],
    never: int,
    dtype: type,
) -> NDArray[np.int64]:
    """Return the least cost by stage over all numbers of the other kinds."""
    stages, trials = len(needs.excess_bytes), numbers.shape[1]
    relieved, longer = np.zeros((2, trials), dtype=np.int64)
    cost = np.zeros(trials, dtype=dtype)
    allowed = np.ones((stages, trials), dtype=bool)
    for row, kind in enumerate(others):
        relieved += numbers[row] * choices.relieved_bytes[kind]
        longer += numbers[row] * choices.penalties_ns[kind]
        cost += numbers[row].astype(dtype) * choices.units[kind]
        allowed &= numbers[row][None, :] <= needs.counts[:, kind][:, None]
    if not len(choices.units):
        enough = needs.excess_bytes <= 0
        enough &= True if needs.slack_ns is None else needs.slack_ns >= 0
        return np.where(enough, np.zeros(stages, dtype=dtype), never)
    low = np.maximum(-((relieved[None, :] - needs.excess_bytes[:, None]) // choices.relieved_bytes[main]), 0)
    high = np.broadcast_to(needs.counts[:, main][:, None], low.shape)
    if needs.slack_ns is not None:
        spare, each = needs.slack_ns[:, None] - longer[None, :], choices.penalties_ns[main]
        if each > 0:
            high = np.minimum(high, spare // each)
        elif each < 0:
            low = np.maximum(low, -(spare // -each))
        else:
            allowed &= spare >= 0
    unit = choices.units[main]
    taken = (low if unit >= 0 else high).astype(dtype)
    costs = np.where(allowed & (low <= high), cost[None, :] + taken * unit, never)
    least: NDArray[np.int64] = costs.min(axis=1)
    return least
