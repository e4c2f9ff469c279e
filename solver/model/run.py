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

from solver.errors import AuditError
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
_NOT_TRIED = Answer(placement=None, lower=None, settled=False, interrupted=False)

# A row of a table costs about 50 bytes while a model is built; beyond this it would take hundreds of megabytes.
_MOST_ROWS = 5_000_000
# CP-SAT refuses a sum that could leave this range, whatever its terms are in the end.
_LARGEST_SUM = 2**62


def find(problem: Problem, limits: Limits, clock: Clock, start: Placement | None) -> Answer:
    """Return a placement within the limits, or that there is none."""
    sizes = sizes_of(problem, limits)
    if (known := _without_search(sizes)) is not None:
        return known
    model, v, _ = _limited(problem, sizes, limits)
    return _solve(model, v, problem, sizes, clock, start, None)


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
    model, v, times = _limited(problem, sizes, limits, timed=name in ("latency", "throughput"))
    unit = 1
    if name == "nodes":
        cost: cp_model.LinearExprT = cp_model.LinearExpr.sum(list(v.used))
    elif name == "load":
        unit, cost = sizes.unit_bytes, fullest(model, v, sizes)
    elif times is None:
        raise ValueError(name)
    else:
        cost = latency(times) if name == "latency" else slowest(model, v, times, problem, sizes)
    model.add(cost >= -(-at_least // unit))
    model.minimize(cost)

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
        if answer.placement is None or not answer.settled or answer.lower is None or answer.interrupted:
            return Answer(best.placement, None, settled=False, interrupted=answer.interrupted)
        model.clear_objective()  # type: ignore[no-untyped-call]  # OR-Tools leaves it untyped
        model.add(choice == answer.lower)
        best = answer
    return best


def _without_search(sizes: Sizes) -> Answer | None:
    """Return the answer where no model is built: there is no stage, or the model would be too large for CP-SAT."""
    if sizes.stages == 0:
        return _NONE_EXISTS
    rows = sizes.stages * (sizes.items + len(sizes.classes))
    largest_sum = (len(sizes.classes) + 2) * sizes.prefix[-1]
    return _NOT_TRIED if rows > _MOST_ROWS or largest_sum >= _LARGEST_SUM else None


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
    if status == cp_model.MODEL_INVALID:
        raise AuditError(f"CP-SAT refuses the model of the problem: {model.validate().strip()}")
    response = solver.response_proto
    clock.deterministic_time += response.deterministic_time
    found = status in _FOUND
    return Answer(
        placement=extract(solver, v, problem, sizes) if found else None,
        # The bound as an integer: `best_objective_bound` is a float, and wrong by bytes beyond 2^53.
        lower=int(response.inner_objective_lower_bound) if found and model.has_objective() else None,
        settled=status in (cp_model.OPTIMAL, cp_model.INFEASIBLE),
        interrupted=interrupted,
    )


def _configured(clock: Clock) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    effort = clock.effort
    solver.parameters.num_workers = effort.workers
    solver.parameters.random_seed = effort.seed
    solver.parameters.max_time_in_seconds = max(clock.seconds_left, 0.01)
    # Two steps of OR-Tools 9.15's presolve prove wrong bounds on models like this one (docs/decisions.md): the search
    # for included constraints, and symmetry detection. The classes leave no symmetry to find.
    solver.parameters.symmetry_level = 0
    solver.parameters.presolve_inclusion_work_limit = 0
    solver.parameters.catch_sigint_signal = False
    if clock.deterministic_left is not None:
        solver.parameters.max_deterministic_time = max(clock.deterministic_left, 1e-6)
    return solver


def _interruptible(solver: cp_model.CpSolver, model: cp_model.CpModel, callback: _Reporter | None) -> tuple[int, bool]:
    """Solve in a thread, so that Ctrl-C stops the search and not the program."""
    statuses: list[int] = []
    failures: list[Exception] = []
    # Not the thread's own `join`: one that is interrupted takes a running thread for a finished one (bpo-45274).
    finished = threading.Event()

    def target() -> None:
        try:
            statuses.append(int(solver.solve(model, callback)))
        except Exception as error:  # noqa: BLE001 - handed to the caller's thread, whatever it is
            failures.append(error)
        finally:
            finished.set()

    threading.Thread(target=target, daemon=True).start()
    interrupted = False
    while not finished.is_set():
        try:
            finished.wait(timeout=0.2)
        except KeyboardInterrupt:
            interrupted = True
        if interrupted:
            # Again each time: a search that has not begun yet cannot be stopped.
            solver.stop_search()
    if failures:
        raise failures[0]
    if callback is not None and callback.failure is not None:
        if not isinstance(callback.failure, KeyboardInterrupt):
            raise callback.failure
        interrupted = True
    return statuses[0], interrupted


class _Reporter(cp_model.CpSolverSolutionCallback):
    """Hands on the value and bound of every better answer; what the listener raises stops the search."""

    def __init__(self, report: Callable[[int, int], None]) -> None:
        super().__init__()
        self._report = report
        self.failure: BaseException | None = None

    def on_solution_callback(self) -> None:
        try:
            self._report(round(self.objective_value), ceil(self.best_objective_bound - 1e-6))
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread; nothing may cross the solver's
            self.failure = error
            self.stop_search()


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
