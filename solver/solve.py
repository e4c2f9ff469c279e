"""Lexicographic search.

Prove one objective, fix its value as a limit, go on to the next, and return the canonical answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.effort import Clock, Effort, Progress, silent
from solver.errors import AuditError, InputError
from solver.limits import NO_LIMITS, Limits, Value, kept_by
from solver.provers import Prover, provers_for
from solver.question import Interval, Question
from solver.rules import violations
from solver.solution import Bound, Level, Outcome, Solution, Unreached

if TYPE_CHECKING:
    from solver.objectives import Objective
    from solver.problem import Placement, Problem
    from solver.question import Report

__all__ = ["solve"]


@dataclass(slots=True)
class _State:
    """What is known while the levels are worked through."""

    limits: Limits
    best: Placement | None
    open: bool
    refuted_by: str | None
    interrupted: bool


def solve(
    problem: Problem,
    objectives: tuple[Objective, ...],
    effort: Effort,
    progress: Progress = silent,
    provers: tuple[Prover, ...] | None = None,
) -> Solution:
    """Return the best placement for the objectives in order of importance, each with its bound.

    An interrupt (Ctrl-C) ends the search; the best placement so far is kept.

    Raises:
        InputError: there is no objective, or nodes are to be counted where several devices stand in one.
        AuditError: a prover returned a placement that the rules reject, or values that contradict each other.
    """
    _check(problem, objectives)
    clock = Clock(effort)
    state = _State(limits=NO_LIMITS, best=None, open=False, refuted_by=None, interrupted=False)
    found: list[tuple[Objective, list[Bound]]] = []
    try:
        chosen = provers_for(problem) if provers is None else provers
    except KeyboardInterrupt:
        state.interrupted = True
        return _without_placement(objectives, [], state, clock)
    for number, objective in enumerate(objectives):
        bounds = [] if state.open else _level(problem, objectives[number:], chosen, state, clock, progress)
        if state.best is None:
            return _without_placement(objectives, bounds, state, clock)
        found.append((objective, bounds))
    placement, canonical = _answer(problem, chosen, state, clock)
    levels = tuple(_level_of(problem, objective, placement, bounds) for objective, bounds in found)
    _audit(problem, placement, levels, proved=not state.open)
    return Solution(
        outcome=Outcome.FEASIBLE if state.open else Outcome.OPTIMAL,
        placement=placement,
        levels=tuple(_up_to_proof(level) for level in levels),
        interrupted=state.interrupted,
        deterministic_time=clock.deterministic_time,
        wall_ms=clock.wall_ms,
        canonical=canonical,
    )


def _check(problem: Problem, objectives: tuple[Objective, ...]) -> None:
    if not objectives:
        raise InputError("objectives", "none is there; expected one or more. Name one, such as nodes.")
    for objective in objectives:
        objective.needs(problem, objective.name)


def _without_placement(objectives: tuple[Objective, ...], bounds: list[Bound], state: _State, clock: Clock) -> Solution:
    """Return a solution without a placement; the bounds are on costs of the first objective: no other was asked for."""
    refuted = state.refuted_by is not None
    first, *others = objectives
    unreached = (_unreached(first, bounds), *(_unreached(objective, []) for objective in others))
    return Solution(
        outcome=Outcome.INFEASIBLE if refuted else Outcome.UNKNOWN,
        placement=None,
        levels=(),
        interrupted=state.interrupted,
        deterministic_time=clock.deterministic_time,
        wall_ms=clock.wall_ms,
        refuted_by=state.refuted_by,
        unreached=() if refuted else unreached,
    )


def _unreached(objective: Objective, bounds: list[Bound]) -> Unreached:
    best = max((bound.value for bound in bounds), default=None)
    return Unreached(objective, None if best is None else objective.value(best), _as_values(objective, bounds))


def _as_values(objective: Objective, bounds: list[Bound]) -> tuple[Bound, ...]:
    """Return bounds on costs as bounds on values."""
    return tuple(Bound(bound.name, objective.value(bound.value)) for bound in bounds)


def _level(
    problem: Problem,
    objectives: tuple[Objective, ...],
    provers: tuple[Prover, ...],
    state: _State,
    clock: Clock,
    progress: Progress,
) -> list[Bound]:
    """Ask the provers about the first of the objectives in turn until its interval is closed, and fix its value.

    When the time is up, or after an interrupt, those that take no time are still asked: they may know a placement.
    """
    objective, *then = objectives
    bounds: list[Bound] = []
    lower: Value | None = None
    report = _as_people_read(objective, progress)
    try:
        for prover in provers:
            if prover.searches and _is_late(clock, state):
                continue
            question = Question(problem, objective, state.limits, lower, state.best, tuple(then))
            interval = _asked(prover, question, clock, report)
            state.interrupted |= interval.interrupted
            if interval.impossible:
                _refute(state, prover)
                return bounds
            if interval.lower is not None:
                bounds.append(Bound(prover.name, interval.lower))
                lower = interval.lower if lower is None else max(lower, interval.lower)
            if interval.placement is not None:
                state.best = _better(problem, objectives, state, prover, interval.placement)
            if _closed(problem, objective, state, lower):
                break
    except KeyboardInterrupt:
        state.interrupted = True
    if state.best is not None and _closed(problem, objective, state, lower):
        state.limits = objective.at_most(state.limits, objective.cost(problem, state.best))
    else:
        state.open = True
    return bounds


def _as_people_read(objective: Objective, progress: Progress) -> Report:
    """Return a report of costs that tells progress of values."""

    def report(best: Value | None, bound: Value | None) -> None:
        shown_best = None if best is None else objective.value(best)
        progress(objective.name, shown_best, None if bound is None else objective.value(bound))

    return report


def _asked(prover: Prover, question: Question, clock: Clock, report: Report) -> Interval:
    try:
        return prover.prove(question, clock, report)
    except KeyboardInterrupt:
        return Interval(lower=None, placement=None, impossible=False, interrupted=True)


def _refute(state: _State, prover: Prover) -> None:
    if state.best is not None:
        raise AuditError(f"{prover.name} calls impossible what a placement already shows possible")
    state.refuted_by = prover.name


def _is_late(clock: Clock, state: _State) -> bool:
    return clock.spent or state.interrupted


def _closed(problem: Problem, objective: Objective, state: _State, lower: Value | None) -> bool:
    return state.best is not None and lower is not None and objective.cost(problem, state.best) <= lower


def _better(
    problem: Problem, objectives: tuple[Objective, ...], state: _State, prover: Prover, other: Placement
) -> Placement:
    """Return the better of the best so far and another placement, by the objectives in order."""
    broken = violations(problem, other)
    if broken:
        raise AuditError(f"{prover.name} breaks the rule on {broken[0].rule}: {broken[0].witness}")
    if not kept_by(problem, state.limits, other):
        raise AuditError(f"{prover.name} gives up, for {objectives[0].name}, what was settled before it")
    if state.best is None:
        return other
    for objective in objectives:
        cost, known = objective.cost(problem, other), objective.cost(problem, state.best)
        if cost != known:
            return other if cost < known else state.best
    return state.best


def _answer(problem: Problem, provers: tuple[Prover, ...], state: _State, clock: Clock) -> tuple[Placement, bool]:
    """Return the canonical placement where every level is proved, else the best so far, and whether it is canonical."""
    best = state.best
    if best is None:
        raise AuditError("levels were worked through without a placement")
    if state.open:
        return best, False
    try:
        for prover in provers:
            placement = prover.canonical(problem, state.limits, clock, best)
            if placement is not None:
                return placement, True
    except KeyboardInterrupt:
        state.interrupted = True
    return best, False


def _level_of(problem: Problem, objective: Objective, placement: Placement, bounds: list[Bound]) -> Level:
    """Return a level as people read it; the bounds given are on costs."""
    cost = objective.cost(problem, placement)
    bound = max((bound.value for bound in bounds), default=None)
    return Level(
        objective=objective,
        value=objective.value(cost),
        bound=None if bound is None else objective.value(bound),
        bounds=_as_values(objective, bounds),
        proof=next((entry.name for entry in bounds if entry.value == cost), "none"),
    )


def _up_to_proof(level: Level) -> Level:
    """Leave out bounds behind the one that suffices: which were asked for depends on the placements that came first."""
    suffices = next((number for number, bound in enumerate(level.bounds, start=1) if bound.value == level.value), None)
    return replace(level, bounds=level.bounds[:suffices])


def _audit(problem: Problem, placement: Placement, levels: tuple[Level, ...], *, proved: bool) -> None:
    """Refuse an answer that the rules reject, that a bound contradicts, or that is called proved and is not."""
    broken = violations(problem, placement)
    if broken:
        raise AuditError(f"the answer breaks the rule on {broken[0].rule}: {broken[0].witness}")
    for level in levels:
        if level.bound is not None and level.objective.better(level.value, level.bound):
            raise AuditError(f"{level.objective.name} is {level.value}, beyond its own bound {level.bound}")
        if proved and level.value != level.bound:
            raise AuditError(f"{level.objective.name} is {level.value}, called proved with a bound of {level.bound}")
