"""The best there is on ever more nodes: one proved plan for each number of nodes, and those that none other beats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.effort import Clock, Effort, Progress, silent
from solver.measures import nodes_used
from solver.objectives import Sense
from solver.solve import Outcome, Solution, solve

if TYPE_CHECKING:
    from solver.objectives import Objective
    from solver.problem import Problem

__all__ = ["Point", "best_by_nodes", "unbeaten"]


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

    More nodes than there are, or than the problem's own rule allows, count as that many. An interrupt ends the list.
    """
    clock = Clock(effort)
    points: list[Point] = []
    for count in counts:
        own = problem.rules.max_nodes
        most = count if own is None else min(count, own)
        left = replace(effort, time_limit_seconds=max(clock.seconds_left, 0.01))
        solution = solve(replace(problem, rules=replace(problem.rules, max_nodes=most)), objectives, left, progress)
        used = None if solution.placement is None else nodes_used(problem, solution.placement)
        points.append(Point(count, used, solution))
        if solution.interrupted:
            break
    return tuple(points)


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
