"""Closing an interval by asking for placements within ever tighter limits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from solver.errors import AuditError
from solver.question import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Clock
    from solver.limits import Limits, Value
    from solver.problem import Placement
    from solver.question import Question, Report

__all__ = ["descend"]

# Bisection goes on until the interval is this narrow; then the placement's own cost is the next strict limit.
_NARROW = Fraction(1, 256)
_GRAIN = 2**40


@dataclass(slots=True)
class _Known:
    """What is known of a level while its interval closes: it outlives an interrupt."""

    lower: Value | None
    best: Placement | None

    def interval(self, *, interrupted: bool) -> Interval:
        return Interval(self.lower, self.best, impossible=False, interrupted=interrupted)


def descend(question: Question, attempt: Callable[[Limits], Interval], clock: Clock, report: Report) -> Interval:
    """Return the interval that attempts leave open: closed if each attempt answers, in the time there is.

    Bisection between bound and best cost while the gap is wide, then strict descent: the best placement's own cost is
    the next limit to stay below, until no placement is left. After an interrupt the best placement so far is kept.

    Raises:
        AuditError: an attempt returned a placement that is no better than asked for; it would go on for ever.
    """
    known = _Known(question.lower, question.best)
    try:
        if known.best is None:
            answer = attempt(question.limits)
            if answer.placement is None:
                return answer
            known.best = answer.placement
            if answer.interrupted:
                return known.interval(interrupted=True)
        return _close(question, known, question.objective.cost(question.problem, known.best), attempt, clock, report)
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
    """Tighten what is known until bound and cost meet, the time is spent, or an attempt ends without an answer."""
    objective, limits = question.objective, question.limits
    while known.lower is None or known.lower < upper:
        report(upper, known.lower)
        if clock.spent:
            break
        middle = None if known.lower is None else _middle(known.lower, upper)
        answer = attempt(objective.below(limits, upper) if middle is None else objective.at_most(limits, middle))
        if answer.placement is not None:
            cost = objective.cost(question.problem, answer.placement)
            if cost >= upper and not answer.interrupted:
                raise AuditError(f"a placement asked to be better on {objective.name} than {upper} has {cost}")
            known.best, upper = answer.placement, cost
        elif answer.impossible:
            known.lower = upper if middle is None else _beyond(middle)
        if answer.interrupted or (answer.placement is None and not answer.impossible):
            return known.interval(interrupted=answer.interrupted)
    return known.interval(interrupted=False)


def _beyond(cost: Value) -> Value:
    """Return the least cost that is left when the given one is out of reach: the next integer, or a bound, itself."""
    return cost + 1 if isinstance(cost, int) else cost


def _middle(lower: Value, upper: Value) -> Value | None:
    """Return a cost between the two to try next, or None where it is time for strict descent."""
    if isinstance(lower, int) and isinstance(upper, int):
        return (lower + upper) // 2
    low, high = Fraction(lower), Fraction(upper)
    if high - low <= high * _NARROW:
        return None
    middle = Fraction(((low + high) / 2 * _GRAIN).__floor__(), _GRAIN)
    return middle if low < middle < high else None
