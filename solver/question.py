"""One level of a question as provers get it, and the interval that they give back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Clock
    from solver.limits import Limits, Value
    from solver.objectives import Objective
    from solver.problem import Placement, Problem

__all__ = ["NOTHING", "Interval", "NoCanonical", "Question", "Report"]

# Called with the best cost and the best bound so far.
Report: TypeAlias = "Callable[[Value | None, Value | None], None]"


@dataclass(frozen=True, slots=True)
class Question:
    """One level: the least cost of an objective within the limits that earlier levels fixed.

    `lower` and `best` are what is known so far; `best` is a placement within the limits. `then` are the objectives that
    follow, by which equals are told apart.
    """

    problem: Problem
    objective: Objective
    limits: Limits
    lower: Value | None
    best: Placement | None
    then: tuple[Objective, ...] = ()


@dataclass(frozen=True, slots=True)
class Interval:
    """What a prover found out: a lower bound, a placement, and whether it showed that there is no placement at all."""

    lower: Value | None
    placement: Placement | None
    impossible: bool
    interrupted: bool


NOTHING = Interval(lower=None, placement=None, impossible=False, interrupted=False)


class NoCanonical:
    """A prover that leaves it to others which of equals is the answer."""

    def canonical(
        self,
        problem: Problem,  # noqa: ARG002 - the protocol's
        limits: Limits,  # noqa: ARG002 - the protocol's
        clock: Clock,  # noqa: ARG002 - the protocol's
        start: Placement,  # noqa: ARG002 - the protocol's
    ) -> Placement | None:
        """Return None."""
        return None
