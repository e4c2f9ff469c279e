"""Provers: each takes one level of a question and returns an interval of its best value, perhaps with a placement.

They run cheapest first (closed form, exact search, CP-SAT); intervals are intersected, and a level is proved when its
value equals its bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, TypeAlias

from solver.bounds import BOUNDS
from solver.errors import AuditError
from solver.exact.canonical import canonical_placement, placement_of
from solver.exact.prefix import PrefixSearch, applies, find, prefix_search

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Clock
    from solver.objectives import Limits, Objective, Value
    from solver.problem import Placement, Problem

__all__ = ["ClosedForm", "ConstraintSolver", "ExactSearch", "Interval", "Prover", "Question", "Report", "provers_for"]

# Called with the best value and the best bound so far.
Report: TypeAlias = "Callable[[Value | None, Value | None], None]"

# Bisection goes on until the interval is this narrow; then the placement's own value is the next strict limit.
_NARROW = Fraction(1, 256)


@dataclass(frozen=True, slots=True)
class Question:
    """One level: the least value of an objective within the limits that earlier levels fixed.

    `lower` and `best` are what is known so far; `best` is a placement within the limits.
    """

    problem: Problem
    objective: Objective
    limits: Limits
    lower: Value | None
    best: Placement | None


@dataclass(frozen=True, slots=True)
class Interval:
    """What a prover found out: a lower bound, a placement, and whether it showed that there is no placement at all."""

    lower: Value | None
    placement: Placement | None
    impossible: bool
    interrupted: bool


class Prover(Protocol):
    """One way of closing a level."""

    name: str

    def prove(self, question: Question, clock: Clock, report: Report) -> Interval:
        """Return what this prover can say about the question in the time left."""

    def canonical(self, problem: Problem, limits: Limits, clock: Clock, start: Placement) -> Placement | None:
        """Return the canonical placement within limits that fix every level, or None if this prover cannot tell."""


class ClosedForm:
    """Bounds by arithmetic; finds no placements."""

    name = "closed form"

    def prove(self, question: Question, clock: Clock, report: Report) -> Interval:  # noqa: ARG002 - the protocol's
        """Return the arithmetic bound."""
        lower = BOUNDS[question.objective.name](question.problem, question.limits)
        return Interval(lower=lower, placement=None, impossible=lower is None, interrupted=False)

    def canonical(self, problem: Problem, limits: Limits, clock: Clock, start: Placement) -> Placement | None:  # noqa: ARG002 - the protocol's
        """Return None: arithmetic places nothing."""
        return None


class ExactSearch:
    """The longest-prefix search of `solver.exact`, for a problem to which it applies."""

    name = "exact search"

    def __init__(self, problem: Problem) -> None:
        self._search: PrefixSearch = prefix_search(problem)

    def prove(self, question: Question, clock: Clock, report: Report) -> Interval:
        """Return the exact value with a placement, or that there is none."""

        def attempt(limits: Limits) -> Interval:
            chain = find(self._search, question.problem, limits)
            placement = None if chain is None else placement_of(self._search, question.problem, chain)
            return Interval(lower=None, placement=placement, impossible=chain is None, interrupted=False)

        return descend(question, attempt, clock, report, fewest_first=True)

    def canonical(self, problem: Problem, limits: Limits, clock: Clock, start: Placement) -> Placement | None:  # noqa: ARG002 - the protocol's
        """Return the canonical placement."""
        return canonical_placement(self._search, problem, limits)


class ConstraintSolver:
    """The CP-SAT model of `solver.model`."""

    name = "cp-sat"

    def prove(self, question: Question, clock: Clock, report: Report) -> Interval:
        """Return what CP-SAT proves in the time left."""
        from solver.model import run  # noqa: PLC0415 - OR-Tools takes a third of a second to import

        if question.objective.name in ("nodes", "load"):
            minimise = run.least_nodes if question.objective.name == "nodes" else run.least_load
            known = 0 if question.lower is None else int(question.lower)
            answer = minimise(question.problem, question.limits, clock, question.best, report, at_least=known)
            impossible = answer.settled and answer.placement is None
            return Interval(answer.lower, answer.placement, impossible=impossible, interrupted=answer.interrupted)

        def attempt(limits: Limits) -> Interval:
            answer = run.find(question.problem, limits, clock, None)
            impossible = answer.settled and answer.placement is None
            return Interval(None, answer.placement, impossible=impossible, interrupted=answer.interrupted)

        # A load is never below 0: with that as a bound the search halves its way down where nobody gave a better one.
        bounded = replace(question, lower=Fraction(0)) if question.lower is None else question
        return descend(bounded, attempt, clock, report, fewest_first=False)

    def canonical(self, problem: Problem, limits: Limits, clock: Clock, start: Placement) -> Placement | None:
        """Return the canonical placement, or None if the time was too short to be sure of it.

        Raises:
            KeyboardInterrupt: an interrupt ended one of the runs.
        """
        from solver.model import run  # noqa: PLC0415 - as above

        fewest = run.least_nodes(problem, limits, clock, start, lambda _value, _bound: None, at_least=0)
        if fewest.interrupted:
            raise KeyboardInterrupt
        if fewest.placement is None or not fewest.settled:
            return None
        answer = run.canonical_placement(problem, limits, clock, fewest.placement)
        if answer.interrupted:
            raise KeyboardInterrupt
        return answer.placement if answer.settled else None


def provers_for(problem: Problem, *, exact: bool = True) -> tuple[Prover, ...]:
    """Return the provers of a problem, cheapest first; `exact=False` leaves the exact search out."""
    if exact and applies(problem):
        return (ClosedForm(), ExactSearch(problem), ConstraintSolver())
    return (ClosedForm(), ConstraintSolver())


@dataclass(slots=True)
class _Known:
    """What is known of a level while its interval closes: it outlives an interrupt."""

    lower: Value | None
    best: Placement | None

    def interval(self, *, interrupted: bool) -> Interval:
        return Interval(self.lower, self.best, impossible=False, interrupted=interrupted)


def descend(
    question: Question,
    attempt: Callable[[Limits], Interval],
    clock: Clock,
    report: Report,
    *,
    fewest_first: bool,
) -> Interval:
    """Close the interval of a level by asking for placements within ever tighter limits.

    Bisection between bound and best value while the gap is wide, then strict descent: the best placement's own value is
    the next limit to stay below, until no placement is left. `fewest_first` says that an attempt's answer uses the
    fewest nodes. After an interrupt the best placement so far is kept.

    Raises:
        AuditError: an attempt returned a placement that is no better than asked for; it would go on for ever.
    """
    known = _Known(question.lower, question.best)
    try:
        one_pass = fewest_first and question.objective.name == "nodes"
        if known.best is None or one_pass:
            answer = attempt(question.limits)
            if answer.placement is None:
                return answer
            known.best = answer.placement
            if one_pass:
                known.lower = question.objective.measure(question.problem, known.best)
            if answer.interrupted:
                return known.interval(interrupted=True)
        upper = question.objective.measure(question.problem, known.best)
        return _close(question, known, upper, attempt, clock, report)
    except KeyboardInterrupt:
        return known.interval(interrupted=True)


def _close(
    question: Question,
    known: _Known,
    upper: Value,
    attempt: Callable[[Limits], Interval],
    clock: Clock,
    report: Report,
) -> Interval:
    """Tighten what is known until bound and value meet, the time is spent, or an attempt ends without an answer."""
    objective, limits = question.objective, question.limits
    while known.lower is None or known.lower < upper:
        report(upper, known.lower)
        if clock.spent:
            break
        middle = _middle(known.lower, upper)
        answer = attempt(objective.below(limits, upper) if middle is None else objective.at_most(limits, middle))
        if answer.placement is not None:
            value = objective.measure(question.problem, answer.placement)
            if value >= upper:
                raise AuditError(f"a placement asked to be better on {objective.name} than {upper} has {value}")
            known.best, upper = answer.placement, value
        elif answer.impossible:
            known.lower = upper if middle is None else _beyond(middle)
        if answer.interrupted or (answer.placement is None and not answer.impossible):
            return known.interval(interrupted=answer.interrupted)
    return known.interval(interrupted=False)


def _beyond(value: Value) -> Value:
    """Return the least value that is left when the given one is out of reach: the next integer, or a bound, itself."""
    return value + 1 if isinstance(value, int) else value


def _middle(lower: Value | None, upper: Value) -> Value | None:
    """Return a value between the two to try next, or None where it is time for strict descent."""
    if lower is None or upper - lower <= upper * _NARROW:
        return None
    if isinstance(lower, int) and isinstance(upper, int):
        return (lower + upper) // 2
    scale = 2**40
    middle = Fraction((Fraction(lower + upper) / 2 * scale).__floor__(), scale)
    return middle if lower < middle < upper else None
