"""The descent that closes an interval: on costs of every kind, and with whatever is known when it has to end."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.planted import says
from support.problems import problem_of

from solver.descent import descend
from solver.effort import Clock, Effort
from solver.errors import AuditError
from solver.limits import NO_LIMITS, cap_bytes
from solver.objectives import CONTEXT_STEP_TOKENS, OBJECTIVES
from solver.problem import Placement, Stage
from solver.question import Question

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.limits import Limits, Value
    from solver.question import Interval

# One block a placement: its end stands for its load or its tokens, its node has room for all.
BUDGET = 2**60
MOST = 10**15
PROBLEM = problem_of((1,), (BUDGET, BUDGET))

# The cost of a placement by its end, what cannot be beaten, and whether a smaller end is better.
COSTS: dict[str, tuple[Callable[[int], Value], Value, bool]] = {
    "load": (lambda end: end, 0, True),
    "balance": (lambda end: Fraction(end, BUDGET), 0, True),
    "throughput": (lambda end: end, 0, True),
    "headroom": (lambda end: end - BUDGET, -BUDGET, True),
    "tokens": (lambda end: -end, -MOST, False),
    "context": (lambda end: -(end // CONTEXT_STEP_TOKENS * CONTEXT_STEP_TOKENS), -MOST, False),
}


def question(name: str, lower: Value | None, best: Placement | None = None) -> Question:
    return Question(PROBLEM, OBJECTIVES[name], NO_LIMITS, lower, best)


def clock() -> Clock:
    return Clock(Effort(60, None, 1, 0))


def unheard(_best: Value | None, _bound: Value | None) -> None:
    """Hear nothing."""


def unasked(_limits: Limits) -> Interval:
    """Fail, as nothing was to be asked."""
    pytest.fail("an attempt was made")


class World:
    """Answers attempts from a set of ends that are possible, the worst within the limits first."""

    def __init__(self, name: str, *ends: int) -> None:
        cost, self.unbeaten, rising = COSTS[name]
        self.name = name
        self.ends = sorted(ends, reverse=rising)
        self.asked: list[int] = []
        self.objective = replace(OBJECTIVES[name], cost=lambda _problem, placement: cost(placement.stages[0].end))

    def attempt(self, limits: Limits) -> Interval:
        """Return a placement whose end is within the limits."""
        within = [end for end in self.ends if self._keeps(limits, end)]
        self.asked.append((limits.min_tokens or 0) if self.name in {"tokens", "context"} else cap_bytes(limits, BUDGET))
        return says(placement=Placement((Stage(0, within[0], "n0"),))) if within else says(impossible=True)

    @staticmethod
    def _keeps(limits: Limits, end: int) -> bool:
        slow = limits.max_slowest_ns is not None and end > limits.max_slowest_ns
        short = limits.min_tokens is not None and end < limits.min_tokens
        return not slow and not short and end <= cap_bytes(limits, BUDGET)

    def close(self, lower: Value | None, report: Callable[..., None] = unheard) -> Interval:
        """Close the interval of the objective."""
        asked = Question(PROBLEM, self.objective, NO_LIMITS, lower, None)
        return descend(asked, self.attempt, clock(), report)


def test_every_objective_that_a_search_descends_on_is_tried() -> None:
    """Nodes, latency and offload are minimised by the searches themselves."""
    assert OBJECTIVES.keys() - {"nodes", "latency", "offload"} == COSTS.keys()


@settings(max_examples=120)
@given(ends=st.lists(st.integers(1, MOST), min_size=1, max_size=30), name=st.sampled_from(sorted(COSTS)))
def test_the_descent_ends_at_the_least_cost_and_proves_it(ends: list[int], name: str) -> None:
    """However the possible values lie: as one exact value, in far fewer attempts than there are bytes."""
    world = World(name, *ends)
    interval = world.close(world.unbeaten)
    least = min(COSTS[name][0](end) for end in ends)

    assert (least, type(least)) == (interval.lower, type(interval.lower))
    assert interval.placement is not None
    assert least == world.objective.cost(PROBLEM, interval.placement)
    assert len(world.asked) < 60 + len(set(ends))


def test_without_a_bound_the_descent_is_strict_from_above() -> None:
    world = World("load", 3, 5, 9)

    assert 3 == world.close(None).lower
    assert [BUDGET, 8, 4, 2] == world.asked


def test_without_a_bound_more_is_asked_for_by_the_least_step() -> None:
    world = World("tokens", 3, 5, 9)

    assert -9 == world.close(None).lower
    assert [0, 4, 6, 10] == world.asked


def test_a_bound_that_is_met_ends_the_descent_at_once() -> None:
    world = World("load", 9)

    assert 9 == world.close(9).lower
    assert [BUDGET] == world.asked


def test_the_interval_is_halved_while_it_is_wide() -> None:
    world = World("load", 1000)
    world.close(0)

    assert [BUDGET, 500, 750, 875, 938, 969, 985, 993, 997, 999] == world.asked


def test_an_interval_below_zero_is_halved_too() -> None:
    world = World("tokens", 10)

    assert -10 == world.close(-100).lower
    assert [0, 55, 32, 21, 15, 12, 11] == world.asked


def test_progress_hears_every_step() -> None:
    heard: list[tuple[Value | None, Value | None]] = []
    World("load", 3, 5, 9).close(None, lambda best, bound: heard.append((best, bound)))

    assert [(9, None), (5, None), (3, None)] == heard


def test_nothing_within_the_limits_is_impossible() -> None:
    interval = descend(question("load", 0), lambda _limits: says(impossible=True), clock(), unheard)

    assert says(impossible=True) == interval


ENDED = Placement((Stage(0, 1, "n0"),))


def test_an_attempt_without_an_answer_ends_the_descent_with_what_is_known() -> None:
    assert says(0, ENDED) == descend(question("load", 0, ENDED), lambda _limits: says(), clock(), unheard)


def test_time_that_is_up_ends_the_descent_with_what_is_known() -> None:
    spent = Clock(Effort(1e-9, None, 1, 0))

    assert says(0, ENDED) == descend(question("load", 0, ENDED), unasked, spent, unheard)


def test_an_attempt_that_is_interrupted_ends_the_descent_and_its_placement_is_kept() -> None:
    """Whether it is the first, which also finds the first placement, or a later one."""

    def interrupted(_limits: Limits) -> Interval:
        return says(placement=ENDED, interrupted=True)

    before = Placement((Stage(0, 1, "n1"),))

    assert says(0, ENDED, interrupted=True) == descend(question("load", 0), interrupted, clock(), unheard)
    assert says(0, ENDED, interrupted=True) == descend(question("load", 0, before), interrupted, clock(), unheard)


def test_an_interrupt_inside_an_attempt_keeps_what_is_known() -> None:
    def raising(_limits: Limits) -> Interval:
        raise KeyboardInterrupt

    assert says(0, ENDED, interrupted=True) == descend(question("load", 0, ENDED), raising, clock(), unheard)
    assert says(0, interrupted=True) == descend(question("load", 0), raising, clock(), unheard)


def test_an_attempt_that_is_no_better_than_asked_is_a_bug_and_no_loop() -> None:
    with pytest.raises(AuditError) as caught:
        descend(question("load", None, ENDED), lambda _limits: says(placement=ENDED), clock(), unheard)
    cost = OBJECTIVES["load"].cost(question("load", None).problem, ENDED)

    assert f"a placement asked to be better on load than {cost} has {cost}" == str(caught.value)
