"""The prover of throughput with replicas: one chain of single nodes to start from, then the search for better."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from solver.effort import Clock
from solver.question import NOTHING, Interval, Question
from solver.replicated.search import best_flow

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from solver.limits import Limits
    from solver.problem import Placement, Problem
    from solver.question import Report

    class _Prover(Protocol):
        def prove(self, question: Question, clock: Clock, report: Report) -> Interval: ...


__all__ = ["ReplicatedSearch"]

# The share of the time that the start may take.
_START = 0.25
# And the share that small changes may take when the search ends with its time.
_CHANGES = 0.05


class ReplicatedSearch:
    """The search of `solver.replicated.search`.

    `single` is the problem without replicas and `provers` are its own: what they call impossible is impossible with
    replicas too, since one node of every step makes a chain of single nodes. `left_over` is the share of the time that
    is kept for who is asked next.
    """

    name = "exact search"
    searches = True

    def __init__(self, single: Problem, provers: Sequence[_Prover], left_over: float) -> None:
        self._single = single
        self._left_over = left_over
        self._provers = provers

    def prove(self, question: Question, clock: Clock, report: Report) -> Interval:
        """Return a bound on the pace and the best placement found."""
        start = self._start(question, clock)
        if start.impossible or start.interrupted:
            return start
        report(None if start.placement is None else question.objective.cost(question.problem, start.placement), None)
        left = clock.seconds_left
        late_at, spent_at = left * self._left_over, left * (self._left_over + _CHANGES)
        found = best_flow(
            question.problem,
            start.placement,
            lambda: clock.seconds_left <= spent_at,
            lambda: clock.seconds_left <= late_at,
        )
        if found is None:
            return Interval(lower=None, placement=None, impossible=True, interrupted=False)
        return Interval(found.bound_ns, found.placement, impossible=False, interrupted=found.interrupted)

    def canonical(
        self,
        problem: Problem,  # noqa: ARG002 - the protocol's
        limits: Limits,  # noqa: ARG002 - the protocol's
        clock: Clock,  # noqa: ARG002 - the protocol's
        start: Placement,
    ) -> Placement | None:
        """Return the placement that proved the level: the search makes no choice by chance."""
        return start

    def _start(self, question: Question, clock: Clock) -> Interval:
        """Return a chain of single nodes, the best there is where an exact search tells, or that there is none."""
        part = Clock(replace(clock.effort, time_limit_seconds=clock.seconds_left * _START, workers=1))
        best = NOTHING
        for prover in self._provers:
            asked = Question(self._single, question.objective, question.limits, best.lower, best.placement)
            found = prover.prove(asked, part, lambda _best, _bound: None)
            if found.placement is not None or found.impossible or found.interrupted:
                return found
        return best
