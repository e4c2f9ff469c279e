"""Runs of items on one machine: the least cost by start and end, over all orders of any of its devices.

    cost[cards, first, last][a, b] =
        min over devices d of last and cuts c of  cost[cards − d, first, any][a, c] + hop + stage_d[c, b]

`cards` are the cards occupied; of sets that differ by twin cards one stands for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from solver.exact.machines.algebra import through
from solver.exact.states import TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from solver.exact.machines.fleet import Machine
    from solver.exact.machines.stages import Prices, StageCosts

__all__ = ["MachineCosts", "State", "Steps", "Tables", "Way", "arrived", "run_tables", "steps_of"]

_MOST_STEPS = 60_000


class State(NamedTuple):
    """The cards that a run occupies, and the least and greatest place in the order asked for that it has taken."""

    cards: int
    lowest: int | None
    highest: int | None


class Way(NamedTuple):
    """How a run can be entered and left: its first and last port, and its places in the order asked for."""

    first: int
    last: int
    lowest: int | None
    highest: int | None


# By state, then by first and last port: costs by start and end.
Tables = dict[State, "dict[tuple[int, int], NDArray[np.int64]]"]


@dataclass(frozen=True, slots=True)
class Steps:
    """Every state by cards occupied, with the steps that lead to it: a state before (None: none) and a device."""

    states: tuple[State, ...]
    into: dict[State, tuple[tuple[State | None, int], ...]]
    ranks: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class MachineCosts:
    """What a search of one machine goes by: costs of stages by device, ports by device, costs of hops inside."""

    stages: tuple[StageCosts, ...]
    ports: tuple[int, ...]
    inside: dict[tuple[int, int], int]


def steps_of(machine: Machine, order: Sequence[str], most: int) -> Steps:
    """Return the states of a machine that at most so many stages lead to.

    Raises:
        TableError: there are too many.
    """
    places = {name: place for place, name in enumerate(order)}
    ranks = tuple(places.get(name) for name in machine.members[0])
    into: dict[State, list[tuple[State | None, int]]] = {}
    level: list[State | None] = [None]
    states: dict[State, None] = {}
    while level and most:
        most -= 1
        following: dict[State, None] = {}
        for state in level:
            for device, reached in _steps(machine, state, ranks):
                into.setdefault(reached, []).append((state, device))
                following[reached] = None
        if sum(len(found) for found in into.values()) > _MOST_STEPS:
            raise TableError
        fresh = [state for state in following if state not in states]
        states.update(dict.fromkeys(fresh))
        level = list(fresh)
    return Steps(
        tuple(sorted(states, key=lambda state: state.cards.bit_count())),
        {state: tuple(dict.fromkeys(found)) for state, found in into.items()},
        ranks,
    )


def _steps(machine: Machine, state: State | None, ranks: tuple[int | None, ...]) -> list[tuple[int, State]]:
    """Return the devices that can come next, one of those that are alike, and the states that they lead to."""
    cards = 0 if state is None else state.cards
    highest = None if state is None else state.highest
    lowest = None if state is None else state.lowest
    found: list[tuple[int, State]] = []
    for number, device in enumerate(machine.devices):
        rank = ranks[number]
        if device.cards & cards or (rank is not None and highest is not None and rank < highest):
            continue
        reached = cards | device.cards
        if not machine.is_first_of_equals(reached):
            continue
        high = rank if rank is not None else highest
        low = lowest if lowest is not None else rank
        found.append((number, State(reached, low, high)))
    return found


def run_tables(steps: Steps, costs: MachineCosts, prices: Prices, spent: Callable[[], bool]) -> Tables:
    """Return the least costs by state.

    Raises:
        TableError: the time is up.
    """
    tables: Tables = {}
    arrivals: dict[tuple[State, int, int], NDArray[np.int64]] = {}
    for state in steps.states:
        if spent():
            raise TableError
        found: dict[tuple[int, int], NDArray[np.int64]] = {}
        for before, device in steps.into[state]:
            port, stage = costs.ports[device], costs.stages[device].costs
            if before is None:
                _lower(found, (port, port), stage)
                continue
            for first in {first for first, _ in tables[before]}:
                key = (before, first, port)
                if key not in arrivals:
                    arrivals[key] = arrived(tables[before], first, port, costs, prices)
                _lower(found, (first, port), through(arrivals[key], stage, prices.never))
        tables[state] = found
    return tables


def arrived(
    table: dict[tuple[int, int], NDArray[np.int64]], first: int, port: int, costs: MachineCosts, prices: Prices
) -> NDArray[np.int64]:
    """Return the least cost of a run and the hop to a port, by start and end of the run."""
    best: NDArray[np.int64] | None = None
    for (entered, last), values in table.items():
        hop = costs.inside.get((last, port), prices.never)
        if entered == first and hop < prices.never:
            reached = np.minimum(values + hop, prices.never)
            best = reached if best is None else np.minimum(best, reached)
    if best is None:
        return np.full_like(next(iter(table.values())), prices.never)
    return best


def _lower(found: dict[tuple[int, int], NDArray[np.int64]], key: tuple[int, int], values: NDArray[np.int64]) -> None:
    found[key] = np.minimum(found[key], values) if key in found else values
