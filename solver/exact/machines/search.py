"""The search over machines of one problem: what it can say about a question, and the placements that it finds.

What devices share is respected for each resource by itself, and all together in the runs of a cheapest chain. Where
that is too much work a search may allow what the rules do not: its costs are bounds for every problem, and exact where
the placement behind them passes the rules and keeps to the limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from solver.exact.machines.chains import Chains, chains_of
from solver.exact.machines.fleet import fleet_of
from solver.exact.machines.hops import hops_of
from solver.exact.machines.machine_runs import MachineRuns, machine_runs
from solver.exact.machines.prices import amounts_of, prices_of, split
from solver.exact.machines.runs import steps_of
from solver.exact.machines.weighing import weighed
from solver.exact.states import TableError, lay_out
from solver.limits import NO_LIMITS, kept_by
from solver.problem import Placement, Stage
from solver.rules import violations

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.exact.machines.fleet import Fleet
    from solver.exact.machines.prices import Amounts
    from solver.exact.machines.runs import Steps
    from solver.exact.machines.sets import Sets
    from solver.exact.machines.stages import StageCosts
    from solver.exact.states import States
    from solver.limits import Limits
    from solver.problem import Problem

__all__ = ["Found", "MachineSearch"]

_LARGEST_BYTES = 2**60
_MOST_TABLE_BYTES = 1_200_000_000
# Sums that a search adds, about 10^9 of them a second.
_MOST_SUMS = 30_000_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """What one search found under an aim: the figures of its least cost by number of machines, None for none."""

    search: MachineSearch
    chains: Chains
    aim: tuple[str, ...]
    figures: tuple[dict[str, int] | None, ...]

    def cost(self, figures: dict[str, int]) -> int:
        """Return the cost that figures make up."""
        prices = self.chains.prices
        return (
            figures.get("time", 0) * prices.time
            + figures.get("offload", 0) // prices.grain_bytes * prices.offload
            + figures.get("stage", 0) * prices.stage
        )

    def placement(self, level: int) -> Placement:
        """Return a placement of the least cost on so many machines; the rules may yet refuse it."""
        return self.search.placement_of(self.chains, level)


class MachineSearch:
    """The search of one problem; what does not depend on limits is kept."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._ready: tuple[Fleet, tuple[Steps, ...], States, Amounts] | None = None
        self._refused = False
        # Under the same limits another aim asks for the same use of memories.
        self._known: tuple[Limits, dict[tuple[object, ...], StageCosts]] = (NO_LIMITS, {})
        self._sets: dict[tuple[object, ...], Sets] = {}

    @property
    def ready(self) -> tuple[Fleet, tuple[Steps, ...], States, Amounts]:
        """Return the machines, the steps of each, the states of the fleet and the most that can be spent.

        Raises:
            TableError: the problem is not one for this search, or its tables would be too large.
        """
        if self._refused:
            raise TableError
        if self._ready is None:
            try:
                self._ready = self._laid_out()
            except TableError:
                self._refused = True
                raise
        return self._ready

    def _laid_out(self) -> tuple[Fleet, tuple[Steps, ...], States, Amounts]:
        problem = self.problem
        if problem.rules.replicas or _most_bytes(problem) > _LARGEST_BYTES:
            raise TableError
        fleet = fleet_of(problem)
        counts = [len(machine.members) for machine in fleet.machines]
        boundaries = len(problem.items) + 1
        size = prod(count + 1 for count in counts)
        if size * max(len(counts), 1) * boundaries * 8 > _MOST_TABLE_BYTES:
            raise TableError
        steps = tuple(steps_of(machine, problem.rules.order, len(problem.items)) for machine in fleet.machines)
        products = sum(len(into) for each in steps for into in each.into.values())
        kept = sum(len(each.states) for each in steps)
        sums = products * boundaries**3 // 6 + size * len(counts) * boundaries**2
        if kept * boundaries**2 * 8 > _MOST_TABLE_BYTES or sums > _MOST_SUMS:
            raise TableError
        states = lay_out(counts, [None] * len(counts), min(sum(counts), len(problem.items)))
        return fleet, steps, states, amounts_of(problem, fleet)

    def find(self, limits: Limits, aim: tuple[str, ...], spent: Callable[[], bool]) -> Found:
        """Return the least costs within limits, limits on the figures of the aim aside.

        Raises:
            TableError: as `ready`, or the time is up.
        """
        fleet, steps, states, amounts = self.ready
        prices = prices_of(amounts, aim)
        hops = hops_of(self.problem, fleet, limits, prices)
        if self._known[0] != limits:
            self._known = (limits, {})
        known = self._known[1]
        runs: list[MachineRuns] = []
        for number, machine in enumerate(fleet.machines):
            runs.append(
                machine_runs(
                    self.problem, number, machine, steps[number], limits, prices, hops, known, self._sets, spent
                )
            )
        most = len(self.problem.items)
        if fleet.counted:
            allowed = [limit for limit in (limits.max_nodes, self.problem.rules.max_nodes) if limit is not None]
            most = max(min([most, *allowed]), 0)
        items = len(self.problem.items)

        def chained() -> Chains:
            return chains_of(tuple(runs), hops, prices, states, items, most, spent)

        chains = weighed(chained, spent)
        least = [chains.least(level) for level in range(len(chains.tables))]
        figures = tuple(None if cost is None else split(cost, prices, aim, amounts) for cost in least)
        return Found(self, chains, aim, figures)

    def placement_of(self, chains: Chains, level: int) -> Placement:
        """Return the placement of a cheapest chain."""
        unused = [list(runs.machine.members) for runs in chains.runs]
        stages = []
        for number, way, start, end in chains.runs_of(level):
            names = unused[number].pop(0)
            runs = chains.runs[number]
            for device, first, last, left in runs.stages_of(way, start, end):
                stages.append(Stage(first, last, names[device], left))
        return Placement(tuple(stages))

    def keeps(self, placement: Placement, limits: Limits) -> bool:
        """Return whether a placement passes the rules and keeps to the limits."""
        return not violations(self.problem, placement) and kept_by(self.problem, limits, placement)


def _most_bytes(problem: Problem) -> int:
    """Return bytes that no memory ever has to take."""
    total = 0
    for shape in problem.items_of_shapes:
        total += sum(item.load_bytes for item in shape)
    widest = max((len(node.pools) for node in problem.nodes), default=1)
    shapes = [problem.blocks, *(shape.blocks for shape in problem.shapes)]
    return total + sum(block.expert_bytes for blocks in shapes for block in blocks) * widest
