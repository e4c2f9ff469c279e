"""Runs of the model of shared memories: is there a placement within limits, the least value, and the canonical one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.model.answer import LONGEST_PRESOLVED_NS, NONE_EXISTS, NOT_TRIED, Answer, answer_of, least, settled
from solver.model.pooled import build
from solver.model.pooled_costs import cost_of, offloaded
from solver.model.pooled_sizes import placed_in, sizes_of
from solver.model.pooled_times import times_of
from solver.model.times import Times, hint_times, limit_times
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Clock
    from solver.limits import Limits
    from solver.model.pooled_sizes import Sizes
    from solver.model.pooled_variables import Built, Taken
    from solver.problem import Problem

__all__ = ["MINIMISED", "canonical_placement", "find", "minimise"]

# Objectives that are minimised by the solver itself; others are closed by descent.
MINIMISED = ("nodes", "load", "latency", "throughput", "offload")

# A variable costs about a kilobyte while a model is built and presolved.
_MOST_VARIABLES = 300_000
# A row of a table costs about 50 bytes while a model is built.
_MOST_ROWS = 5_000_000

_Sum = cp_model.LinearExpr


@dataclass(frozen=True, eq=False)
class _Timed:
    """A model with its times; None where no time matters."""

    built: Built
    taken: Taken
    times: Times | None


def find(problem: Problem, limits: Limits, clock: Clock, start: Placement | None, *, presolve: bool = True) -> Answer:
    """Return a placement within the limits, or that there is none; `presolve=False` searches the model as it stands."""
    sizes = sizes_of(problem, limits)
    if (known := _without_search(sizes)) is not None:
        return known
    return _solve(_timed(problem, sizes, limits, objective=None), clock, start, None, presolve=presolve)


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
    timed = _timed(problem, sizes, limits, objective=name)
    cost = cost_of(name, timed.built, timed.taken, timed.times)
    model = timed.built.draft.model
    return least(model, cost.total, cost.unit, at_least, report, lambda shown: _solve(timed, clock, start, shown))


def canonical_placement(problem: Problem, limits: Limits, clock: Clock, start: Placement) -> Answer:
    """Return the canonical placement within the limits by a chain of runs that each fix one more choice.

    Least left with hosts, fewest stages, the classes of the stages from the front, their ends from the front, and then
    the earliest blocks left with hosts.
    """
    # Which of two equal machines comes first is for the classes to say.
    sizes = replace(sizes_of(problem, limits), twins=())
    if (known := _without_search(sizes)) is not None:
        return known
    timed = _timed(problem, sizes, limits, objective=None)
    best = Answer(start, None, settled=True, interrupted=False)
    for choice in (offloaded(timed.built, timed.taken).total, _Sum.sum(list(timed.built.v.used))):
        best = _settled(timed, clock, best, choice)
        if not best.settled:
            return best
    v, stages = timed.built.v, range(len(_stages_of(best)))
    classes = range(len(timed.built.sizes.classes))
    for choice in (
        *(_Sum.weighted_sum(list(v.use[k]), list(classes)) for k in stages),
        *(-v.cut[k] for k in stages[1:]),
    ):
        best = _settled(timed, clock, best, choice)
        if not best.settled:
            return best
    return _earliest_left(timed, clock, best)


def _stages_of(answer: Answer) -> tuple[Stage, ...]:
    return () if answer.placement is None else answer.placement.stages


def _settled(timed: _Timed, clock: Clock, best: Answer, choice: cp_model.LinearExprT) -> Answer:
    return settled(timed.built.draft.model, choice, best, lambda known: _solve(timed, clock, known, None))


def _earliest_left(timed: _Timed, clock: Clock, best: Answer) -> Answer:
    """Return the placement whose blocks left with hosts are the earliest; stages are fixed.

    Of a stage's items of one kind the earliest are left: an item is where enough of its kind are.
    """
    built = timed.built
    placed = None if best.placement is None else placed_in(built.problem, built.sizes, best.placement)
    for k, held in enumerate(() if placed is None else placed.stages):
        n = built.v.n[k][held.c]
        seen = dict.fromkeys(n, 0)
        for i in range(held.start, held.end):
            q = next((kind for kind in seen if i in built.sizes.kinds[kind]), None)
            if q is None:
                continue
            best = _left_where_possible(timed, clock, best, i, n[q], seen[q] + 1)
            if not best.settled:
                return best
            if _is_left(best, i):
                seen[q] += 1
            else:
                del seen[q]
    return best


def _left_where_possible(
    timed: _Timed, clock: Clock, best: Answer, item: int, amount: cp_model.IntVar, least: int
) -> Answer:
    """Return a placement that leaves an item's experts with the host if one can; what it does is then fixed."""
    draft = timed.built.draft
    is_left = draft.boolean(
        f"left[{item}]", lambda placed: any(item in stage.offloaded for stage in placed.placement.stages)
    )
    draft.model.add(amount >= least).only_enforce_if(is_left)
    draft.model.add(amount < least).only_enforce_if(is_left.negated())
    if _is_left(best, item):
        draft.model.add(is_left == 1)
        return best
    return _settled(timed, clock, best, -is_left)


def _is_left(answer: Answer, item: int) -> bool:
    return any(item in stage.offloaded for stage in _stages_of(answer))


def _without_search(sizes: Sizes) -> Answer | None:
    """Return the answer where no model is built: there is no stage, or the model would be too large for CP-SAT."""
    if sizes.stages == 0:
        return NONE_EXISTS
    shares = sizes.stages * len(sizes.classes) * (len(sizes.kinds) + 3)
    rows = sizes.stages * sizes.items * (len(sizes.kinds) + 3)
    return NOT_TRIED if shares > _MOST_VARIABLES or rows > _MOST_ROWS else None


def _timed(problem: Problem, sizes: Sizes, limits: Limits, *, objective: str | None) -> _Timed:
    """Return the model with the limits that are no caps: on what is left with hosts and on times."""
    built, taken = build(problem, sizes)
    model = built.draft.model
    if limits.max_offload_bytes is not None:
        cost = offloaded(built, taken)
        model.add(cost.total <= limits.max_offload_bytes // cost.unit)
    with_slowest = objective == "throughput" or limits.max_slowest_ns is not None
    if not with_slowest and objective != "latency" and limits.max_latency_ns is None:
        return _Timed(built, taken, None)
    times = times_of(built, with_slowest=with_slowest)
    limit_times(model, times, limits)
    return _Timed(built, taken, times)


def _solve(
    timed: _Timed,
    clock: Clock,
    start: Placement | None,
    report: Callable[[int, int], None] | None,
    *,
    presolve: bool = True,
) -> Answer:
    built = timed.built
    placed = None if start is None else placed_in(built.problem, built.sizes, start)
    if placed is not None:
        built.draft.hint(placed)
        if timed.times is not None:
            hint_times(built.draft.model, timed.times, built.problem, placed.placement)
    is_long = timed.times is not None and timed.times.longest_ns >= LONGEST_PRESOLVED_NS
    return answer_of(
        built.draft.model,
        clock,
        lambda solver: _extract(solver, built),
        report,
        presolve=presolve and not is_long,
    )


def _extract(solver: cp_model.CpSolver, built: Built) -> Placement:
    """Return the placement of a solved model: earlier members of a class in front, the earliest of each kind left."""
    sizes, v = built.sizes, built.v
    free = {c: list(built.problem.classes[number].members) for c, number in enumerate(sizes.classes)}
    stages = []
    for k, used in enumerate(v.used):
        if solver.value(used):
            c = next(position for position, literal in enumerate(v.use[k]) if solver.value(literal))
            start, end = solver.value(v.cut[k]), solver.value(v.cut[k + 1])
            away = (
                i
                for q, amount in v.n[k][c].items()
                for i in [i for i in sizes.kinds[q] if start <= i < end][: solver.value(amount)]
            )
            stages.append(Stage(start, end, free[c].pop(0).name, tuple(sorted(away))))
    return Placement(tuple(stages))
