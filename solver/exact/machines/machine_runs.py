"""One machine in a search: the least costs of its runs within what its devices share, and the stages behind a cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from solver.errors import AuditError
from solver.exact.machines.runs import MachineCosts, State, Way, run_tables
from solver.exact.machines.stages import stage_costs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from solver.exact.machines.fleet import Machine
    from solver.exact.machines.hops import Hops
    from solver.exact.machines.runs import Steps, Tables
    from solver.exact.machines.sets import Sets
    from solver.exact.machines.stages import Prices, StageCosts
    from solver.exact.machines.tight import Tight
    from solver.limits import Limits
    from solver.problem import Problem

__all__ = ["MachineRuns", "Use", "machine_runs"]


@dataclass(frozen=True, slots=True)
class Use:
    """What runs put at least into a resource that could be short: as `tables` and `costs` of a machine's runs."""

    tables: Tables
    costs: MachineCosts
    budget_bytes: int
    never: int


@dataclass(frozen=True, slots=True)
class MachineRuns:
    """Costs of all runs on a machine: by state, and by how they are entered and left; what `ways` hold is outside's.

    `tables` bar runs that exceed a resource however they are arranged; `parts` bar none. The cheapest way to a run that
    is not barred may begin with one that is: both are least figures, of different arrangements. `known` are runs for
    which cost and use were weighed together, and what `ways` hold of them is their least cost. `budget_bytes` is that
    of the resource whose use is the cost, None where it is not.
    """

    machine: Machine
    steps: Steps
    costs: MachineCosts
    prices: Prices
    tables: Tables
    parts: Tables
    ways: dict[Way, NDArray[np.int64]]
    uses: tuple[Use, ...]
    budget_bytes: int | None
    known: dict[tuple[Way, int, int], Tight]

    def stages_of(self, way: Way, start: int, end: int) -> list[tuple[int, int, int, tuple[int, ...]]]:
        """Return the stages (device, start, end, left with the host) of a cheapest run."""
        known = self.known.get((way, start, end))
        if known is not None and known.stages is not None:
            return list(known.stages)
        return [
            (device, first, last, self.costs.stages[device].offloaded(first, last))
            for device, first, last in self._arranged(way, start, end)
        ]

    def _arranged(self, way: Way, start: int, end: int) -> list[tuple[int, int, int]]:
        state, key = min(
            (
                (state, key)
                for state, table in self.tables.items()
                for key in table
                if way_of(state, key) == way and table[key][start, end] < self.prices.never
            ),
            key=lambda found: self.tables[found[0]][found[1]][start, end],
        )
        stages: list[tuple[int, int, int]] = []
        while True:
            device, before, last, cut = self._step_before(state, key, start, end)
            stages.insert(0, (device, cut, end))
            if before is None:
                return stages
            state, key, end = before, (key[0], last), cut

    def _step_before(
        self, state: State, key: tuple[int, int], start: int, end: int
    ) -> tuple[int, State | None, int, int]:
        """Return the last device of a run, the state, last port and end of what comes before it."""
        target = self.parts[state][key][start, end]
        for before, device in self.steps.into[state]:
            port, stage = self.costs.ports[device], self.costs.stages[device].costs
            if port != key[1]:
                continue
            if before is None:
                if port == key[0] and stage[start, end] == target:
                    return device, None, port, start
                continue
            for (first, last), values in self.parts[before].items():
                hop = self.costs.inside.get((last, port), self.prices.never)
                if first != key[0] or hop >= self.prices.never:
                    continue
                cuts = np.flatnonzero(values[start] + hop + stage[:, end] == target)
                if len(cuts):
                    return device, before, last, int(cuts[-1])
        raise AuditError("no stages add up to the cost of a run")


def way_of(state: State, key: tuple[int, int]) -> Way:
    """Return how a run of a state is entered and left."""
    return Way(key[0], key[1], state.lowest, state.highest)


def machine_runs(
    problem: Problem,
    number: int,
    machine: Machine,
    steps: Steps,
    limits: Limits,
    prices: Prices,
    hops: Hops,
    known: dict[tuple[object, ...], StageCosts],
    kept: dict[tuple[object, ...], Sets],
    spent: Callable[[], bool],
) -> MachineRuns:
    """Return the runs of a machine whose use of every resource is within its budget by itself.

    Where costs are all 0 and one resource is short, its use is the cost within the machine: then runs are exact.
    """
    least: int | None

    def tables_at(at: Prices) -> tuple[Tables, MachineCosts]:
        stages = []
        for device in machine.devices:
            key = (device.kind, at)
            if key not in known:
                known[key] = stage_costs(problem, device, limits, at, kept)
            stages.append(known[key])
        costs = MachineCosts(
            tuple(stages),
            hops.ports[number],
            hops.inside[number] if at is prices else _free(hops.inside[number], prices),
        )
        return run_tables(steps, costs, at, spent), costs

    uses = [
        (
            replace(
                prices, time=0, offload=0, stage=0, use=1, resource=resource, filled=filled, never=2**61, dtype=np.int64
            ),
            machine.resources[resource].room_bytes,
        )
        for resource, filled in _short(problem, machine, limits)
    ]
    if uses and not (prices.time or prices.offload or prices.stage):
        inner, least = uses.pop()
        parts, costs = tables_at(inner)
        tables = {state: dict(table) for state, table in parts.items()}
        _bar(tables, parts, least, inner.never)
    else:
        inner, least = prices, None
        parts, costs = tables_at(prices)
        tables = {state: dict(table) for state, table in parts.items()}
    kept_uses = tuple(Use(*tables_at(at), budget, at.never) for at, budget in uses)
    for use in kept_uses:
        _bar(tables, use.tables, use.budget_bytes, inner.never)
    ways: dict[Way, NDArray[np.int64]] = {}
    for state, table in tables.items():
        for key, values in table.items():
            outer = values if inner is prices else np.where(values < inner.never, 0, prices.never)
            way = way_of(state, key)
            ways[way] = np.minimum(ways[way], outer) if way in ways else outer
    return MachineRuns(machine, steps, costs, inner, tables, parts, ways, kept_uses, least, {})


def _free(inside: dict[tuple[int, int], int], prices: Prices) -> dict[tuple[int, int], int]:
    """Return hops that cost nothing where they can be at all."""
    return {ports: 2**61 if cost >= prices.never else 0 for ports, cost in inside.items()}


def _bar(tables: Tables, uses: Tables, budget: int, never: int) -> None:
    """Bar runs that put more into a resource than its budget, however they are arranged."""
    for state, table in tables.items():
        for key in table:
            table[key] = np.where(uses[state][key] <= budget, table[key], never)


def _short(problem: Problem, machine: Machine, limits: Limits) -> Iterator[tuple[int, bool]]:
    """Yield the resources that could be short, and whether their use is counted with caches of the tokens asked for."""
    for number, pool in enumerate(machine.resources):
        drawn = any(number in device.kind.draws for device in machine.devices)
        leaving = [device for device in machine.devices if device.kind.host == number]
        shapes = [problem.shape_of(device.node) for device in leaving]
        most = max((shape.ends.host_bytes for shape in shapes), default=0) + sum(
            max(
                (
                    shape.blocks[index].expert_bytes * device.kind.width
                    for device, shape in zip(leaving, shapes, strict=True)
                ),
                default=0,
            )
            for index in range(len(problem.items))
        )
        if drawn or most > pool.room_bytes:
            yield number, False
            if drawn and limits.min_tokens is not None and limits.min_tokens > 0:
                yield number, True
