"""Least-cost sets of blocks whose experts stay with a host: a knapsack over the few sizes that experts of a model have.

Every combination of numbers of each size is listed once, by rising cost. A stage looks through the list from where its
least cost could be, by the knapsack's fractional bound, to the first combination that it has the blocks for and that
relieves its device enough. Of blocks of one size the cheaper ones are taken first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.states import TableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Choices", "Needs", "Sets", "sets_of"]

_MOST_COMBINATIONS = 3_000_000
_MOST_LOOKS = 400_000_000
_LOOKS_AT_ONCE = 1_000_000
_NEVER = 2**61


@dataclass(frozen=True, slots=True)
class Choices:
    """Kinds of blocks: what one of each relieves its device of, how much longer it then takes, what it costs.

    `counts` are the blocks that there are of each kind. Of two kinds of one size the one that takes longer costs no
    less.
    """

    relieved_bytes: tuple[int, ...]
    penalties_ns: tuple[int, ...]
    units: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Needs:
    """What each of several stages needs: at least `excess_bytes` relieved, of `counts`, shape (stages, kinds)."""

    counts: NDArray[np.int64]
    excess_bytes: NDArray[np.int64]
    slack_ns: NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Sets:
    """All combinations by rising cost: `numbers`, shape (sizes, combinations), what they relieve and cost at least.

    `kinds[s]` are the kinds of a size, the cheapest first; `quickest` is the same by time alone, None without a limit.
    """

    choices: Choices
    kinds: tuple[tuple[int, ...], ...]
    numbers: NDArray[np.int16]
    relieved: NDArray[np.int64]
    costs: NDArray[np.int64]
    never: int
    quickest: Sets | None

    def least(self, needs: Needs) -> NDArray[np.int64]:
        """Return the cost of the cheapest set for each stage, shape (stages,), `never` where no set suffices.

        Raises:
            TableError: too many combinations would have to be looked at.
        """
        return self._priced(needs) if any(self.choices.units) else self._without_prices(needs)

    def _without_prices(self, needs: Needs) -> NDArray[np.int64]:
        """Return 0 for each stage that some set suffices for."""
        if needs.slack_ns is None:
            sizes = np.array(self.choices.relieved_bytes, dtype=np.int64)
            enough = needs.counts @ sizes >= needs.excess_bytes
        else:
            enough = self._quick_enough(needs, needs.slack_ns)
        return np.where(enough, 0, self.never).astype(self.costs.dtype)

    def _quick_enough(self, needs: Needs, slack_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for which stages some set that suffices is quick enough."""
        if self.quickest is None:
            raise TableError
        return self.quickest.least(replace(needs, slack_ns=None)) <= slack_ns

    def _priced(self, needs: Needs) -> NDArray[np.int64]:
        best = np.full(len(needs.excess_bytes), self.never, dtype=self.costs.dtype)
        if not len(best):
            return best
        counts = np.stack([needs.counts[:, list(kinds)].sum(axis=1) for kinds in self.kinds], axis=1)
        extras = [self._extras(kinds, needs.counts, self.choices.units) for kinds in self.kinds]
        longer = None if needs.slack_ns is None else self._longer(needs)
        places = np.searchsorted(self.costs, self._bounds(needs, counts))
        active = np.arange(len(best))
        if needs.slack_ns is not None:
            # Where not even the quickest set is quick enough, the list would be looked through in vain.
            active = np.flatnonzero(self._quick_enough(needs, needs.slack_ns))
        looked, step = 0, 32
        while len(active):
            part = active[: max(_LOOKS_AT_ONCE // step, 1)]
            looked += len(part) * step
            if looked > _MOST_LOOKS:
                raise TableError
            at = np.minimum(places[part][:, None] + np.arange(step)[None, :], len(self.costs) - 1)
            fits = self.relieved[at] >= needs.excess_bytes[part][:, None]
            costs = self.costs[at]
            for size, extra in enumerate(extras):
                numbers = self.numbers[size][at]
                fits &= numbers <= counts[part, size][:, None]
                if len(self.kinds[size]) > 1:
                    clipped = np.minimum(numbers, extra.shape[1] - 1)
                    costs = costs + extra[part[:, None], clipped]
            if longer is not None and needs.slack_ns is not None:
                times = sum(
                    table[part[:, None], np.minimum(self.numbers[size][at], table.shape[1] - 1)]
                    for size, table in enumerate(longer)
                )
                fits &= times <= needs.slack_ns[part][:, None]
            best[part] = np.minimum(best[part], np.where(fits, costs, self.never).min(axis=1))
            places[part] += step
            ended = places[part] >= len(self.costs)
            ended |= self.costs[np.minimum(places[part], len(self.costs) - 1)] >= best[part]
            rest = active[len(part) :]
            active = np.concatenate((part[~ended], rest))
            step = step if len(rest) else min(step * 2, 4096)
        return best

    def _extras(self, kinds: tuple[int, ...], counts: NDArray[np.int64], units: Sequence[int]) -> NDArray[np.int64]:
        """Return what so many of a size cost beyond the cheapest unit each, shape (stages, numbers)."""
        sums = self._sums(kinds, counts, units)
        return sums - np.arange(sums.shape[1]).astype(sums.dtype)[None, :] * units[kinds[0]]

    def _longer(self, needs: Needs) -> list[NDArray[np.int64]]:
        return [self._sums(kinds, needs.counts, self.choices.penalties_ns) for kinds in self.kinds]

    def _sums(self, kinds: tuple[int, ...], counts: NDArray[np.int64], units: Sequence[int]) -> NDArray[np.int64]:
        """Return the sum of so many units of a size, the cheapest first, shape (stages, numbers)."""
        numbers = np.arange(int(counts[:, list(kinds)].sum(axis=1).max()) + 1)
        sums = np.zeros((len(counts), len(numbers)), dtype=self.costs.dtype)
        before = np.zeros(len(counts), dtype=np.int64)
        for kind in kinds:
            taken = np.clip(numbers[None, :] - before[:, None], 0, counts[:, kind][:, None])
            sums = sums + taken.astype(self.costs.dtype) * units[kind]
            before = before + counts[:, kind]
        return sums

    def _bounds(self, needs: Needs, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a cost that no set for a stage is below: the fractional knapsack's, rounded down for safety."""
        least = [self.choices.units[kinds[0]] for kinds in self.kinds]
        if min(least) < 0:
            bounds = np.full(len(counts), self.costs[0], dtype=self.costs.dtype)
            if len(bounds) * len(self.costs) > _MOST_LOOKS:
                raise TableError
            return bounds
        sizes = [self.choices.relieved_bytes[kinds[0]] for kinds in self.kinds]
        left = np.maximum(needs.excess_bytes, 0).astype(np.float64)
        found = np.zeros(len(counts))
        for size in sorted(range(len(sizes)), key=lambda size: Fraction(least[size], sizes[size])):
            taken = np.minimum(left, counts[:, size].astype(np.float64) * sizes[size])
            found += taken * (least[size] / sizes[size])
            left -= taken
        floors = np.maximum(np.floor(found * (1 - 1e-12)) - 1, 0)
        return np.array([int(floor) for floor in floors], dtype=self.costs.dtype)


def sets_of(choices: Choices, never: int, dtype: type, *, slack: bool) -> Sets:
    """Return every combination of blocks of each size.

    Raises:
        TableError: there are too many.
    """
    sizes: dict[int, list[int]] = {}
    for kind, size in enumerate(choices.relieved_bytes):
        sizes.setdefault(size, []).append(kind)
    kinds = tuple(
        tuple(sorted(found, key=lambda kind: (choices.units[kind], choices.penalties_ns[kind])))
        for found in sizes.values()
    )
    most = [sum(choices.counts[kind] for kind in found) for found in kinds]
    combinations = prod(count + 1 for count in most)
    if combinations > _MOST_COMBINATIONS:
        raise TableError
    numbers = np.indices([count + 1 for count in most], dtype=np.int16).reshape(len(kinds), combinations)
    relieved = np.zeros(combinations, dtype=np.int64)
    costs: NDArray[np.int64] = np.zeros(combinations, dtype=dtype)
    for row, found in enumerate(kinds):
        relieved += numbers[row].astype(np.int64) * choices.relieved_bytes[found[0]]
        costs += numbers[row].astype(dtype) * choices.units[found[0]]
    order = np.argsort(costs, kind="stable")
    quickest = None
    if slack:
        by_time = replace(choices, units=choices.penalties_ns)
        quickest = sets_of(by_time, _NEVER, np.int64, slack=False)
    return Sets(choices, kinds, np.ascontiguousarray(numbers[:, order]), relieved[order], costs[order], never, quickest)
