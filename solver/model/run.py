"""Runs of the CP-SAT model: is there a placement within limits, what is the least value, and which is canonical."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.model.answer import LONGEST_PRESOLVED_NS, NONE_EXISTS, NOT_TRIED, Answer, answer_of, least, settled
from solver.model.stages import Sizes, Variables, alone, build, capacity, hint, load, sizes_of
from solver.model.times import Times, hint_times, latency, limit_times, times_of
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Clock
    from solver.limits import Limits
    from solver.problem import Problem

__all__ = ["MINIMISED", "Answer", "canonical_placement", "find", "minimise"]

# Objectives that are minimised by the solver itself; others are closed by descent.
MINIMISED = ("nodes", "load", "latency", "throughput")

# A row of a table costs about 50 bytes while a model is built; beyond this it would take hundreds of megabytes.
_MOST_ROWS = 5_000_000
# CP-SAT refuses a sum that could leave this range, whatever its terms are in the end.
_LARGEST_SUM = 2**62


@dataclass(frozen=True, eq=False)
class Built:
    """A model with the problem that it stands for; `times` is None where no time matters."""

    model: cp_model.CpModel
    v: Variables
    times: Times | None
    problem: Problem
    sizes: Sizes


def find(problem: Problem, limits: Limits, clock: Clock, start: Placement | None, *, presolve: bool = True) -> Answer:
    """Return a placement within the limits, or that there is none; `presolve=False` searches the model as it stands."""
    sizes = sizes_of(problem, limits)
    if (known := _without_search(sizes)) is not None:
        return known
    return _solve(_built(problem, sizes, limits, objective=None), clock, start, None, presolve=presolve)


def minimise(
    name: str,
    problem: Problem,
    limits: Limits,
    clock: Clock,
    start: Placement | None,
    report: Callable[[int, int], None],
    *,
    at_least: int,
) -> Answer:
    """Return a placement with the least cost of an objective within the limits, and a proven lower bound of it.

    `at_least` is a cost that is known to be needed, 0 where nothing is known.
    """
    sizes = sizes_of(problem, limits)
    if (known := _without_search(sizes)) is not None:
        return known
    built = _built(problem, sizes, limits, objective=name)
    unit = sizes.unit_bytes if name == "load" else 1
    cost = _cost(name, built)
    return least(built.model, cost, unit, at_least, report, lambda shown: _solve(built, clock, start, shown))


def _cost(name: str, built: Built) -> cp_model.LinearExprT:
    if name == "nodes":
        return cp_model.LinearExpr.sum(list(built.v.used))
    if name == "load":
        return fullest(built.model, built.v, built.sizes)
    if name == "latency" and built.times is not None:
        return latency(built.times)
    if name == "throughput" and built.times is not None and built.times.slowest is not None:
        return built.times.slowest
    raise ValueError(name)


def fullest(model: cp_model.CpModel, v: Variables, sizes: Sizes) -> cp_model.IntVar:
    """Declare the load of the fullest stage."""
    most = model.new_int_var(0, sizes.prefix[-1] + max(sizes.held), "fullest")
    for k in range(sizes.stages):
        model.add(load(v, k) - sizes.shared * alone(v, k) + capacity(v, sizes.held, k) <= most)
    return most


def _built(problem: Problem, sizes: Sizes, limits: Limits, *, objective: str | None) -> Built:
    """Return the model with the limits on times, where there are any; other limits are in the sizes."""
    model, v = build(problem, sizes)
    with_slowest = objective == "throughput" or limits.max_slowest_ns is not None
    if not with_slowest and objective != "latency" and limits.max_latency_ns is None:
        return Built(model, v, None, problem, sizes)
    times = times_of(model, v, problem, sizes, with_slowest=with_slowest)
    limit_times(model, times, limits)
    return Built(model, v, times, problem, sizes)


def canonical_placement(problem: Problem, limits: Limits, clock: Clock, start: Placement) -> Answer:
    """Return the canonical placement within the limits by a chain of runs that each fix one more choice.

    The fewest nodes come first; whatever the limits allow is a start.
    """
    best = minimise("nodes", problem, limits, clock, start, lambda _best, _bound: None, at_least=0)
    if best.placement is None or not best.settled or best.interrupted:
        return replace(best, settled=False)
    stages = len(best.placement.stages)
    sizes = replace(sizes_of(problem, limits), stages=stages)
    built = _built(problem, sizes, limits, objective=None)
    model, v = built.model, built.v
    choices = [*(_class_number(v, k) for k in range(stages)), *(-v.cut[k] for k in range(1, stages))]
    for choice in choices:
        best = settled(model, choice, best, lambda known: _solve(built, clock, known, None))
        if not best.settled:
            break
    return best


def _without_search(sizes: Sizes) -> Answer | None:
    """Return the answer where no model is built: there is no stage, or the model would be too large for CP-SAT."""
    if sizes.stages == 0:
        return NONE_EXISTS
    rows = sizes.stages * (sizes.items + len(sizes.classes))
    largest_sum = (len(sizes.classes) + 2) * sizes.prefix[-1]
    return NOT_TRIED if rows > _MOST_ROWS or largest_sum >= _LARGEST_SUM else None


def _class_number(v: Variables, k: int) -> cp_model.LinearExpr:
    return cp_model.LinearExpr.weighted_sum(list(v.use[k]), list(range(len(v.use[k]))))


def _solve(
    built: Built,
    clock: Clock,
    start: Placement | None,
    report: Callable[[int, int], None] | None,
    *,
    presolve: bool = True,
) -> Answer:
    if start is not None and len(start.stages) <= built.sizes.stages:
        hint(built.model, built.v, built.problem, built.sizes, start)
        if built.times is not None:
            hint_times(built.model, built.times, built.problem, start)
    return answer_of(
        built.model,
        clock,
        lambda solver: extract(solver, built.v, built.problem, built.sizes),
        report,
        presolve=presolve and not _is_long(built.times),
    )


def _is_long(times: Times | None) -> bool:
    return times is not None and times.longest_ns >= LONGEST_PRESOLVED_NS


def extract(solver: cp_model.CpSolver, v: Variables, problem: Problem, sizes: Sizes) -> Placement:
    """Return the placement of a solved model, the lowest-numbered free node of its class at each stage."""
    free = {position: list(problem.classes[index].members) for position, index in enumerate(sizes.classes)}
    stages: list[Stage] = []
    for k, used in enumerate(v.used):
        if solver.value(used):
            position = next(c for c, literal in enumerate(v.use[k]) if solver.value(literal))
            node = free[position].pop(0).name
            stages.append(Stage(start=solver.value(v.cut[k]), end=solver.value(v.cut[k + 1]), node=node))
    return Placement(tuple(stages))
