"""Closed-form bounds: by hand, never above the best of all placements, and equal to the closed-form minimum."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.problems import NO_RULES, every_placement, problem_of, random_problem, with_times
from support.timed import GB, PLAIN_OBJECTIVES, askable, barred, growing, joined, near, timed, within

from solver.bounds import (
    BOUNDS,
    fewest_nodes,
    largest_item_bytes,
    least_cost_of_context,
    least_cost_of_headroom,
    least_cost_of_tokens,
    least_fill,
    least_latency_ns,
    least_load,
    least_slowest_ns,
)
from solver.closed_form import DeviceLoad, check_plan
from solver.limits import NO_LIMITS, kept_by
from solver.objectives import OBJECTIVES
from solver.problem import Ends

if TYPE_CHECKING:
    from solver.limits import Limits
    from solver.problem import Problem

TIED = problem_of((4, 4), (14, 10, 9), ends=Ends(input_bytes=6, output_bytes=6, tied_bytes=6, host_bytes=0))


@pytest.mark.parametrize(
    ("problem", "limits", "expected"),
    [
        (problem_of((5, 5, 5), (6, 9, 15)), NO_LIMITS, 1),
        (problem_of((5, 5, 5), (6, 9, 14)), NO_LIMITS, 2),
        (problem_of((5, 5, 5), (6, 4, 5)), NO_LIMITS, 3),
        (problem_of((5, 5, 5), (6, 4, 4)), NO_LIMITS, None),
        (problem_of((5, 7, 3), (6, 6, 6)), NO_LIMITS, None),
        (problem_of((5, 5, 5), (6, 6, 6)), within(max_nodes=2), None),
        (problem_of((5, 5, 5), (6, 9, 15)), within(max_load_bytes=10), 2),
        (problem_of((5, 5, 5), (6, 9, 15)), within(max_fill=Fraction(1, 2)), None),
        (problem_of((5, 5, 5), (10, 10, 20)), within(below_fill=Fraction(3, 4)), 2),
        (problem_of((0, 0), (6, 6)), within(max_load_bytes=0), 1),
        (problem_of((0, 0), (0, 0)), NO_LIMITS, None),
        (TIED, NO_LIMITS, 1),
        (TIED, within(max_load_bytes=13), 2),
        (replace(problem_of((1, 1, 1), (9,)), rules=replace(NO_RULES, min_blocks=4)), NO_LIMITS, None),
    ],
)
def test_fewest_nodes_by_arithmetic(problem: Problem, limits: Limits, expected: int | None) -> None:
    assert expected == fewest_nodes(problem, limits)


@pytest.mark.parametrize(
    ("problem", "limits", "expected"),
    [
        (problem_of((5, 5, 5), (6, 9, 15)), NO_LIMITS, 5),
        (problem_of((5, 5, 6), (6, 9, 15)), NO_LIMITS, 6),
        (problem_of((2, 2, 2, 2, 2), (2, 9, 15)), NO_LIMITS, 4),
        (problem_of((1, 1, 9), (10, 10, 10)), NO_LIMITS, 9),
        (problem_of((5, 5, 5), (6, 9, 15)), within(max_nodes=2), 8),
        (problem_of((5, 5, 5), (6, 9, 15)), within(max_nodes=1), 15),
        (problem_of((5, 5, 5), (4, 4, 4)), NO_LIMITS, None),
        (TIED, NO_LIMITS, 10),
        (problem_of((1, 1), (14, 10), ends=Ends(6, 6, 6, 0)), NO_LIMITS, 7),
        (problem_of((1, 1), (14, 10), ends=Ends(1, 12, 12, 0)), NO_LIMITS, 3),
    ],
)
def test_least_load_is_the_level_that_fills_the_largest_nodes_evenly(
    problem: Problem, limits: Limits, expected: int | None
) -> None:
    assert expected == least_load(problem, limits)


@pytest.mark.parametrize(
    ("problem", "limits", "expected"),
    [
        (problem_of((5, 5, 5), (10, 10, 20)), NO_LIMITS, Fraction(3, 8)),
        (problem_of((5, 5, 9), (10, 10, 20)), NO_LIMITS, Fraction(19, 40)),
        (problem_of((1, 1, 9), (10, 10, 10)), NO_LIMITS, Fraction(9, 10)),
        (problem_of((5, 5, 5), (10, 10, 20)), within(max_nodes=1), Fraction(3, 4)),
        (problem_of((5, 5, 5), (4, 4, 4)), NO_LIMITS, None),
        (problem_of((1, 1), (16, 10), ends=Ends(6, 6, 6, 0)), NO_LIMITS, Fraction(8, 16)),
    ],
)
def test_least_fill_is_all_bytes_over_all_budgets_or_the_heaviest_item(
    problem: Problem, limits: Limits, expected: Fraction | None
) -> None:
    assert expected == least_fill(problem, limits)


@pytest.mark.parametrize(
    ("problem", "limits", "expected"),
    [
        (problem_of((5, 5, 5), (10, 10, 20)), NO_LIMITS, 8),
        (problem_of((5, 5, 5), (10, 10, 20)), within(max_nodes=2), 7),
        (problem_of((5, 5, 5), (10, 10, 20)), within(max_nodes=1), 5),
        (problem_of((5, 5, 5), (9, 9, 9)), NO_LIMITS, 4),
        (problem_of((7, 1, 1), (9, 9, 9)), NO_LIMITS, 2),
        (problem_of((5, 5, 5), (9, 9, 10)), within(max_nodes=2), 2),
        (problem_of((5, 5, 5), (4, 4, 4)), NO_LIMITS, None),
        (problem_of((1, 1), (16, 10), ends=Ends(6, 6, 6, 0)), NO_LIMITS, 8),
        (problem_of((5, 5, 5), (10, 10, 20)), within(max_load_bytes=4), None),
    ],
)
def test_most_headroom_is_the_surplus_shared_by_the_largest_nodes_or_what_the_heaviest_item_leaves(
    problem: Problem, limits: Limits, expected: int | None
) -> None:
    """Rounded down; all items on the largest node are a share of their own, as what is tied is paid once there."""
    cost = least_cost_of_headroom(problem, limits)

    assert expected == (None if cost is None else -cost)


@pytest.mark.parametrize(
    ("problem", "limits", "tokens"),
    [
        (growing(problem_of((5, 5), (300, 500)), (1, 1)), NO_LIMITS, 395),
        (growing(problem_of((5, 5), (300, 500)), (1, 1)), within(max_nodes=1), 245),
        (growing(problem_of((5, 5), (300, 500)), (0, 3), fixed=(20, 1)), NO_LIMITS, 256),
        (growing(problem_of((5, 5), (1000, 500)), (1, 1), fixed=(0, 464)), NO_LIMITS, 513),
        (growing(problem_of((5, 5), (10, 10)), (1, 1), fixed=(9, 9)), NO_LIMITS, 0),
        (growing(problem_of((5, 5), (4, 4)), (1, 1)), NO_LIMITS, None),
        (growing(problem_of((1, 1), (300, 10), ends=Ends(6, 6, 6, 0)), (1, 1)), NO_LIMITS, 151),
    ],
)
def test_most_tokens_are_those_that_the_largest_budgets_hold_together(
    problem: Problem, limits: Limits, tokens: int | None
) -> None:
    """And the longest context is that in whole steps of 256."""
    cost, context = least_cost_of_tokens(problem, limits), least_cost_of_context(problem, limits)

    assert tokens == (None if cost is None else -cost)
    assert (None if tokens is None else tokens // 256 * 256) == (None if context is None else -context)


@pytest.mark.parametrize(
    ("problem", "limits", "expected"),
    [
        (timed(problem_of((6, 6, 6), (20, 20)), (GB, GB)), NO_LIMITS, 9),
        (timed(problem_of((6, 6, 6), (20, 20)), (GB, 2 * GB)), NO_LIMITS, 6),
        (timed(problem_of((1, 16, 1), (20, 20)), (GB, 2 * GB)), NO_LIMITS, 8),
        (timed(problem_of((6, 6, 6), (20, 20)), ((2, 9, 9), (1, 7, 9))), NO_LIMITS, 7),
        (timed(problem_of((6, 6, 6), (20, 20)), ((9, 3, 9), (9, 9, 9))), NO_LIMITS, 9),
        (timed(problem_of((6, 2, 6), (20, 20)), ((4, 9, 9), GB)), NO_LIMITS, 8),
        (timed(problem_of((6, 6, 6), (20, 20)), (GB, GB), active=(0, 0, 0)), NO_LIMITS, 1),
        (timed(problem_of((6, 6, 6), (5, 5)), (GB, GB)), NO_LIMITS, None),
        (timed(problem_of((6, 6), (20, 20)), (GB, ())), NO_LIMITS, 12),
    ],
    ids=["halves", "thirds", "one block", "counts", "falling", "mixed", "nothing read", "no room", "measured for none"],
)
def test_the_slowest_is_at_least_the_time_in_which_all_nodes_together_hold_everything(
    problem: Problem, limits: Limits, expected: int | None
) -> None:
    """By bytes where a rate is known and by blocks where times are measured, and never below one block's."""
    assert expected == least_slowest_ns(problem, limits)


CHEAP = near(1)
FAST = near(4, 2 * GB)


@pytest.mark.parametrize(
    ("problem", "limits", "expected"),
    [
        (timed(problem_of((6, 3, 6), (20, 20)), (GB, 2 * GB)), NO_LIMITS, 3 + 2 + 3),
        (timed(problem_of((6, 3, 6), (9, 9)), (GB, 2 * GB)), NO_LIMITS, 8),
        (joined(timed(problem_of((6, 3, 6), (9, 9)), (GB, GB)), FAST, activation_bytes=5), NO_LIMITS, 15 + 7),
        (
            joined(timed(problem_of((6, 3, 6), (9, 9)), (GB, GB)), FAST, ("n1", "n0", CHEAP), activation_bytes=5),
            NO_LIMITS,
            15 + 1,
        ),
        (
            joined(timed(problem_of((6, 3, 6), (9, 9)), (GB, GB)), FAST, ("n1", "n0", barred()), activation_bytes=5),
            NO_LIMITS,
            15 + 7,
        ),
        (timed(problem_of((6, 3, 6), (20, 20)), ((9, 7, 9), 2 * GB)), NO_LIMITS, 3 + 2 + 3),
        (timed(problem_of((6, 3, 6), (20, 20)), ((9, 4, 9), GB)), NO_LIMITS, 6),
        (timed(problem_of((6, 3, 6), (20, 20)), ((9, 9, 7), (9, 5))), NO_LIMITS, 7),
        (timed(problem_of((6, 3, 6), (5, 5)), (GB, GB)), NO_LIMITS, None),
        (
            joined(timed(problem_of((6, 3, 6), (20, 20)), (GB, GB)), FAST, activation_bytes=5),
            within(max_load_bytes=9),
            22,
        ),
    ],
)
def test_one_token_takes_every_block_where_it_is_quickest_and_the_cheapest_hops_between_the_fewest_nodes(
    problem: Problem, limits: Limits, expected: int | None
) -> None:
    """A measured time counts by the block where that is least; hops that are forbidden are no hops."""
    assert expected == least_latency_ns(problem, limits)


def test_every_objective_has_a_bound() -> None:
    assert OBJECTIVES.keys() == BOUNDS.keys()


def test_nodes_of_one_memory_leave_nothing_with_a_host() -> None:
    assert 0 == BOUNDS["offload"](problem_of((5,), (6,)), NO_LIMITS)
    assert BOUNDS["offload"](problem_of((7,), (6,)), NO_LIMITS) is None


@pytest.mark.parametrize("hundred", range(4))
def test_no_bound_is_above_the_best_of_all_placements(hundred: int) -> None:
    """Within any limits that a placement leaves for the others, and none is given only where there is no placement."""
    for seed in range(100 * hundred, 100 * hundred + 100):
        random = Random(seed)
        assert_bounds_hold(random_problem(random, 5, 3, ruled=seed % 2 == 1), random)


@pytest.mark.parametrize("hundred", range(4))
def test_no_bound_is_above_the_best_of_all_timed_placements(hundred: int) -> None:
    """Of all objectives, within the limits of one or two of them."""
    for seed in range(100 * hundred, 100 * hundred + 100):
        random = Random(seed)
        assert_bounds_hold(with_times(random_problem(random, 5, 4, ruled=seed % 2 == 1), random), random)


def assert_bounds_hold(problem: Problem, random: Random) -> None:
    placements = list(every_placement(problem))
    objectives = askable(problem)
    limits = NO_LIMITS
    for _ in range(random.choice((0, 1, 2))):
        held = random.choice(objectives)
        if placements:
            limits = held.at_most(limits, held.cost(problem, random.choice(placements)))
            placements = [placement for placement in placements if kept_by(problem, limits, placement)]
    for objective in objectives:
        bound = BOUNDS[objective.name](problem, limits)
        best = min((objective.cost(problem, placement) for placement in placements), default=None)

        assert best is None or (bound is not None and bound <= best)


@pytest.mark.parametrize("name", PLAIN_OBJECTIVES)
def test_every_bound_is_reached_by_some_problem(name: str) -> None:
    """None is so loose that it never proves anything."""
    reached = 0
    for seed in range(300):
        random = Random(seed)
        problem = with_times(random_problem(random, 4, 3), random)
        if OBJECTIVES[name] in askable(problem):
            costs = [OBJECTIVES[name].cost(problem, placement) for placement in every_placement(problem)]
            reached += min(costs, default=None) == BOUNDS[name](problem, NO_LIMITS) and bool(costs)
    assert reached > 10


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
