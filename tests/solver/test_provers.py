"""Which provers a problem gets, which of them answers, and that a "no" of CP-SAT is asked for twice."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from support.problems import NO_RULES, problem_of
from support.timed import GB, barred, growing, joined, near, timed, within

from solver.effort import Clock, Effort
from solver.limits import NO_LIMITS
from solver.model import run
from solver.objectives import OBJECTIVES
from solver.problem import Placement, Stage
from solver.provers import ClosedForm, ConstraintSolver, ExactSearch, provers_for
from solver.question import NOTHING, Interval, Question
from solver.rules import violations

if TYPE_CHECKING:
    from solver.limits import Limits, Value
    from solver.problem import Problem

PLAIN = problem_of((4, 5, 6, 7), (15, 9, 15))
AT_LEAST_TWO = replace(PLAIN, rules=replace(NO_RULES, min_blocks=2))
ON_TWO = Placement((Stage(0, 2, "n0"), Stage(2, 4, "n2")))


def clock(seconds: float = 60) -> Clock:
    return Clock(Effort(seconds, None, 1, 0))


def unheard(_best: Value | None, _bound: Value | None) -> None:
    """Hear nothing."""


def asked(problem: Problem, name: str, limits: Limits = NO_LIMITS, best: Placement | None = None) -> Question:
    return Question(problem, OBJECTIVES[name], limits, None, best)


def test_provers_come_cheapest_first() -> None:
    assert ["closed form", "exact search", "baseline", "cp-sat"] == [prover.name for prover in provers_for(PLAIN)]
    assert ["closed form", "cp-sat"] == [prover.name for prover in provers_for(PLAIN, exact=False)]


def test_the_closed_form_returns_a_bound_and_no_placement() -> None:
    prover = ClosedForm()

    assert Interval(2, None, impossible=False, interrupted=False) == prover.prove(
        asked(PLAIN, "nodes"), clock(), unheard
    )
    assert prover.prove(asked(PLAIN, "nodes", within(max_nodes=1)), clock(), unheard).impossible
    assert prover.canonical(PLAIN, NO_LIMITS, clock(), ON_TWO) is None


@pytest.mark.parametrize(
    ("problem", "name", "limits", "expected"),
    [
        (PLAIN, "nodes", NO_LIMITS, 2),
        (PLAIN, "balance", NO_LIMITS, Fraction(6, 9)),
        (PLAIN, "load", NO_LIMITS, 9),
        (PLAIN, "headroom", NO_LIMITS, -4),
        (growing(PLAIN, (1, 1, 1, 1)), "tokens", NO_LIMITS, -3),
        (growing(PLAIN, (1, 1, 1, 1)), "context", NO_LIMITS, 0),
        (timed(PLAIN, (GB, GB, GB)), "throughput", NO_LIMITS, 9),
        (timed(PLAIN, (GB, GB, 2 * GB)), "latency", NO_LIMITS, 2 + 3 + 3 + 7),
        (AT_LEAST_TWO, "nodes", NO_LIMITS, 2),
        (AT_LEAST_TWO, "load", NO_LIMITS, 13),
        (joined(PLAIN, near(1), ("n0", "n2", barred()), activation_bytes=0), "nodes", NO_LIMITS, 2),
        (timed(PLAIN, (GB, GB, 2 * GB)), "nodes", within(max_latency_ns=15), 2),
        (timed(PLAIN, (GB, GB, GB)), "balance", within(max_latency_ns=22), Fraction(6, 9)),
    ],
)
def test_the_exact_search_answers_every_question_of_a_small_problem_exactly(
    problem: Problem, name: str, limits: Limits, expected: Value
) -> None:
    """Whichever of its searches does: with rules, links and times, on its own."""
    interval = ExactSearch(problem).prove(asked(problem, name, limits), clock(), unheard)

    assert interval.placement is not None
    assert (expected, expected) == (interval.lower, OBJECTIVES[name].cost(problem, interval.placement))


UNLIKE = tuple(range(40, 70))


@pytest.mark.parametrize("name", ["nodes", "load"])
def test_the_exact_search_says_nothing_where_no_search_applies(name: str) -> None:
    """Thirty unlike nodes with a least number of blocks: too many states, and more is not always better."""
    problem = replace(problem_of((5,) * 60, UNLIKE), rules=replace(NO_RULES, min_blocks=2))
    prover = ExactSearch(problem)

    assert NOTHING == prover.prove(asked(problem, name), clock(), unheard)
    assert prover.canonical(problem, NO_LIMITS, clock(), ON_TWO) is None


def unlike(*rates: int) -> Problem:
    """Return 60 blocks on thirty nodes that no two are alike, with a link of its own between the first two."""
    problem = timed(problem_of((5,) * 60, UNLIKE), tuple(rates[number % len(rates)] for number in range(30)))
    return joined(problem, near(1, GB), ("n0", "n1", near(5, 2 * GB)), activation_bytes=10)


@pytest.mark.parametrize("name", ["latency", "throughput"])
def test_the_exact_search_gives_a_start_where_only_the_objective_is_beyond_it(name: str) -> None:
    """Memory alone is easily answered, however many unlike links there are, so some plan is known at once."""
    problem = unlike(GB, 2 * GB, 3 * GB)
    interval = ExactSearch(problem).prove(asked(problem, name), clock(), unheard)

    assert interval.placement is not None
    assert Interval(None, interval.placement, impossible=False, interrupted=False) == interval
    assert () == violations(problem, interval.placement)
    assert NOTHING == ExactSearch(problem).prove(asked(problem, name, best=interval.placement), clock(), unheard)


def test_the_exact_search_says_no_even_where_the_objective_is_beyond_it() -> None:
    """A second is too short for the search that knows links: it is left out by its number of states."""
    problem = replace(unlike(GB), rules=replace(NO_RULES, max_nodes=4))

    assert ExactSearch(problem).prove(asked(problem, "latency"), clock(1), unheard).impossible


LONGEST_FIRST = Placement((Stage(0, 3, "n0"), Stage(3, 4, "n2")))


@pytest.mark.parametrize(
    ("problem", "limits", "expected"),
    [
        (PLAIN, within(max_nodes=2), LONGEST_FIRST),
        (PLAIN, within(max_nodes=2, max_load_bytes=13), ON_TWO),
        (AT_LEAST_TWO, within(max_nodes=2), ON_TWO),
        (timed(PLAIN, (GB, 2 * GB, GB)), within(max_slowest_ns=15), LONGEST_FIRST),
        (timed(PLAIN, (GB, 2 * GB, GB)), within(max_slowest_ns=13, max_nodes=2), ON_TWO),
        (timed(PLAIN, (GB, 2 * GB, GB)), within(max_latency_ns=22, max_load_bytes=13), ON_TWO),
    ],
)
def test_the_exact_search_and_cp_sat_give_the_same_canonical_placement(
    problem: Problem, limits: Limits, expected: Placement
) -> None:
    """Whichever placement is known at the start."""
    chosen = {
        prover.canonical(problem, limits, clock(), start)
        for start in (expected, Placement((Stage(0, 2, "n2"), Stage(2, 4, "n0"))))
        for prover in (ExactSearch(problem), ConstraintSolver())
    }

    assert {expected} == chosen


def answer(placement: Placement | None = None, *, settled: bool = True) -> run.Answer:
    return run.Answer(placement, None, settled=settled, interrupted=False)


@pytest.mark.parametrize("name", ["nodes", "balance", "latency"])
@pytest.mark.parametrize("second", [answer(ON_TWO), answer()], ids=["it was wrong", "it stands"])
def test_that_nothing_fits_is_asked_again_of_the_model_as_it_stands(
    name: str, second: run.Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A placement that the second run finds is believed, since it is audited; a second "no" makes it one."""
    presolved: list[bool] = []

    def find(*_: object, presolve: bool = True) -> run.Answer:
        presolved.append(presolve)
        return answer() if presolve else second

    monkeypatch.setattr(run, "find", find)
    monkeypatch.setattr(run, "minimise", lambda *_, **__: find())
    problem = timed(PLAIN, (GB, GB, GB))
    interval = ConstraintSolver().prove(asked(problem, name), clock(), unheard)

    assert [True, False] == presolved
    assert (second.placement, second.placement is None) == (interval.placement, interval.impossible)
