"""Runs of the CP-SAT model: is there a placement within limits, what is the least value, and which is canonical.

The search runs in a thread so that an interrupt reaches Python at once; the run is then stopped and its best answer
kept.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.model.stages import Sizes, Variables, alone, build, hint, load, sizes_of
from solver.model.times import Times, latency, slowest, times_of
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Clock
    from solver.limits import Limits
    from solver.problem import Problem

__all__ = ["MINIMISED", "Answer", "canonical_placement", "find", "minimise"]

# Objectives that are minimised by the solver itself; others are closed by descent.
MINIMISED = ("nodes", "load", "latency", "throughput")

_FOUND = (cp_model.OPTIMAL, cp_model.FEASIBLE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one run showed. `lower` is a proven bound of what was minimised, None where nothing was or nothing is known.

    `settled` says that the run ended by itself: without a placement there is then none.
    """

    placement: Placement | None
    lower: int | None
    settled: bool
    interrupted: bool


_NONE_EXISTS = Answer(placement=None, lower=None, settled=True, interrupted=False)


def find(problem: Problem, limits: Limits, clock: Clock, start: Placement | None) -> Answer:
    """Return a placement within the limits, or that there is none."""
    sizes = sizes_of(problem, limits)
    if sizes.stages == 0:
        return _NONE_EXISTS
    model, v, _ = _limited(problem, sizes, limits)
    return _solve(model, v, problem, sizes, clock, start, None)


def minimise(
    name: str,
    problem: Problem,
    limits: Limits,
    clock: Clock,
    start: Placement | None,
    report: Callable[[int, int], None],
) -> Answer:
    """Return a placement with the least cost of an objective within the limits, and a proven lower bound of it."""
    sizes = sizes_of(problem, limits)
    if sizes.stages == 0:
        return _NONE_EXISTS
    model, v, times = _limited(problem, sizes, limits, timed=name in ("latency", "throughput"))
    unit = 1
    if name == "nodes":
        model.minimize(sum(v.used))
    elif name == "load":
        unit = sizes.unit_bytes
        model.minimize(fullest(model, v, sizes))
    elif times is None:
        raise ValueError(name)
    elif name == "latency":
        model.minimize(latency(times))
    else:
        model.minimize(slowest(model, v, times, problem, sizes))

    def in_full(value: int, bound: int) -> None:
        report(value * unit, bound * unit)

    answer = _solve(model, v, problem, sizes, clock, start, in_full)
    lower = None if answer.lower is None else answer.lower * unit
    return Answer(answer.placement, lower, answer.settled, answer.interrupted)


def fullest(model: cp_model.CpModel, v: Variables, sizes: Sizes) -> cp_model.IntVar:
    """Declare the load of the fullest stage."""
    most = model.new_int_var(0, sizes.prefix[-1], "fullest")
    for k in range(sizes.stages):
        model.add(load(v, k) - sizes.shared * alone(v, k) <= most)
    return most


def _limited(
    problem: Problem, sizes: Sizes, limits: Limits, *, timed: bool = False
) -> tuple[cp_model.CpModel, Variables, Times | None]:
    """Return the model with the limits on times, where there are any; other limits are in the sizes."""
    model, v = build(problem, sizes)
    if not timed and limits.max_latency_ns is None and limits.max_slowest_ns is None:
        return model, v, None
    times = times_of(model, v, problem, sizes)
    if limits.max_latency_ns is not None:
        model.add(latency(times) <= limits.max_latency_ns)
    if limits.max_slowest_ns is not None:
        model.add(slowest(model, v, times, problem, sizes) <= limits.max_slowest_ns)
    return model, v, times


def canonical_placement(problem: Problem, limits: Limits, clock: Clock, start: Placement) -> Answer:
    """Return the canonical placement within the limits by a chain of runs that each fix one more choice.

    The start must be on the fewest nodes possible within the limits.
    """
    stages = len(start.stages)
    sizes = replace(sizes_of(problem, limits), stages=stages)
    model, v, _ = _limited(problem, sizes, limits)
    best = Answer(start, None, settled=True, interrupted=False)
    choices = [*(_class_number(v, k) for k in range(stages)), *(-v.cut[k] for k in range(1, stages))]
    for choice in choices:
        model.minimize(choice)
        answer = _solve(model, v, problem, sizes, clock, best.placement, None)
        if answer.placement is None or not answer.settled or answer.lower is None:
            return Answer(best.placement, None, settled=False, interrupted=answer.interrupted)
        model.clear_objective()  # type: ignore[no-untyped-call]  # OR-Tools leaves it untyped
        model.add(choice == answer.lower)
        best = answer
    return best


def _class_number(v: Variables, k: int) -> cp_model.LinearExpr:
    return cp_model.LinearExpr.weighted_sum(list(v.use[k]), list(range(len(v.use[k]))))


def _solve(
    model: cp_model.CpModel,
    v: Variables,
    problem: Problem,
    sizes: Sizes,
    clock: Clock,
    start: Placement | None,
    report: Callable[[int, int], None] | None,
) -> Answer:
    if start is not None and len(start.stages) <= sizes.stages:
        hint(model, v, problem, sizes, start)
    solver = _configured(clock)
    callback = None if report is None else _Reporter(report)
    status, interrupted = _interruptible(solver, model, callback)
    clock.deterministic_time += solver.response_proto.deterministic_time
    minimising = model.has_objective()
    lower = ceil(solver.best_objective_bound - 1e-6) if minimising and status in _FOUND else None
    placement = extract(solver, v, problem, sizes) if status in _FOUND else None
    if status == cp_model.OPTIMAL and minimising and lower is not None:
        lower = round(solver.objective_value)
    return Answer(
        placement=placement,
        lower=lower,
        settled=status in (cp_model.OPTIMAL, cp_model.INFEASIBLE),
        interrupted=interrupted,
    )


def _configured(clock: Clock) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    effort = clock.effort
    solver.parameters.num_workers = effort.workers
    solver.parameters.random_seed = effort.seed
    solver.parameters.max_time_in_seconds = max(clock.seconds_left, 0.01)
    # OR-Tools 9.15 proves wrong bounds on models like this one when presolve looks for included constraints
    # (docs/decisions.md); without it every answer agrees with the exact searches.
    solver.parameters.presolve_inclusion_work_limit = 0
    solver.parameters.catch_sigint_signal = False
    if clock.deterministic_left is not None:
        solver.parameters.max_deterministic_time = max(clock.deterministic_left, 1e-6)
    return solver


def _interruptible(
    solver: cp_model.CpSolver, model: cp_model.CpModel, callback: cp_model.CpSolverSolutionCallback | None
) -> tuple[int, bool]:
    """Solve in a thread, so that Ctrl-C stops the search and not the program."""
    statuses: list[int] = []
    failures: list[Exception] = []

    def target() -> None:
        try:
            statuses.append(int(solver.solve(model, callback)))
        except Exception as error:  # noqa: BLE001 - handed to the caller's thread, whatever it is
            failures.append(error)

    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    interrupted = False
    while thread.is_alive():
        try:
            thread.join(timeout=0.2)
        except KeyboardInterrupt:
            interrupted = True
            solver.stop_search()
    if failures:
        raise failures[0]
    return statuses[0], interrupted


class _Reporter(cp_model.CpSolverSolutionCallback):
    """Hands on the value and bound of every better answer."""

    def __init__(self, report: Callable[[int, int], None]) -> None:
        super().__init__()
        self._report = report

    def on_solution_callback(self) -> None:
        self._report(round(self.objective_value), ceil(self.best_objective_bound - 1e-6))


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
