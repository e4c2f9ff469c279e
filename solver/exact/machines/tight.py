"""The least cost of a run on a machine whose memories are nearly full, where cost and use must be weighed together.

Runs grow stage by stage from the front. Of those that occupy the same cards, end at the same boundary and leave by the
same port, one that costs no less and puts no less into each memory than another is dropped, and so is what can no
longer end below a ceiling, which starts near the greatest bound at fixed prices (see `completions`) and rises until a
run is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.machines.completions import Completions, priced_bounds
from solver.exact.machines.labels import Labels, joined, undominated
from solver.exact.states import TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from solver.exact.machines.completions import Priced
    from solver.exact.machines.machine_runs import MachineRuns
    from solver.exact.machines.runs import State, Way
    from solver.exact.machines.trades import Trades

__all__ = ["Tight", "every_cheapest", "tightest"]

_MOST_LABELS = 3_000_000
_MOST_EQUALS = 20_000
# A ceiling is so much above the bound at first, as a share of it, and then so many times as much.
_FIRST_STEP = 1e-4
_GROWTH = 4.0
# Floating point may err by less than this share of what is added up.
_SAFETY = 1e-11


@dataclass(frozen=True, slots=True)
class Tight:
    """What is known of a run: no cost is below `least`, None where it cannot be; its stages where that is attained."""

    least: int | None
    stages: tuple[tuple[int, int, int, tuple[int, ...]], ...] | None


def tightest(
    runs: MachineRuns,
    trades: tuple[Trades, ...],
    budgets: Sequence[int],
    way: Way,
    start: int,
    end: int,
    spent: Callable[[], bool],
) -> Tight:
    """Return the least cost of a run that keeps to the budgets of all memories of its machine.

    Raises:
        TableError: the time is up.
    """
    run = Completions(runs, trades, way, start, end, np.array(budgets, dtype=np.float64), spent)
    found = priced_bounds(run)
    if found is None or not np.isfinite(found[0][-1].bound):
        return Tight(None, None)
    bounds, needs = found
    safe = _safe(run, bounds)
    floor = max(int(np.ceil(bounds[-1].bound - safe)), 0)
    step = max(floor * _FIRST_STEP, 1.0)
    top = _most(runs, trades)
    while True:
        search = _Search(run, bounds, needs, floor + int(step), safe)
        try:
            best = search.best()
        except _TooManyError:
            return Tight(floor, None)
        if best is not None:
            return best
        floor = search.ceiling + 1
        if floor > top:
            return Tight(None, None)
        step *= _GROWTH


def every_cheapest(
    runs: MachineRuns,
    trades: tuple[Trades, ...],
    budgets: Sequence[int],
    way: Way,
    start: int,
    end: int,
    least: int,
    spent: Callable[[], bool],
) -> list[tuple[tuple[int, int], ...]]:
    """Return every run of the least cost, as devices with their trades; of equal mixes of a stage one.

    Raises:
        TableError: the time is up, or there are too many.
    """
    run = Completions(runs, trades, way, start, end, np.array(budgets, dtype=np.float64), spent)
    found = priced_bounds(run)
    if found is None:
        return []
    search = _Search(run, *found, least, _safe(run, found[0]))
    try:
        return search.every()
    except _TooManyError:
        raise TableError from None


def _safe(run: Completions, bounds: list[Priced]) -> float:
    """Return more than floating point errs by in these bounds."""
    scale = sum(float(abs(priced.prices @ run.budgets)) for priced in bounds) + abs(bounds[-1].bound) + 1.0
    return scale * _SAFETY + 1.0


def _most(runs: MachineRuns, trades: tuple[Trades, ...]) -> int:
    """Return a cost that no run is above."""
    hops = [hop for hop in runs.costs.inside.values() if hop < runs.prices.never]
    stages = sum(max((int(cost) for cost in each.costs), default=0) for each in trades)
    return stages + len(trades) * max(hops, default=0)


class _TooManyError(Exception):
    """There are more beginnings below a ceiling than are looked at."""


class _Search:
    """All beginnings that can still end at or below a ceiling."""

    def __init__(self, run: Completions, bounds: list[Priced], needs: list[Priced], ceiling: int, safe: float) -> None:
        self.run = run
        self.bounds = bounds
        self.needs = needs
        self.ceiling = min(ceiling, run.runs.prices.never)
        self.safe = safe
        # Which state and device a label comes from, by number.
        self.sources: list[tuple[tuple[State, int] | None, int]] = []
        self.labels: dict[tuple[State, int], Labels] = {}
        self.count = 0

    def best(self) -> Tight | None:
        """Return the least cost at or below the ceiling with its stages, None where there is none."""
        found: tuple[int, tuple[State, int], int] | None = None
        for key, labels, ended in self._ended(undominated):
            at = int(ended[np.argmin(labels.costs[ended])])
            if found is None or int(labels.costs[at]) < found[0]:
                found = int(labels.costs[at]), key, at
        if found is None:
            return None
        stages = (
            (device, int(trades.starts[trade]), int(trades.ends[trade]), trades.left(trade))
            for device, trade in self._taken(found[1], found[2])
            for trades in (self.run.trades[device],)
        )
        return Tight(found[0], tuple(stages))

    def every(self) -> list[tuple[tuple[int, int], ...]]:
        """Return the devices and trades of every run at or below the ceiling."""
        found: list[tuple[tuple[int, int], ...]] = []
        for key, _, ended in self._ended(lambda labels: labels):
            if len(found) + len(ended) > _MOST_EQUALS:
                raise _TooManyError
            found.extend(self._taken(key, int(at)) for at in ended)
        return found

    def _ended(
        self, reduced: Callable[[Labels], Labels]
    ) -> Iterator[tuple[tuple[State, int], Labels, NDArray[np.intp]]]:
        """Yield where runs have come to their end: state and port, labels, and which of them."""
        run, runs = self.run, self.run.runs
        for state in runs.steps.states:
            if run.spent():
                raise TableError
            fresh: dict[int, list[Labels]] = {}
            for before, device in runs.steps.into[state]:
                port = runs.costs.ports[device]
                fresh.setdefault(port, []).extend(self._grown(before, device, state))
            for port, parts in fresh.items():
                if not parts:
                    continue
                labels = reduced(joined(parts))
                self.labels[state, port] = labels
                self.count += len(labels.ends)
                if self.count > _MOST_LABELS:
                    raise _TooManyError
                ended = np.flatnonzero(labels.ends == run.end)
                if port == run.way.last and len(ended):
                    yield (state, port), labels, ended

    def _grown(self, before: State | None, device: int, state: State) -> list[Labels]:
        """Return what becomes of all beginnings at one state with a stage on one more device."""
        run, runs = self.run, self.run.runs
        port = runs.costs.ports[device]
        if before is None:
            if port != run.way.first:
                return []
            zero = np.zeros(1, dtype=np.int64)
            none = np.zeros((len(run.budgets), 1), dtype=np.int64)
            self.sources.append((None, device))
            start = np.array([run.start])
            part = self._with_stage(start, zero.astype(runs.prices.dtype), none, zero, 0, device, state)
            return [] if part is None else [part]
        parts = []
        for last in sorted(set(runs.costs.ports)):
            labels, hop = self.labels.get((before, last)), runs.costs.inside.get((last, port), runs.prices.never)
            if labels is None or hop >= runs.prices.never:
                continue
            self.sources.append(((before, last), device))
            places = np.argsort(labels.ends, kind="stable")
            bounds = np.searchsorted(labels.ends[places], np.arange(run.start, run.end + 1))
            for low, high in pairwise(bounds):
                for begin in range(int(low), int(high), 4096):
                    at = places[begin : min(begin + 4096, int(high))]
                    part = self._with_stage(
                        labels.ends[at], labels.costs[at], labels.uses[:, at], at, hop, device, state
                    )
                    if part is not None:
                        parts.append(part)
        return parts

    def _with_stage(
        self,
        ends: NDArray[np.int64],
        costs: NDArray[np.int64],
        uses: NDArray[np.int64],
        places: NDArray[np.int64],
        hop: int,
        device: int,
        state: State,
    ) -> Labels | None:
        """Return beginnings at one boundary with each stage that starts there, as far as they can still end well."""
        run, trades = self.run, self.run.trades[device]
        first, last = int(trades.first[ends[0]]), int(trades.first[ends[0] + 1])
        reach = np.flatnonzero(trades.ends[first:last] <= run.end) + first
        if not len(reach):
            return None
        port = run.runs.costs.ports[device]
        after = trades.ends[reach]
        total = costs[:, None] + (trades.costs[reach] + hop)[None, :]
        used = uses[:, :, None] + trades.uses[:, reach][:, None, :]
        keeps = total <= self.ceiling
        for memory, need in enumerate(self.needs):
            keeps &= used[memory] + need.ahead[state, port][after][None, :] <= run.budgets[memory]
        shown = total.astype(np.float64)
        for bound in self.bounds:
            weighed = shown + np.tensordot(bound.prices, used - run.budgets[:, None, None], axes=1)
            keeps &= weighed + bound.ahead[state, port][after][None, :] <= self.ceiling + self.safe
        rows, columns = np.nonzero(keeps)
        if not len(rows):
            return None
        source = np.full(len(rows), len(self.sources) - 1, dtype=np.int64)
        return Labels(
            after[columns], total[rows, columns], used[:, rows, columns], places[rows], reach[columns], source
        )

    def _taken(self, key: tuple[State, int], at: int) -> tuple[tuple[int, int], ...]:
        """Return the devices with their trades that a label stands for."""
        taken: list[tuple[int, int]] = []
        following: tuple[State, int] | None = key
        while following is not None:
            labels = self.labels[following]
            trade = int(labels.trades[at])
            following, device = self.sources[int(labels.sources[at])]
            taken.insert(0, (device, trade))
            at = int(labels.before[at])
        return tuple(taken)
