"""Closing an interval by asking for placements within ever tighter limits."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from solver.question import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Clock
    from solver.limits import Limits, Value
    from solver.question import Question, Report

__all__ = ["descend"]

# Bisection goes on until the interval is this narrow; then the placement's own cost is the next strict limit.
_NARROW = Fraction(1, 256)
_GRAIN = 2**40


def descend(question: Question, attempt: Callable[[Limits], Interval], clock: Clock, report: Report) -> Interval:
    """Return the interval that attempts leave open: closed if each attempt answers, in the time there is.

    Bisection between bound and best cost while the gap is wide, then strict descent: the best placement's own cost is the
    next limit to stay below, until no placement is left.
    """
    problem, objective, limits = question.problem, question.objective, question.limits
    lower, best = question.lower, question.best
    if best is None:
        answer = attempt(limits)
        if answer.placement is None:
            return answer
        best = answer.placement
    upper = objective.cost(problem, best)
    while lower is None or lower < upper:
        report(upper, lower)
        if clock.spent:
            break
        middle = None if lower is None else _middle(lower, upper)
        tried = objective.below(limits, upper) if middle is None else objective.at_most(limits, middle)
        answer = attempt(tried)
        if answer.placement is not None:
            best = answer.placement
            upper = objective.cost(problem, best)
        elif answer.impossible:
            lower = upper if middle is None else _beyond(middle)
        else:
            return Interval(lower, best, impossible=False, interrupted=answer.interrupted)
    return Interval(lower, best, impossible=False, interrupted=False)


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
