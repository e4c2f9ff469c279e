"""The best there is on ever more nodes: one proved plan for each number of nodes, and those that none other beats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.effort import Clock, Effort, Progress, silent
from solver.measures import nodes_used
from solver.objectives import Sense
from solver.solution import Outcome, Solution
from solver.solve import solve

if TYPE_CHECKING:
    from solver.objectives import Objective
    from solver.problem import Problem

__all__ = ["Point", "best_by_nodes", "unbeaten"]

# Arithmetic still answers in this time, where searches have spent the rest.
_LEAST_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Point:
    """The best placement on at most so many nodes; `used` are those that it holds on to, None without a placement."""

    most_nodes: int
    used: int | None
    solution: Solution


def best_by_nodes(
    problem: Problem,
    objectives: tuple[Objective, ...],
    counts: range,
    effort: Effort,
    progress: Progress = silent,
) -> tuple[Point, ...]:
    """Return the best placement on at most n nodes for every n in a range, within one effort for all of them.

    More nodes than stages can be on, or than the problem's own rule allows, count as that many and are not asked about
    again. An interrupt ends the list.

    Raises:
        InputError: there is no objective, or the problem lacks facts that one needs.
    """
    clock = Clock(effort)
    solutions: dict[int, Solution] = {}
    points: list[Point] = []
    for count in counts:
        most = max(min(count, problem.stages_at_most), 1)
        if most not in solutions:
            solutions[most] = _best_on(problem, objectives, most, clock, progress)
        solution = solutions[most]
        used = None if solution.placement is None else nodes_used(problem, solution.placement)
        points.append(Point(count, used, solution))
        if solution.interrupted:
            break
    return tuple(points)


def _best_on(
    problem: Problem, objectives: tuple[Objective, ...], most: int, clock: Clock, progress: Progress
) -> Solution:
    """Return the best placement on at most so many nodes, with what is left of the effort."""
    left = replace(
        clock.effort,
        time_limit_seconds=max(clock.seconds_left, _LEAST_SECONDS),
        deterministic_limit=clock.deterministic_left,
    )
    solution = solve(replace(problem, rules=replace(problem.rules, max_nodes=most)), objectives, left, progress)
    clock.deterministic_time += solution.deterministic_time
    return solution


def unbeaten(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """Return the points that no point on fewer nodes equals or beats in the first objective, fewest nodes first."""
    kept: list[Point] = []
    for point in points:
        if point.solution.outcome not in (Outcome.OPTIMAL, Outcome.FEASIBLE):
            continue
        level = point.solution.levels[0]
        if kept:
            before = kept[-1].solution.levels[0].value
            better = level.value < before if level.objective.sense is Sense.MIN else level.value > before
            if not better:
                continue
        kept.append(point)
    return tuple(kept)
