"""The one answer among equals on one machine whose memories are nearly full: of every run of the least cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.exact.machines.tight import every_cheapest
from solver.exact.machines.weighing import machine_trades
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from solver.exact.machines.machine_runs import MachineRuns
    from solver.exact.machines.search import Found
    from solver.exact.machines.stages import StageCosts
    from solver.exact.machines.trades import Trades
    from solver.problem import Problem

__all__ = ["first_of_equals"]

_Run = tuple[tuple[int, int], ...]


def first_of_equals(found: Found, least: int, spent: Callable[[], bool]) -> Placement | None:
    """Return the canonical placement of the least cost, None where there is more than one machine or nothing to weigh.

    Raises:
        TableError: the time is up, or there are too many equals.
    """
    chains, problem = found.chains, found.search.problem
    runs = chains.runs[0]
    if len(chains.runs) > 1 or len(runs.machine.members) > 1 or not runs.uses or runs.budget_bytes is not None:
        return None
    trades = machine_trades(runs)
    if trades is None or any(rank is not None for rank in runs.steps.ranks):
        return None
    budgets = [use.budget_bytes for use in runs.uses]
    equals = [
        run for way in runs.ways for run in every_cheapest(runs, trades, budgets, way, 0, chains.items, least, spent)
    ]
    names = runs.machine.members[0]
    class_of = {member.name: number for number, group in enumerate(problem.classes) for member in group.members}
    equals = _first(equals, lambda run: [class_of[names[device]] for device, _ in run])
    equals = _first(equals, lambda run: [-int(trades[device].ends[trade]) for device, trade in run])
    if not equals:
        return None
    left = min((_left(runs, trades, run) for run in equals), key=lambda sets: _kept(sets, chains.items))
    seats = _seated(problem, [names[device] for device, _ in equals[0]])
    if seats is None:
        return None
    stages = []
    for (device, trade), name, chosen in zip(equals[0], seats, left, strict=True):
        stages.append(Stage(int(trades[device].starts[trade]), int(trades[device].ends[trade]), name, chosen))
    return Placement(tuple(stages))


def _first(equals: list[_Run], key: Callable[[_Run], list[int]]) -> list[_Run]:
    """Return the runs for which the key is the least."""
    keys = [key(run) for run in equals]
    least = min(keys, default=[])
    return [run for run, found in zip(equals, keys, strict=True) if found == least]


def _left(runs: MachineRuns, trades: tuple[Trades, ...], run: _Run) -> list[tuple[int, ...]]:
    """Return what each stage leaves with the host: of equal mixes the one with the earliest blocks."""
    return [_earliest(runs.costs.stages[device], trades[device], trade) for device, trade in run]


def _earliest(stage: StageCosts, trades: Trades, trade: int) -> tuple[int, ...]:
    """Return the earliest blocks among mixes that relieve the device as much at the same cost."""
    if stage.sets is None or not trades.numbers[:, trade].any():
        return ()
    choices, numbers = stage.sets.choices, trades.numbers[:, trade]
    start, end = int(trades.starts[trade]), int(trades.ends[trade])
    there = [sum(kind == number for kind in trades.kind_of[start:end]) for number in range(len(numbers))]
    weight = sum(int(number) * size for number, size in zip(numbers, choices.relieved_bytes, strict=True))
    price = sum(int(number) * unit for number, unit in zip(numbers, choices.units, strict=True))
    mixes = _mixes(weight, price, choices.relieved_bytes, choices.units, there)
    return min(
        (trades.earliest(start, end, mix) for mix in mixes),
        key=lambda chosen: _kept([chosen], end),
    )


def _mixes(
    weight: int, price: int, sizes: Sequence[int], units: Sequence[int], there: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of each kind, of those that there are, which weigh and cost exactly so much."""
    if not there:
        if weight == price == 0:
            yield ()
        return
    for number in range(there[0] + 1):
        if number * sizes[0] > weight or number * units[0] > price:
            break
        rest = _mixes(weight - number * sizes[0], price - number * units[0], sizes[1:], units[1:], there[1:])
        yield from ((number, *others) for others in rest)


def _kept(sets: Sequence[tuple[int, ...]], items: int) -> list[bool]:
    """Return of each block whether it is not left with a host."""
    left = {index for chosen in sets for index in chosen}
    return [index not in left for index in range(items)]


def _seated(problem: Problem, names: list[str]) -> list[str] | None:
    """Return the lowest-numbered node of each device's class that is free in turn, None where none is."""
    seats: list[str] = []
    cards: set[str] = set()
    for name in names:
        group = next(group for group in problem.classes if any(member.name == name for member in group.members))
        free = (member for member in group.members if member.name not in seats and cards.isdisjoint(member.cards))
        seat = next(free, None)
        if seat is None:
            return None
        seats.append(seat.name)
        cards.update(seat.cards)
    return seats
