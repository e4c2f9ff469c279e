"""Closed-form bounds: by hand, never above the best of all placements, and equal to the closed-form minimum."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.problems import NO_RULES, every_placement, problem_of, random_problem

from solver.bounds import BOUNDS, fewest_nodes, largest_item_bytes, least_fill, least_load
from solver.closed_form import DeviceLoad, check_plan
from solver.objectives import NO_LIMITS, OBJECTIVES, Limits
from solver.problem import Ends, Problem

TIED = problem_of((4, 4), (14, 10, 9), ends=Ends(input_bytes=6, output_bytes=6, tied_bytes=6, host_bytes=0))


def limits(**values: object) -> Limits:
    return replace(NO_LIMITS, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("problem", "within", "expected"),
    [
        (problem_of((5, 5, 5), (6, 9, 15)), NO_LIMITS, 1),
        (problem_of((5, 5, 5), (6, 9, 14)), NO_LIMITS, 2),
        (problem_of((5, 5, 5), (6, 4, 5)), NO_LIMITS, 3),
        (problem_of((5, 5, 5), (6, 4, 4)), NO_LIMITS, None),
        (problem_of((5, 7, 3), (6, 6, 6)), NO_LIMITS, None),
        (problem_of((5, 5, 5), (6, 6, 6)), limits(max_nodes=2), None),
        (problem_of((5, 5, 5), (6, 9, 15)), limits(max_load_bytes=10), 2),
        (problem_of((5, 5, 5), (6, 9, 15)), limits(max_fill=Fraction(1, 2)), None),
        (problem_of((5, 5, 5), (10, 10, 20)), limits(below_fill=Fraction(3, 4)), 2),
        (problem_of((0, 0), (6, 6)), limits(max_load_bytes=0), 1),
        (problem_of((0, 0), (0, 0)), NO_LIMITS, None),
        (TIED, NO_LIMITS, 1),
        (TIED, limits(max_load_bytes=13), 2),
        (replace(problem_of((1, 1, 1), (9,)), rules=replace(NO_RULES, min_blocks=4)), NO_LIMITS, None),
    ],
)
def test_fewest_nodes_by_arithmetic(problem: Problem, within: Limits, expected: int | None) -> None:
    assert expected == fewest_nodes(problem, within)


@pytest.mark.parametrize(
    ("problem", "within", "expected"),
    [
        (problem_of((5, 5, 5), (6, 9, 15)), NO_LIMITS, 5),
        (problem_of((5, 5, 6), (6, 9, 15)), NO_LIMITS, 6),
        (problem_of((2, 2, 2, 2, 2), (2, 9, 15)), NO_LIMITS, 4),
        (problem_of((1, 1, 9), (10, 10, 10)), NO_LIMITS, 9),
        (problem_of((5, 5, 5), (6, 9, 15)), limits(max_nodes=2), 8),
        (problem_of((5, 5, 5), (6, 9, 15)), limits(max_nodes=1), 15),
        (problem_of((5, 5, 5), (4, 4, 4)), NO_LIMITS, None),
        (TIED, NO_LIMITS, 10),
        (problem_of((1, 1), (14, 10), ends=Ends(6, 6, 6, 0)), NO_LIMITS, 7),
        (problem_of((1, 1), (14, 10), ends=Ends(1, 12, 12, 0)), NO_LIMITS, 3),
    ],
)
def test_least_load_is_the_level_that_fills_the_largest_nodes_evenly(
    problem: Problem, within: Limits, expected: int | None
) -> None:
    assert expected == least_load(problem, within)


@pytest.mark.parametrize(
    ("problem", "within", "expected"),
    [
        (problem_of((5, 5, 5), (10, 10, 20)), NO_LIMITS, Fraction(3, 8)),
        (problem_of((5, 5, 9), (10, 10, 20)), NO_LIMITS, Fraction(19, 40)),
        (problem_of((1, 1, 9), (10, 10, 10)), NO_LIMITS, Fraction(9, 10)),
        (problem_of((5, 5, 5), (10, 10, 20)), limits(max_nodes=1), Fraction(3, 4)),
        (problem_of((5, 5, 5), (4, 4, 4)), NO_LIMITS, None),
        (problem_of((1, 1), (16, 10), ends=Ends(6, 6, 6, 0)), NO_LIMITS, Fraction(8, 16)),
    ],
)
def test_least_fill_is_all_bytes_over_all_budgets_or_the_heaviest_item(
    problem: Problem, within: Limits, expected: Fraction | None
) -> None:
    assert expected == least_fill(problem, within)


def test_every_objective_has_a_bound() -> None:
    assert OBJECTIVES.keys() == BOUNDS.keys()


@pytest.mark.parametrize("hundred", range(4))
def test_no_bound_is_above_the_best_of_all_placements(hundred: int) -> None:
    """Within any limits that a placement leaves for the others, and none is given only where there is no placement."""
    for seed in range(100 * hundred, 100 * hundred + 100):
        random = Random(seed)
        problem = random_problem(random, 5, 3, ruled=seed % 2 == 1)
        placements = list(every_placement(problem))
        held = random.choice(list(OBJECTIVES.values()))
        within = NO_LIMITS
        if placements and random.random() < 0.5:
            value = held.measure(problem, random.choice(placements))
            within = held.at_most(NO_LIMITS, value)
            placements = [placement for placement in placements if held.measure(problem, placement) <= value]
        for name, bound_of in BOUNDS.items():
            bound = bound_of(problem, within)
            best = min((OBJECTIVES[name].measure(problem, placement) for placement in placements), default=None)

            assert best is None or (bound is not None and bound <= best)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.lists(st.integers(1, 90), min_size=1, max_size=8))
def test_fewest_nodes_is_the_closed_form_minimum_where_blocks_fit(weights: list[int], budgets: list[int]) -> None:
    """Two pieces of code that share nothing: equal where no block exceeds the largest budget and nothing is tied.

    The closed form does not know how many blocks there are, so it may ask for more nodes than could hold one.
    """
    problem = problem_of(tuple(weights), tuple(budgets))
    if largest_item_bytes(problem) > max(budgets) or problem.total_bytes == 0:
        return
    every = DeviceLoad("all", problem.total_bytes, sum(budgets))
    minimum = check_plan(problem.total_bytes, budgets, [every], max(weights)).minimum_nodes
    expected = None if minimum is None or minimum > len(weights) else minimum

    assert expected == fewest_nodes(problem, NO_LIMITS)
