"""The descent that closes an interval, and which provers a problem gets."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.planted import says
from support.problems import NO_RULES, problem_of

from solver.effort import Clock, Effort
from solver.errors import AuditError
from solver.objectives import NO_LIMITS, OBJECTIVES, cap_bytes
from solver.problem import Placement, Stage
from solver.provers import Question, descend, provers_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.objectives import Limits, Value
    from solver.provers import Interval

# One block a placement: its load is its number of bytes, its node has room for all.
BUDGET = 2**60
PROBLEM = problem_of((1,), (BUDGET,))


def question(name: str, lower: Value | None, best: Placement | None = None) -> Question:
    return Question(PROBLEM, OBJECTIVES[name], NO_LIMITS, lower, best)


def clock() -> Clock:
    return Clock(Effort(60, None, 1, 0))


def unheard(_best: Value | None, _bound: Value | None) -> None:
    """Hear nothing."""


class Loads:
    """Answers attempts from a set of loads that are possible, the largest within the limits first."""

    def __init__(self, *loads: int) -> None:
        self.loads = sorted(loads)
        self.asked: list[int] = []
        measures = {
            "load": lambda placement: placement.stages[0].end,
            "balance": lambda placement: Fraction(placement.stages[0].end, BUDGET),
        }
        self.objectives = {
            name: replace(OBJECTIVES[name], measure=lambda _problem, placement, of=of: of(placement))
            for name, of in measures.items()
        }

    def attempt(self, limits: Limits) -> Interval:
        """Return a placement whose end stands for its load."""
        self.asked.append(cap_bytes(limits, BUDGET))
        within = [load for load in self.loads if load <= self.asked[-1]]
        return says(placement=Placement((Stage(0, within[-1], "n0"),))) if within else says(impossible=True)

    def close(self, name: str, lower: Value | None, report: Callable[..., None] = unheard) -> Interval:
        """Close the interval of an objective."""
        asked = Question(PROBLEM, self.objectives[name], NO_LIMITS, lower, None)
        return descend(asked, self.attempt, clock(), report, fewest_first=False)


@settings(max_examples=50)
@given(loads=st.lists(st.integers(1, 10**15), min_size=1, max_size=30), name=st.sampled_from(("load", "balance")))
def test_the_descent_ends_at_the_least_value_and_proves_it(loads: list[int], name: str) -> None:
    """However the possible values lie: as one exact value, in far fewer attempts than there are bytes."""
    world = Loads(*loads)
    interval = world.close(name, 0)
    least = min(loads) if name == "load" else Fraction(min(loads), BUDGET)

    assert least == interval.lower
    assert interval.placement is not None
    assert min(loads) == interval.placement.stages[0].end
    assert len(world.asked) < 60 + len(set(loads))


def test_without_a_bound_the_descent_is_strict_from_above() -> None:
    world = Loads(3, 5, 9)

    assert 3 == world.close("load", None).lower
    assert [BUDGET, 8, 4, 2] == world.asked


def test_a_bound_that_is_met_ends_the_descent_at_once() -> None:
    world = Loads(9)

    assert 9 == world.close("load", 9).lower
    assert [BUDGET] == world.asked


def test_the_interval_is_halved_while_it_is_wide() -> None:
    world = Loads(1000)
    world.close("load", 0)

    assert [BUDGET, 500, 750, 875, 938, 969, 985, 993, 997, 999] == world.asked


def test_progress_hears_every_step() -> None:
    heard: list[tuple[Value | None, Value | None]] = []
    Loads(3, 5, 9).close("load", None, lambda best, bound: heard.append((best, bound)))

    assert [(9, None), (5, None), (3, None)] == heard


def test_nothing_within_the_limits_is_impossible() -> None:
    interval = descend(question("load", 0), lambda _limits: says(impossible=True), clock(), unheard, fewest_first=False)

    assert says(impossible=True) == interval


def test_an_attempt_that_is_no_better_than_asked_is_a_bug_and_no_loop() -> None:
    best = Placement((Stage(0, 1, "n0"),))
    with pytest.raises(AuditError) as caught:
        descend(
            question("load", None, best), lambda _limits: says(placement=best), clock(), unheard, fewest_first=False
        )

    assert "a placement asked to be better on load than 1 has 1" == str(caught.value)


def test_an_attempt_without_an_answer_ends_the_descent_with_what_is_known() -> None:
    best = Placement((Stage(0, 1, "n0"),))
    interval = descend(question("load", 0, best), lambda _limits: says(), clock(), unheard, fewest_first=False)

    assert says(0, best) == interval


def test_time_that_is_up_ends_the_descent_with_what_is_known() -> None:
    best = Placement((Stage(0, 1, "n0"),))
    spent = Clock(Effort(1e-9, None, 1, 0))

    assert says(0, best) == descend(question("load", 0, best), pytest.fail, spent, unheard, fewest_first=False)


def test_provers_come_cheapest_first_and_the_exact_search_only_where_it_applies() -> None:
    plain = problem_of((1, 1), (2, 2))
    at_least_two = replace(plain, rules=replace(NO_RULES, min_blocks=2))

    assert ["closed form", "exact search", "cp-sat"] == [prover.name for prover in provers_for(plain)]
    assert ["closed form", "cp-sat"] == [prover.name for prover in provers_for(plain, exact=False)]
    assert ["closed form", "cp-sat"] == [prover.name for prover in provers_for(at_least_two)]
