"""The split rules as a prover: they prove nothing, and no answer is worse than the best of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.baselines.strategy import NoPlacement
from solver.limits import kept_by
from solver.problem import Placement
from solver.question import NOTHING, Interval, NoCanonical
from solver.rules import violations

if TYPE_CHECKING:
    from solver.effort import Clock
    from solver.problem import Problem
    from solver.question import Question, Report

__all__ = ["Baselines"]


class Baselines(NoCanonical):
    """Offers the best placement that a split rule makes within the rules of the problem and the limits of a level.

    It takes milliseconds, so it is asked also when the time is up; they are worked out when first asked for, which is
    never where cheaper provers close every level.
    """

    name = "baseline"
    searches = False

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._placements: tuple[Placement, ...] | None = None

    def prove(self, question: Question, clock: Clock, report: Report) -> Interval:  # noqa: ARG002 - the protocol's
        """Return the best placement for the objective asked about, ties broken by those that follow, if there is one.

        Of equals the first in the registry.
        """
        problem = question.problem
        kept = [placement for placement in self._allowed() if kept_by(problem, question.limits, placement)]
        if not kept:
            return NOTHING
        objectives = (question.objective, *question.then)
        best = min(kept, key=lambda placement: [objective.cost(problem, placement) for objective in objectives])
        return Interval(lower=None, placement=best, impossible=False, interrupted=False)

    def _allowed(self) -> tuple[Placement, ...]:
        """Return what the rules place that breaks no rule of the problem, each placement once."""
        if self._placements is None:
            from solver.baselines.registry import STRATEGIES  # noqa: PLC0415 - few plans need the rules

            answers = (strategy.place(self._problem) for strategy in STRATEGIES.values())
            placed = dict.fromkeys(Placement(answer) for answer in answers if not isinstance(answer, NoPlacement))
            self._placements = tuple(one for one in placed if not violations(self._problem, one))
        return self._placements
