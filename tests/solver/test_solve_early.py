"""Searches that end early: interrupts, limits, and what is told meanwhile."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from support.loops import ALL_ON_ONE, BALANCE, EFFORT, EVEN, LOAD, NODES, PROBLEM, planted
from support.planted import Planted, says
from support.problems import problem_of
from support.timed import GB, growing, timed

from solver.effort import Effort
from solver.model import run
from solver.objectives import OBJECTIVES, Sense, objectives_named
from solver.provers import ClosedForm, ConstraintSolver, ExactSearch, provers_for
from solver.rules import violations
from solver.solution import Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.limits import Value
    from solver.problem import Problem
    from solver.provers import Prover


def test_an_interrupt_inside_a_prover_keeps_the_best_so_far() -> None:
    """The level stays open with the bounds known by then; no further prover is asked."""
    prover = Planted([says(1, EVEN)])
    interrupted = Planted([KeyboardInterrupt()])
    untouched = Planted([])
    solution = planted(prover, interrupted, untouched, wanted="nodes,balance")

    assert (Outcome.FEASIBLE, EVEN, True) == (solution.outcome, solution.placement, solution.interrupted)
    assert [(2, 1, "none"), (Fraction(3, 5), None, "none")] == [
        (level.value, level.bound, level.proof) for level in solution.levels
    ]


def test_an_interrupt_before_any_placement_leaves_the_outcome_unknown() -> None:
    solution = planted(Planted([KeyboardInterrupt()]))

    assert (Outcome.UNKNOWN, None, True) == (solution.outcome, solution.placement, solution.interrupted)


def test_an_interrupt_while_provers_are_prepared_leaves_the_outcome_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_problem: Problem) -> tuple[Prover, ...]:
        raise KeyboardInterrupt

    monkeypatch.setattr("solver.solve.provers_for", interrupted)
    solution = solve(PROBLEM, (NODES,), EFFORT)

    assert (Outcome.UNKNOWN, True) == (solution.outcome, solution.interrupted)


def test_an_interrupt_during_the_choice_among_equals_keeps_what_is_proved() -> None:
    solution = planted(Planted([says(1, ALL_ON_ONE)], canonical_answer=KeyboardInterrupt()))

    assert (Outcome.OPTIMAL, ALL_ON_ONE, True) == (solution.outcome, solution.placement, solution.interrupted)


def test_an_interrupted_interval_ends_the_search() -> None:
    solution = planted(Planted([says(1, EVEN, interrupted=True)]), Planted([]))

    assert (Outcome.FEASIBLE, EVEN, True) == (solution.outcome, solution.placement, solution.interrupted)


HARD = problem_of(tuple(range(3, 23)), (100, 90, 80, 70))
NO_RULE_FITS = problem_of((1, 1, 2, 5), (5, 4))
FULLER = growing(timed(HARD, (GB, 2 * GB, GB, 3 * GB)), (1,) * 20)


@pytest.mark.parametrize("prover", [ExactSearch, lambda _problem: ConstraintSolver()])
@pytest.mark.parametrize("wanted", ["balance", "load", "headroom", "tokens", "throughput"])
def test_an_interrupt_in_the_middle_of_a_search_keeps_its_placement(
    prover: Callable[[Problem], Prover], wanted: str
) -> None:
    """Also where that search found the only placement so far, and had not handed it on."""

    def interrupt(_name: str, best: Value | None, _bound: Value | None) -> None:
        if best is not None:
            raise KeyboardInterrupt

    solution = solve(FULLER, objectives_named(wanted), EFFORT, interrupt, (ClosedForm(), prover(FULLER)))

    assert (Outcome.FEASIBLE, True) == (solution.outcome, solution.interrupted)
    assert solution.placement is not None
    assert () == violations(FULLER, solution.placement)
    assert solution.levels[0].bound is not None


def test_a_search_that_finds_and_is_interrupted_at_once_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt may end with both: the interrupt is not lost because a placement came with it."""
    asked = []

    def find(problem: Problem, *_: object) -> run.Answer:
        asked.append(problem)
        return run.Answer(EVEN, None, settled=True, interrupted=True)

    monkeypatch.setattr(run, "find", find)
    solution = planted(ClosedForm(), ConstraintSolver(), wanted="balance")

    assert (Outcome.FEASIBLE, True, 1) == (solution.outcome, solution.interrupted, len(asked))


def test_progress_tells_the_level_the_best_and_the_bound() -> None:
    told: list[tuple[str, Value | None, Value | None]] = []
    solution = solve(
        HARD, objectives_named("nodes,load"), EFFORT, lambda *said: told.append(said), (ClosedForm(), ExactSearch(HARD))
    )

    assert {"load"} == {name for name, _, _ in told}
    assert all(
        bound is not None and best is not None and bound <= solution.levels[1].value <= best for _, best, bound in told
    )
    assert told[0][1] >= told[-1][1]  # type: ignore[operator]


@pytest.mark.parametrize("wanted", ["throughput", "headroom", "tokens", "balance", "load"])
def test_progress_tells_values_as_people_read_them(wanted: str) -> None:
    """Where more is better the bound is above, and the best so far rises to it."""
    told: list[tuple[Value | None, Value | None]] = []
    objective = OBJECTIVES[wanted]
    solution = solve(
        FULLER, (objective,), EFFORT, lambda _name, best, bound: told.append((best, bound)), (ExactSearch(FULLER),)
    )
    value = solution.levels[0].value
    turn = 1 if objective.sense is Sense.MIN else -1

    assert told
    assert all(best is not None and turn * value <= turn * best for best, _ in told)
    assert all(bound is None or turn * bound <= turn * value for _, bound in told)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("seconds", [1e-9, 1e-5, 1e-3])
def test_almost_no_time_gives_an_honest_outcome(seconds: float, exact: bool) -> None:
    """Unknown, or feasible with a bound, or already proved: never a wrong value, never an error."""
    proper = solve(HARD, (NODES, BALANCE), EFFORT)
    effort = Effort(seconds, None, 1, 0)
    solution = solve(HARD, (NODES, BALANCE), effort, provers=provers_for(HARD, exact=exact))

    assert Outcome.INFEASIBLE is not solution.outcome
    assert (Outcome.UNKNOWN is solution.outcome) == (solution.placement is None)
    for level, best in zip(solution.levels, proper.levels, strict=False):
        assert level.bound is None or level.bound <= best.value
    if solution.levels:
        assert solution.levels[0].value >= proper.levels[0].value


def test_time_that_is_up_before_a_search_leaves_the_outcome_unknown() -> None:
    """Where no split rule of an engine fits either: only the smaller node first will do."""
    assert Outcome.UNKNOWN is solve(NO_RULE_FITS, (NODES,), Effort(1e-9, None, 1, 0)).outcome


@pytest.mark.parametrize("units", [1e-6, 1e-3, 3e-3, 1e-2])
def test_a_deterministic_limit_repeats(units: float) -> None:
    """One worker and so much work give the same answer, proved or not."""
    effort = Effort(60, units, 1, 0)
    first, second = (solve(HARD, (LOAD,), effort, provers=(ClosedForm(), ConstraintSolver())) for _ in range(2))

    assert (first.outcome, first.placement, first.levels) == (second.outcome, second.placement, second.levels)
    assert first.deterministic_time == second.deterministic_time


def test_limits_are_for_all_levels_together() -> None:
    """A clock that the first level has used up leaves the second what costs nothing."""
    cheap, dear = Planted([says(1, ALL_ON_ONE), says(Fraction(1, 2))], searches=False), Planted([])
    solution = planted(cheap, dear, wanted="nodes,balance", effort=Effort(1e-9, None, 1, 0))

    assert Outcome.FEASIBLE is solution.outcome
    assert [(1, 1, "planted"), (Fraction(1), Fraction(1, 2), "none")] == [
        (level.value, level.bound, level.proof) for level in solution.levels
    ]
