"""Small changes of a placement: they better it within the rules, and end."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from support.replicated import best_pace, every_replicated_placement, ruled_replicated_problem, sites

from solver.flow.ceiling import least_pace_ns
from solver.flow.measure import pace_ns
from solver.problem import Placement, Problem, Stage
from solver.replicated.climb import climb
from solver.replicated.state import Search
from solver.rules import violations

UNEVEN = Placement((Stage(0, 4, "n0"), Stage(0, 4, "n2"), Stage(4, 8, "n1")))


def searched(problem: Problem, start: Placement) -> Search:
    fastest = least_pace_ns(problem)
    assert fastest is not None
    return Search(problem, fastest, start, lambda: False)


def test_an_idle_node_joins_the_step_that_binds() -> None:
    """Three nodes of 10 ns become two pairs."""
    search = searched(sites(2, 25), UNEVEN)
    climb(search, lambda: False)

    assert Fraction(5) == search.best_ns


def test_nothing_is_changed_when_it_is_late() -> None:
    search = searched(sites(2, 25), UNEVEN)
    climb(search, lambda: True)

    assert UNEVEN == search.best


@pytest.mark.parametrize("seed", range(40))
def test_what_comes_of_any_placement_keeps_the_rules_and_is_no_worse(seed: int) -> None:
    problem = ruled_replicated_problem(Random(f"climb {seed}"))
    best = best_pace(problem)
    if best is None:
        return
    start = next(each for each in every_replicated_placement(problem) if not violations(problem, each))
    search = searched(problem, start)
    climb(search, lambda: False)

    assert search.best is not None
    assert () == violations(problem, search.best)
    assert best <= pace_ns(problem, search.best) <= pace_ns(problem, start)
