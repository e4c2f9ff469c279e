"""Cuts of one problem over devices that are given by their budgets alone, each asked of the solver once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from solver.measures import stage_load
from solver.objectives import OBJECTIVES
from solver.problem import Links
from solver.solution import Outcome
from solver.solve import solve
from solver.wording import counted

if TYPE_CHECKING:
    from solver.effort import Effort
    from solver.problem import Node, Problem
    from solver.solution import Solution

__all__ = ["Cut", "CutStage", "Cutter"]

_GB = 10**9


@dataclass(frozen=True, slots=True)
class CutStage:
    """The half-open run of blocks [start, end) on a device, by its number, and its load."""

    device: int
    start: int
    end: int
    load_bytes: int


@dataclass(frozen=True, slots=True)
class Cut:
    """The cut with the most room on its fullest device. `proof` names what shows that none has more."""

    stages: tuple[CutStage, ...]
    room_bytes: int
    proof: str


class Cutter:
    """A problem without its nodes; answers are kept.

    `is_open` says that a question was left without an answer when its time was up: then "none" may mean "none found".
    """

    def __init__(self, problem: Problem, effort: Effort) -> None:
        self._problem = replace(problem, links=Links(problem.links.default, ()))
        self._effort = effort
        self.is_open = False
        self._cuts: dict[tuple[tuple[int, ...], tuple[int, ...]], Cut | None] = {}
        self._fewest: dict[tuple[int, ...], int | None] = {}
        self._contexts: dict[tuple[int, ...], int | None] = {}

    @property
    def total_bytes(self) -> int:
        """Return what all stages hold together."""
        return self._problem.total_bytes

    def can_fit(self, budgets: tuple[int, ...]) -> bool:
        """Return whether arithmetic leaves it open: all together in all budgets, the largest block in the largest."""
        return bool(budgets) and self.total_bytes <= sum(budgets) and self._largest_at_least() <= max(budgets)

    def shortfall(self, budgets: tuple[int, ...]) -> str:
        """Return why there is no cut over devices of these budgets."""
        held, left = f"{self.total_bytes / _GB:,.3f} GB", f"{sum(budgets) / _GB:,.3f} GB"
        devices = counted(len(budgets), "device")
        if self.total_bytes > sum(budgets):
            return f"its blocks take {held}; {devices} may take {left} of them"
        most = f"{max(budgets) / _GB:,.3f} GB"
        return f"its blocks take {held} of the {left} that {devices} may take, and do not divide into runs up to {most}"

    def cut(self, budgets: tuple[int, ...], machines: tuple[int, ...] = ()) -> Cut | None:
        """Return the cut over devices of these budgets that leaves the most room, None where there is none.

        `machines` numbers the machine of each device: those of one follow one another. Empty where that is no matter.
        """
        if not self.can_fit(budgets):
            return None
        free = self._kept(budgets, ())
        if free is None or _follow(free, machines):
            return free
        return self._kept(budgets, machines)

    def _kept(self, budgets: tuple[int, ...], machines: tuple[int, ...]) -> Cut | None:
        if (budgets, machines) not in self._cuts:
            self._cuts[budgets, machines] = self._solve(budgets, machines)
        return self._cuts[budgets, machines]

    def fewest(self, budgets: tuple[int, ...]) -> int | None:
        """Return how many devices of these suffice at least, None where all of them do not."""
        if not self.can_fit(budgets):
            return None
        if budgets not in self._fewest:
            solution = self._asked(self._over(budgets), "nodes")
            self._fewest[budgets] = int(solution.levels[0].value) if solution.levels else None
        return self._fewest[budgets]

    def longest_context(self, budgets: tuple[int, ...]) -> int | None:
        """Return the longest context over these devices by the growth of caches, None where none grows."""
        if budgets not in self._contexts:
            self._contexts[budgets] = self._longest(budgets)
        return self._contexts[budgets]

    def _largest_at_least(self) -> int:
        # Where one device takes all, what is shared is paid once: only then can the largest block take less.
        return min(max(item.load_bytes for item in self._problem.items), self.total_bytes)

    def _solve(self, budgets: tuple[int, ...], machines: tuple[int, ...]) -> Cut | None:
        problem = _joined(self._over(budgets), machines)
        solution = self._asked(problem, "headroom")
        placement = solution.placement
        if placement is None:
            return None
        stages = tuple(
            CutStage(int(stage.node), *problem.span(stage), stage_load(problem, stage).load_bytes)
            for stage in placement.stages
        )
        room = min(budgets[stage.device] - stage.load_bytes for stage in stages)
        proof = solution.levels[0].proof if solution.outcome is Outcome.OPTIMAL else ""
        return Cut(stages, room, proof)

    def _longest(self, budgets: tuple[int, ...]) -> int | None:
        problem = self._over(budgets)
        if not any(block.cache_bytes_per_token for block in problem.blocks):
            return None
        solution = self._asked(problem, "context")
        return int(solution.levels[0].value) if solution.levels else None

    def _asked(self, problem: Problem, objective: str) -> Solution:
        solution = solve(problem, (OBJECTIVES[objective],), self._effort)
        if solution.interrupted:
            # Half an answer would be taken for a "no".
            raise KeyboardInterrupt
        self.is_open = self.is_open or solution.outcome in (Outcome.UNKNOWN, Outcome.FEASIBLE)
        return solution

    def _over(self, budgets: tuple[int, ...]) -> Problem:
        pattern = self._problem.nodes[0]
        return replace(
            self._problem, nodes=tuple(_device(pattern, number, size) for number, size in enumerate(budgets))
        )


def _device(pattern: Node, number: int, budget_bytes: int) -> Node:
    return replace(
        pattern, name=str(number), budget_bytes=budget_bytes, machine=None, bytes_per_second=None, held_bytes=0
    )


def _follow(cut: Cut, machines: tuple[int, ...]) -> bool:
    """Return whether the devices of every machine follow one another."""
    passed = [machine for machine, _ in groupby(machines[stage.device] for stage in cut.stages)] if machines else []
    return len(set(passed)) == len(passed)


def _joined(problem: Problem, machines: tuple[int, ...]) -> Problem:
    """Return the problem with its devices in their machines."""
    if not machines:
        return problem
    devices = zip(problem.nodes, machines, strict=True)
    return replace(problem, nodes=tuple(replace(device, machine=f"machine {number}") for device, number in devices))
