"""The search by sets of nodes against trying every placement: its bounds, what it finds, and where it says nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

import pytest
from numpy import array
from support.replicated import (
    best_pace,
    best_replicated,
    replicated_problem,
    ruled_replicated_problem,
    sites,
)

from solver.effort import Clock, Effort
from solver.flow.measure import pace_ns
from solver.limits import NO_LIMITS
from solver.objectives import objectives_named
from solver.question import NOTHING, Interval, Question
from solver.rules import violations
from solver.sets.prover import SetSearch
from solver.sets.rates import rates_of
from solver.sets.splits import Splits

if TYPE_CHECKING:
    from solver.problem import Placement, Problem

NS = 10**9


def asked(problem: Problem, best: Placement | None = None, seconds: float = 60) -> Interval:
    question = Question(problem, objectives_named("throughput")[0], NO_LIMITS, None, best)
    return SetSearch().prove(question, Clock(Effort(seconds, None, 1, 0)), lambda _best, _bound: None)


def drawn(seed: int) -> Problem:
    return (ruled_replicated_problem if seed % 2 else replicated_problem)(Random(f"sets {seed}"))


@pytest.mark.parametrize("seed", range(100))
def test_no_placement_of_all_is_below_the_bound(seed: int) -> None:
    """Nor is one found that breaks a rule, and "impossible" is said only where there is none."""
    problem = drawn(seed)
    best = best_pace(problem)
    found = asked(problem)

    assert not (found.impossible and best is not None)
    assert found.placement is None or () == violations(problem, found.placement)
    assert best is None or found.lower is None or found.lower <= best


def test_the_best_placement_of_all_is_proved_without_rounding() -> None:
    """In all draws but one: where links bind, two cuts of the flow may both let more through than gets through."""
    proved, short = 0, []
    for seed in range(100):
        problem = drawn(seed)
        best = best_replicated(problem)
        if best is None:
            continue
        found = asked(problem, best)
        assert best == found.placement
        proved += found.lower == pace_ns(problem, best)
        if found.lower != pace_ns(problem, best):
            short.append(seed)

    assert [80] == short
    assert proved > 50


@pytest.mark.parametrize("seed", range(60))
def test_what_cannot_be_placed_is_called_impossible(seed: int) -> None:
    problem = drawn(seed)

    assert (best_pace(problem) is None) == asked(problem).impossible


def test_a_thin_link_that_must_be_crossed_is_the_bound() -> None:
    """A node at either site, each as quick as 10 ns, and 25 ns between them."""
    problem = sites(1, 25)

    assert Fraction(25) == asked(problem, best_replicated(problem)).lower


def test_more_nodes_than_sets_can_be_tried_of_are_left_alone() -> None:
    assert NOTHING == asked(sites(7, 25))


def test_without_a_node_nothing_fits() -> None:
    problem = sites(1, 25)

    assert asked(replace(problem, rules=replace(problem.rules, exclude=("n0", "n1")))).impossible


def test_no_time_is_no_answer() -> None:
    assert NOTHING == asked(sites(2, 25), seconds=0)


def test_splits_add_up_chains_without_a_node_in_common() -> None:
    """Nodes 0 and 1 carry 3 alone, 4 together; all ways to carry most are listed once."""
    carried = [0.0, 3.0, 3.0, 4.0]
    several = Splits(array(carried), array([1, 1, 1, 1]) > 0, one_chain=False)
    single = Splits(array(carried), array([1, 1, 1, 1]) > 0, one_chain=True)

    assert (6.0, (1, 2), {(3.0, 3.0)}) == (several.most, several.best(), several.near_most())
    assert (4.0, (3,), {(4.0,)}) == (single.most, single.best(), single.near_most())


def test_rates_of_a_set_are_those_of_its_nodes_and_none_where_one_cannot_hold_the_stage() -> None:
    rates = rates_of(sites(1, 25))

    assert 2 * Fraction(NS, 3) == rates.exactly(0b11, 0, 1)
    assert (2 * NS / 3, 0.0) == (rates.together(0b11)[0, 1], rates.together(0b11)[0, 5])
