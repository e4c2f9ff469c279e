"""Chains of machines: the least cost of all items by how many machines of each class are used, and by their number.

    rest[counts, m, first][a] = min over ways out and b of  run_m[first, last][a, b] + hop + rest[counts − 1 of m, …][b]

The recursion of `solver.exact.chain` with runs of machines in place of stages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from solver.errors import AuditError
from solver.exact.machines.algebra import nowhere, through
from solver.exact.states import States, TableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from solver.exact.machines.hops import Hops
    from solver.exact.machines.machine_runs import MachineRuns
    from solver.exact.machines.runs import Way
    from solver.exact.machines.seats import Seat
    from solver.exact.machines.stages import Prices

__all__ = ["Chains", "Label", "chains_of"]


class Label(NamedTuple):
    """The machine that comes first in what is left, the port it is entered by, the least place in the order taken."""

    machine: int
    port: int
    lowest: int | None


@dataclass(frozen=True, slots=True)
class Chains:
    """What one search found. `tables[j][label]`, shape (states of level j, items + 1), are costs of what is left."""

    runs: tuple[MachineRuns, ...]
    hops: Hops
    prices: Prices
    states: States
    items: int
    tables: tuple[dict[Label, NDArray[np.int64]], ...]

    def hop(self, before: Seat, seat: Seat) -> int:
        """Return what the hop from one device to another costs."""
        out, into = (self.runs[each.machine].costs.ports[each.device] for each in (before, seat))
        if before[:2] == seat[:2]:
            return self.runs[seat.machine].costs.inside.get((out, into), self.prices.never)
        return self.hops.between.get(((before.machine, out), (seat.machine, into)), self.prices.never)

    def least(self, level: int) -> int | None:
        """Return the least cost on so many machines, or None where nothing holds all items."""
        costs = [int(table[:, 0].min()) for table in self.tables[level].values() if len(table)]
        least = min(costs, default=self.prices.never)
        return None if least >= self.prices.never else least

    def runs_of(self, level: int) -> list[tuple[int, Way, int, int]]:
        """Return the runs (machine, way, start, end) of a cheapest chain on so many machines, from the front."""
        least = self.least(level)
        label, row = next(
            (label, int(np.argmin(table[:, 0])))
            for label, table in self.tables[level].items()
            if len(table) and int(table[:, 0].min()) == least
        )
        found: list[tuple[int, Way, int, int]] = []
        start = 0
        while True:
            way, end, following, row = self._step(level, label, row, start)
            found.append((label.machine, way, start, end))
            if following is None:
                return found
            level, label, start = level - 1, following, end

    def _step(self, level: int, label: Label, row: int, start: int) -> tuple[Way, int, Label | None, int]:
        """Return the way and end of the first run of what is left, and what comes behind it."""
        target = self.tables[level][label][row, start]
        source = int(self.states.sources[level][label.machine, row])
        for way, values in self.runs[label.machine].ways.items():
            if way.first != label.port:
                continue
            if level == 1:
                if values[start, -1] == target:
                    return way, self.items, None, 0
                continue
            place = int(np.searchsorted(self.states.levels[level - 1], source))
            for following, table in self.tables[level - 1].items():
                hop = self.hops.between.get(((label.machine, way.last), (following.machine, following.port)))
                if hop is None or hop >= self.prices.never or not in_turn(way, following.lowest):
                    continue
                if lowest_of(way, following.lowest) != label.lowest:
                    continue
                ends = np.flatnonzero(values[start] + hop + table[place] == target)
                if len(ends):
                    return way, int(ends[-1]), following, place
        raise AuditError("no runs add up to the cost of a chain")


def in_turn(way: Way, lowest: int | None) -> bool:
    """Return whether a run may come before what takes places in the order from `lowest` on."""
    return way.highest is None or lowest is None or way.highest < lowest


def lowest_of(way: Way, lowest: int | None) -> int | None:
    """Return the least place in the order that a run and what follows it take."""
    return way.lowest if way.lowest is not None else lowest


def chains_of(
    runs: tuple[MachineRuns, ...],
    hops: Hops,
    prices: Prices,
    states: States,
    items: int,
    most: int,
    spent: Callable[[], bool],
) -> Chains:
    """Return the least costs on up to so many machines.

    Raises:
        TableError: the time is up.
    """
    tables: list[dict[Label, NDArray[np.int64]]] = [{}]
    chains = Chains(runs, hops, prices, states, items, ())
    for level in range(1, min(most, len(states.levels) - 1) + 1):
        found: dict[Label, NDArray[np.int64]] = {}
        for machine in range(len(runs)):
            if spent():
                raise TableError
            _add_machine(chains, level, machine, tables[-1], found)
        tables.append(found)
    return Chains(runs, hops, prices, states, items, tuple(tables))


def _add_machine(
    chains: Chains,
    level: int,
    machine: int,
    before: dict[Label, NDArray[np.int64]],
    found: dict[Label, NDArray[np.int64]],
) -> None:
    """Add what is left with one machine coming first."""
    states, never = chains.states, chains.prices.never
    sources = states.sources[level][machine]
    there = np.flatnonzero(sources < states.size)
    if not len(there):
        return
    places = np.searchsorted(states.levels[level - 1], sources[there])
    arrivals: dict[tuple[int, int | None], NDArray[np.int64] | None] = {}
    for way, values in chains.runs[machine].ways.items():
        lows: set[int | None] = {None} if level == 1 else {label.lowest for label in before}
        for low in lows:
            if not in_turn(way, low):
                continue
            key = (way.last, low)
            if key not in arrivals:
                arrivals[key] = _arrival(chains, level, (machine, way.last), low, places, before)
            rest = arrivals[key]
            if rest is None:
                continue
            label = Label(machine, way.first, lowest_of(way, low))
            if label not in found:
                found[label] = nowhere((len(sources), chains.items + 1), chains.prices)
            reached = through(rest, values.T, never)
            found[label][there] = np.minimum(found[label][there], reached)


def _arrival(
    chains: Chains,
    level: int,
    left: tuple[int, int],
    low: int | None,
    places: NDArray[np.intp],
    before: dict[Label, NDArray[np.int64]],
) -> NDArray[np.int64] | None:
    """Return the least cost of the hop and what follows behind a run left by one port, by state and boundary."""
    never = chains.prices.never
    if level == 1:
        rest = nowhere((len(places), chains.items + 1), chains.prices)
        rest[:, -1] = 0
        return rest
    best: NDArray[np.int64] | None = None
    for label, table in before.items():
        hop = chains.hops.between.get((left, (label.machine, label.port)))
        if label.lowest != low or hop is None or hop >= never:
            continue
        reached = np.minimum(table[places] + hop, never)
        best = reached if best is None else np.minimum(best, reached)
    return best
