"""Provers: each takes one level of a question and returns an interval of its least cost, perhaps with a placement.

They run cheapest first (closed form, exact search, split rules of engines as a start, CP-SAT); intervals are
intersected, and a level is proved when the cost of the best placement equals the bound.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from solver.baselines.starts import Baselines
from solver.bounds import BOUNDS
from solver.descent import descend
from solver.exact.machines import answers
from solver.exact.machines.canonical import canonical_placement
from solver.exact.machines.search import MachineSearch
from solver.exact.prefix import TableError
from solver.exact.searches import ChainAnswers, PrefixAnswers
from solver.pooled_bounds import POOLED_BOUNDS
from solver.question import NOTHING, Interval, NoCanonical

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from solver.effort import Clock
    from solver.limits import Limits
    from solver.model.run import Answer
    from solver.problem import Placement, Problem
    from solver.question import Question, Report

__all__ = ["ClosedForm", "ConstraintSolver", "ExactSearch", "Prover", "provers_for"]


class Prover(Protocol):
    """One way of closing a level. One that `searches` is not asked when the time is up."""

    name: str
    searches: bool

    def prove(self, question: Question, clock: Clock, report: Report) -> Interval:
        """Return what this prover can say about the question in the time left."""

    def canonical(self, problem: Problem, limits: Limits, clock: Clock, start: Placement) -> Placement | None:
        """Return the canonical placement within limits that fix every level, or None if this prover cannot tell."""


class ClosedForm(NoCanonical):
    """Bounds by arithmetic; finds no placements."""

    name = "closed form"
    searches = False

    def prove(self, question: Question, clock: Clock, report: Report) -> Interval:  # noqa: ARG002 - the protocol's
        """Return the arithmetic bound."""
        bounds = BOUNDS if question.problem.is_plain else POOLED_BOUNDS
        lower = bounds[question.objective.name](question.problem, question.limits)
        return Interval(lower=lower, placement=None, impossible=lower is None, interrupted=False)


class ExactSearch:
    """The searches of `solver.exact`, chosen by what the question touches and by how many states they would have."""

    name = "exact search"
    searches = True

    def __init__(self, problem: Problem) -> None:
        self._prefix = PrefixAnswers(problem)
        self._chain = ChainAnswers(problem)

    def prove(self, question: Question, clock: Clock, report: Report) -> Interval:
        """Return the exact cost with a placement, or that there is none; where no search applies, at most a start."""
        try:
            return self._proved(question, clock, report)
        except TableError:
            return self._start(question)

    def _proved(self, question: Question, clock: Clock, report: Report) -> Interval:
        name, limits = question.objective.name, question.limits
        if self._prefix.answer(name, limits):
            if name == "nodes":
                return self._fewest(question)
            return descend(question, lambda tried: self._attempt(self._prefix.find, tried), clock, report)
        if not self._chain.answer(name, clock.effort):
            return self._start(question)
        if name in ("nodes", "latency"):
            lower, placement = self._chain.least(name, limits, self._spent(clock))
            return Interval(lower, placement, impossible=placement is None, interrupted=False)
        spent = self._spent(clock)
        return descend(
            question, lambda tried: self._attempt(lambda limits: self._chain.find(limits, spent), tried), clock, report
        )

    @staticmethod
    def _spent(clock: Clock) -> Callable[[], bool]:
        return lambda: clock.seconds_left <= 0

    def canonical(
        self,
        problem: Problem,  # noqa: ARG002 - the protocol's
        limits: Limits,
        clock: Clock,
        start: Placement,  # noqa: ARG002 - the protocol's
    ) -> Placement | None:
        """Return the canonical placement, or None if no search applies or its tables would grow too large."""
        if self._prefix.answer("nodes", limits):
            with suppress(TableError):
                return self._prefix.canonical(limits)
            return None
        if self._chain.answer("nodes", clock.effort):
            with suppress(TableError):
                return self._chain.find(limits, self._spent(clock))
        return None

    def _start(self, question: Question) -> Interval:
        """Return a placement to start from, or that there is none, where only the objective is beyond the searches."""
        if question.best is not None or not self._prefix.answer("nodes", question.limits):
            return NOTHING
        return self._attempt(self._prefix.find, question.limits)

    def _fewest(self, question: Question) -> Interval:
        placement = self._prefix.find(question.limits)
        if placement is None:
            return Interval(lower=None, placement=None, impossible=True, interrupted=False)
        cost = question.objective.cost(question.problem, placement)
        return Interval(cost, placement, impossible=False, interrupted=False)

    @staticmethod
    def _attempt(find: Callable[[Limits], Placement | None], limits: Limits) -> Interval:
        try:
            placement = find(limits)
        except TableError:
            return NOTHING
        return Interval(lower=None, placement=placement, impossible=placement is None, interrupted=False)


class MachineProver:
    """The search of `solver.exact.machines`, for problems whose nodes share machines or memories."""

    name = "exact search"
    searches = True

    def __init__(self, problem: Problem) -> None:
        self._search = MachineSearch(problem)

    def prove(self, question: Question, clock: Clock, report: Report) -> Interval:
        """Return the exact cost with a placement, a bound on it where memories are shared in turn, or nothing."""
        name, limits, search = question.objective.name, question.limits, self._search

        def spent() -> bool:
            return clock.seconds_left <= 0

        def attempt(tried: Limits) -> Interval:
            with suppress(TableError):
                return answers.within(search, tried, spent)
            return NOTHING

        if name in ("nodes", "latency", "offload"):
            with suppress(TableError):
                return answers.least(search, name, limits, spent)
            return NOTHING
        return descend(question, attempt, clock, report)

    def canonical(
        self,
        problem: Problem,  # noqa: ARG002 - the protocol's
        limits: Limits,
        clock: Clock,
        start: Placement,  # noqa: ARG002 - the protocol's
    ) -> Placement | None:
        """Return the canonical placement, or None if the search cannot tell."""
        with suppress(TableError):
            return canonical_placement(self._search, limits, lambda: clock.seconds_left <= 0)
        return None


class ConstraintSolver:
    """The CP-SAT model of `solver.model`."""

    name = "cp-sat"
    searches = True

    def prove(self, question: Question, clock: Clock, report: Report) -> Interval:
        """Return what CP-SAT proves in the time left; that nothing fits is asked twice."""
        problem, limits, name = question.problem, question.limits, question.objective.name
        run = _model_of(problem)

        def attempt(tried: Limits) -> Interval:
            return _interval(run.find(problem, tried, clock, None))

        if name in run.MINIMISED:
            known = 0 if question.lower is None else int(question.lower)
            found = _interval(run.minimise(name, problem, limits, clock, question.best, report, at_least=known))
        else:
            # A load is never below 0: with that bound the search halves its way down where nobody gave a better one.
            unbounded = question.lower is None and name == "balance"
            found = descend(replace(question, lower=Fraction(0)) if unbounded else question, attempt, clock, report)
        if not found.impossible or question.best is not None or clock.spent:
            return found
        # A wrong "no" is the worst answer there is, and presolve is where wrong ones have come from.
        again = _interval(run.find(problem, limits, clock, None, presolve=False))
        return found if again.placement is None else again

    def canonical(self, problem: Problem, limits: Limits, clock: Clock, start: Placement) -> Placement | None:
        """Return the canonical placement, or None if the time was too short to be sure of it.

        Raises:
            KeyboardInterrupt: an interrupt ended one of the runs.
        """
        answer = _model_of(problem).canonical_placement(problem, limits, clock, start)
        if answer.interrupted:
            raise KeyboardInterrupt
        return answer.placement if answer.settled else None


def _model_of(problem: Problem) -> ModuleType:
    """Return the model of a problem: that of stages in order, or that of devices which share memories."""
    if problem.is_plain:
        from solver.model import run  # noqa: PLC0415 - OR-Tools takes a third of a second to import

        return run
    from solver.model import pooled_run  # noqa: PLC0415 - as above

    return pooled_run


def _interval(answer: Answer) -> Interval:
    """Return what a run of CP-SAT showed as an interval."""
    impossible = answer.settled and answer.placement is None
    return Interval(answer.lower, answer.placement, impossible=impossible, interrupted=answer.interrupted)


def provers_for(problem: Problem, *, exact: bool = True) -> tuple[Prover, ...]:
    """Return the provers of a problem, cheapest first; `exact=False` leaves CP-SAT alone with the arithmetic.

    Replicas have two searches of their own beside the closed form, with or without.
    """
    if problem.rules.replicas:
        from solver.replicated.prover import ReplicatedSearch  # noqa: PLC0415 - NumPy tables that others do not need
        from solver.sets.prover import SetSearch  # noqa: PLC0415 - as above

        single = replace(problem, rules=replace(problem.rules, replicas=False))
        search = ReplicatedSearch(single, provers_for(single), SetSearch.share_of_time(problem))
        return (ClosedForm(), search, SetSearch(), Baselines(problem))
    if not problem.is_plain:
        searches: tuple[Prover, ...] = (MachineProver(problem), Baselines(problem)) if exact else ()
        return (ClosedForm(), *searches, ConstraintSolver())
    if exact:
        return (ClosedForm(), ExactSearch(problem), Baselines(problem), ConstraintSolver())
    return (ClosedForm(), ConstraintSolver())
