"""How little can still be spent from a boundary to the end of a run on a machine, bytes in short memories priced.

With a price λ for each byte of a memory, a run that keeps to the memory's budget costs at least

    least over all runs of (cost + λ · bytes)  −  λ · budget

and the λ that makes this greatest is found by cutting planes: each answer is a line in λ, the next λ is where two meet.
Costs are rounded to floating point here: these figures bar what they exceed clearly, and never decide what is least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.states import TableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from solver.exact.machines.machine_runs import MachineRuns
    from solver.exact.machines.runs import State, Way
    from solver.exact.machines.trades import Trades

__all__ = ["Completions", "Priced", "priced_bounds"]

_MOST_CUTS = 12

# Least values with their costs and uses.
_Least = tuple["NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64]"]
# By state, then by port at its front: of holding from each boundary to the end.
_Rests = dict["State", dict[int, _Least]]


@dataclass(frozen=True, eq=False)
class Priced:
    """Prices of a byte in each memory, and the least value of what follows, by state and last port, by boundary."""

    prices: NDArray[np.float64]
    ahead: dict[tuple[State, int], NDArray[np.float64]]
    bound: float


@dataclass(frozen=True, eq=False)
class Completions:
    """A run to be held from `start` to `end`, entered and left by one way, on the devices of a machine."""

    runs: MachineRuns
    trades: tuple[Trades, ...]
    way: Way
    start: int
    end: int
    budgets: NDArray[np.float64]
    spent: Callable[[], bool]


def priced_bounds(run: Completions) -> tuple[list[Priced], list[Priced]] | None:
    """Return bounds on cost at several prices, the greatest last, and on bytes in each memory; None: nothing fits.

    Raises:
        TableError: the time is up.
    """
    count = len(run.budgets)
    free = np.zeros(count)
    needs = []
    for memory in range(count):
        prices = free.copy()
        prices[memory] = 1.0
        rests, (least, _, _) = _rests(run, 0.0, prices)
        if least > run.budgets[memory]:
            return None
        needs.append(Priced(prices, _ahead(run, rests, 0.0), least))
    found = [_priced(run, free)]
    for memory in range(count):
        found.extend(_cuts(run, memory))
    return sorted(found, key=lambda priced: priced.bound), needs


def _priced(run: Completions, prices: NDArray[np.float64]) -> Priced:
    rests, (least, _, _) = _rests(run, 1.0, prices)
    return Priced(prices, _ahead(run, rests, 1.0), least - float(prices @ run.budgets))


def _cuts(run: Completions, memory: int) -> list[Priced]:
    """Return bounds at the prices of one memory that cutting planes lead through, towards the greatest."""
    budget = run.budgets[memory]
    unit = np.zeros(len(run.budgets))
    unit[memory] = 1.0
    _, (_, cost, uses) = _rests(run, 1.0, 0.0 * unit)
    cheap = cost, uses[memory]
    if cheap[1] <= budget:
        return []
    _, (_, cost, uses) = _rests(run, 0.0, unit)
    small = cost, uses[memory]
    best: Priced | None = None
    for _ in range(_MOST_CUTS):
        if cheap[1] <= small[1]:
            break
        price = max((small[0] - cheap[0]) / (cheap[1] - small[1]), 0.0)
        rests, (least, cost, uses) = _rests(run, 1.0, unit * price)
        bound = least - price * budget
        if best is None or bound > best.bound:
            best = Priced(unit * price, _ahead(run, rests, 1.0), bound)
        if least >= cheap[0] + price * cheap[1] - 1e-9 * abs(least):
            break
        if uses[memory] > budget:
            cheap = cost, uses[memory]
        else:
            small = cost, uses[memory]
    return [] if best is None else [best]


def _rests(
    run: Completions, cost_price: float, prices: NDArray[np.float64]
) -> tuple[_Rests, tuple[float, float, NDArray[np.float64]]]:
    """Return what is left of all runs at these prices, and the least of the whole: value, cost and uses."""
    runs, items = run.runs, len(run.trades[0].first) - 1
    tables = [_cheapest(trades, cost_price, prices, items) for trades in run.trades]
    rests: _Rests = {}
    for state in runs.steps.states:
        if run.spent():
            raise TableError
        found = rests.setdefault(state, {})
        for before, device in runs.steps.into[state]:
            value, cost, uses = tables[device]
            port = runs.costs.ports[device]
            if before is None:
                if port == run.way.last:
                    _lower(found, port, (value[:, run.end], cost[:, run.end], uses[:, :, run.end]))
                continue
            for first, rest in rests[before].items():
                hop = runs.costs.inside.get((port, first), runs.prices.never)
                if hop < runs.prices.never:
                    _lower(found, port, _joined(tables[device], hop, cost_price, rest))
    ways = [table[run.way.first] for table in rests.values() if run.way.first in table]
    best = min(ways, key=lambda way: float(way[0][run.start]), default=None)
    if best is None:
        return rests, (np.inf, np.inf, np.full(len(prices), np.inf))
    return rests, (float(best[0][run.start]), float(best[1][run.start]), best[2][:, run.start])


def _joined(stage: _Least, hop: int, cost_price: float, rest: _Least) -> _Least:
    """Return a stage, a hop and what is left behind it, at the best cut for each start."""
    sums = stage[0] + (rest[0] + hop * cost_price)[None, :]
    cut = sums.argmin(axis=1)
    rows = np.arange(len(cut))
    return sums[rows, cut], stage[1][rows, cut] + hop + rest[1][cut], stage[2][:, rows, cut] + rest[2][:, cut]


def _lower(found: dict[int, _Least], port: int, fresh: _Least) -> None:
    if port not in found:
        found[port] = fresh
        return
    known = found[port]
    less = fresh[0] < known[0]
    found[port] = (
        np.where(less, fresh[0], known[0]),
        np.where(less, fresh[1], known[1]),
        np.where(less[None, :], fresh[2], known[2]),
    )


def _cheapest(
    trades: Trades, cost_price: float, prices: NDArray[np.float64], items: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the least value of each stage, with its cost and uses, by start and end."""
    costs, uses = trades.costs.astype(np.float64), trades.uses.astype(np.float64)
    values = costs * cost_price + prices @ uses
    order = np.argsort(-values, kind="stable")
    shape = (items, items)
    value, cost = np.full(shape, np.inf), np.full(shape, np.inf)
    used = np.full((len(prices), *shape), np.inf)
    at = trades.starts[order], trades.ends[order]
    # Of equal places the last one written stays: the least value.
    value[at], cost[at] = values[order], costs[order]
    used[:, at[0], at[1]] = uses[:, order]
    return value, cost, used


def _ahead(run: Completions, rests: _Rests, cost_price: float) -> dict[tuple[State, int], NDArray[np.float64]]:
    """Return the least value of what can follow a state left by a port, nothing where it ends as it should."""
    runs = run.runs
    items = len(run.trades[0].first) - 1
    ports = sorted(set(runs.costs.ports))
    found = {(state, port): np.full(items, np.inf) for state in rests for port in ports}
    for state in rests:
        if run.spent():
            raise TableError
        found[state, run.way.last][run.end] = 0.0
        for following, table in rests.items():
            if not runs.machine.apart(state.cards, following.cards):
                continue
            for first, (value, _, _) in table.items():
                for port in ports:
                    hop = runs.costs.inside.get((port, first), runs.prices.never)
                    if hop < runs.prices.never:
                        best = found[state, port]
                        np.minimum(best, value + hop * cost_price, out=best)
    return found
