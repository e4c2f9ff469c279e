"""Chains whose runs keep to all memories of their machines: what a cheapest chain takes is weighed until it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.exact.machines.tight import tightest
from solver.exact.machines.trades import trades_of
from solver.exact.states import TableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.exact.machines.chains import Chains
    from solver.exact.machines.machine_runs import MachineRuns
    from solver.exact.machines.runs import Way
    from solver.exact.machines.trades import Trades

__all__ = ["machine_trades", "weighed"]

_MOST_ROUNDS = 200


def weighed(chained: Callable[[], Chains], spent: Callable[[], bool]) -> Chains:
    """Return chains whose least cost is that of a placement, or as near to it as can be told.

    Raises:
        TableError: the time is up.
    """
    trades: dict[int, tuple[Trades, ...] | None] = {}
    chains = chained()
    for _ in range(_MOST_ROUNDS):
        costs = [cost for level in range(len(chains.tables)) if (cost := chains.least(level)) is not None]
        if not costs:
            break
        level = next(number for number in range(len(chains.tables)) if chains.least(number) == min(costs))
        fresh = [
            _weigh(chains.runs[machine], machine, trades, (way, start, end), chains.prices.never, spent)
            for machine, way, start, end in chains.runs_of(level)
        ]
        if not any(fresh):
            break
        chains = chained()
    return chains


def _weigh(
    runs: MachineRuns,
    machine: int,
    trades: dict[int, tuple[Trades, ...] | None],
    run: tuple[Way, int, int],
    never: int,
    spent: Callable[[], bool],
) -> bool:
    """Find out what a run costs, if that can be told and is not known; return whether it costs more than thought."""
    if not runs.uses or run in runs.known or any(rank is not None for rank in runs.steps.ranks):
        return False
    way, start, end = run
    if machine not in trades:
        trades[machine] = machine_trades(runs)
    found = trades[machine]
    if found is None:
        return False
    budgets = [use.budget_bytes for use in runs.uses]
    tight = tightest(runs, found, budgets, way, start, end, spent)
    runs.known[run] = tight
    least = never if tight.least is None else tight.least
    if runs.budget_bytes is not None:
        # The cost is the use of a memory, and nothing outside of the machine.
        least = 0 if tight.least is not None and tight.least <= runs.budget_bytes else never
    before = int(runs.ways[way][start, end])
    if least > before:
        runs.ways[way] = runs.ways[way].copy()
        runs.ways[way][start, end] = least
    return least > before


def machine_trades(runs: MachineRuns) -> tuple[Trades, ...] | None:
    """Return the trades of every device of a machine, None where they are not to be had."""
    found = []
    try:
        for number, device in enumerate(runs.machine.devices):
            factors, uses = [], []
            for use in runs.uses:
                stage = use.costs.stages[number]
                resource = stage.prices.resource
                leaving = device.kind.width if device.kind.host == resource else 0
                factors.append(leaving - (resource in device.kind.draws))
                uses.append(stage.base)
            found.append(trades_of(runs.costs.stages[number], uses, factors))
    except TableError:
        return None
    return tuple(found)
