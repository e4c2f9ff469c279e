"""Provers that say what a test wants them to say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from solver.question import Interval

if TYPE_CHECKING:
    from solver.effort import Clock
    from solver.limits import Limits, Value
    from solver.problem import Placement, Problem
    from solver.question import Question, Report

__all__ = ["Planted", "says"]


@dataclass
class Planted:
    """Returns its answers one a question, or raises what stands among them; remembers what it was asked."""

    answers: list[Interval | BaseException]
    canonical_answer: Placement | BaseException | None = None
    name: str = "planted"
    searches: bool = True
    asked: list[Question] = field(default_factory=list)

    def prove(self, question: Question, clock: Clock, report: Report) -> Interval:  # noqa: ARG002 - the protocol's
        """Return the next answer."""
        self.asked.append(question)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def canonical(self, problem: Problem, limits: Limits, clock: Clock, start: Placement) -> Placement | None:  # noqa: ARG002 - the protocol's
        """Return the canonical answer that was planted."""
        if isinstance(self.canonical_answer, BaseException):
            raise self.canonical_answer
        return self.canonical_answer


def says(
    lower: Value | None = None,
    placement: Placement | None = None,
    *,
    impossible: bool = False,
    interrupted: bool = False,
) -> Interval:
    """Build what a prover found out."""
    return Interval(lower, placement, impossible=impossible, interrupted=interrupted)
