"""Limits: the integer caps that they mean, and which placements keep to them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.problems import NO_RULES, every_placement, problem_of, random_problem, with_times
from support.timed import GB, askable, growing, joined, near, timed, within

from solver.limits import NO_LIMITS, Limits, cap_bytes, kept_by, most_nodes, token_prefix
from solver.problem import Ends, Placement, Stage

if TYPE_CHECKING:
    from solver.limits import Value

BYTES = st.integers(0, 10**13)


@given(budget=BYTES, over=BYTES, under=st.integers(1, 10**13))
def test_a_cap_is_the_largest_load_with_a_ratio_within_the_limit(budget: int, over: int, under: int) -> None:
    """At most, and strictly below; never above the budget itself. One byte more would break the limit."""
    ratio = Fraction(over, under)
    most = cap_bytes(within(max_fill=ratio), budget)
    below = cap_bytes(within(below_fill=ratio), budget)

    assert most == min(budget, (ratio * budget).__floor__())
    assert below == min(budget, (ratio * budget).__ceil__() - 1)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (NO_LIMITS, 90),
        (within(max_load_bytes=80), 80),
        (within(max_load_bytes=100), 90),
        (within(max_load_bytes=80, max_fill=Fraction(1, 2)), 45),
        (within(max_load_bytes=80, max_fill=Fraction(2, 3), below_fill=Fraction(2, 3)), 59),
        (within(below_fill=Fraction(0)), -1),
        (within(min_headroom_bytes=20), 70),
        (within(min_headroom_bytes=0), 90),
        (within(min_headroom_bytes=91), -1),
        (within(min_headroom_bytes=20, max_load_bytes=69), 69),
        (within(min_headroom_bytes=20, max_fill=Fraction(8, 9)), 70),
        (within(max_nodes=0, min_tokens=10**9, max_slowest_ns=0, max_latency_ns=0), 90),
    ],
)
def test_the_tightest_limit_is_the_cap(limits: Limits, expected: int) -> None:
    """Limits on nodes, tokens and times are none on loads."""
    assert expected == cap_bytes(limits, 90)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (NO_LIMITS, 2),
        (within(max_nodes=1), 1),
        (within(max_nodes=3), 2),
        (within(max_nodes=0), 0),
        (within(max_nodes=-1), 0),
        (within(max_load_bytes=0), 2),
    ],
)
def test_the_number_of_nodes_is_the_smaller_of_what_rules_and_limits_leave(limits: Limits, expected: int) -> None:
    problem = problem_of((1, 1, 1), (9, 9, 9), rules=replace(NO_RULES, max_nodes=2))

    assert expected == most_nodes(problem, limits)


# Loads of 9 on 20 and of 18 on 40, with a stage each that reads 8 and 14 bytes at one a nanosecond.
PROBLEM = growing(
    joined(
        timed(
            problem_of((4, 4, 8, 6), (20, 40), ends=Ends(input_bytes=1, output_bytes=4, tied_bytes=0, host_bytes=0)),
            (GB, GB),
        ),
        near(5, GB),
        activation_bytes=3,
    ),
    (1, 1, 2, 0),
    fixed=(1, 0, 0, 2),
)
PLACEMENT = Placement((Stage(0, 2, "n0"), Stage(2, 4, "n1")))


@pytest.mark.parametrize(
    ("name", "kept", "broken"),
    [
        ("max_nodes", 2, 1),
        ("max_load_bytes", 18, 17),
        ("max_fill", Fraction(9, 20), Fraction(9, 20) - Fraction(1, 10**30)),
        ("below_fill", Fraction(9, 20) + Fraction(1, 10**30), Fraction(9, 20)),
        ("min_headroom_bytes", 11, 12),
        ("min_tokens", 5, 6),
        ("max_slowest_ns", 14, 13),
        ("max_latency_ns", 8 + 8 + 14, 8 + 8 + 13),
        ("max_offload_bytes", 0, -1),
    ],
)
def test_a_placement_keeps_to_a_limit_or_breaks_it(name: str, kept: Value, broken: Value) -> None:
    """To the byte, the token, the nanosecond, and to any fraction: room for (20 − 9 − 1) // 2 tokens on the first."""
    assert kept_by(PROBLEM, within(**{name: kept}), PLACEMENT)
    assert not kept_by(PROBLEM, within(**{name: broken}), PLACEMENT)


def test_every_limit_is_tried_above() -> None:
    """A limit that is added without a case here is not held by anything."""
    tried = test_a_placement_keeps_to_a_limit_or_breaks_it.pytestmark[0].args[1]  # type: ignore[attr-defined]

    assert set(Limits.__slots__) == {name for name, _, _ in tried}


def test_without_limits_every_placement_is_kept() -> None:
    assert kept_by(problem_of((4, 4), (20, 20)), NO_LIMITS, Placement((Stage(0, 2, "n0"),)))


@pytest.mark.parametrize("fifty", range(4))
def test_a_cost_as_a_limit_keeps_what_is_no_worse_and_drops_the_rest(fifty: int) -> None:
    """Every objective's two limits, tried on pairs of placements of random problems with times."""
    seen: set[tuple[str, bool]] = set()
    for seed in range(50 * fifty, 50 * fifty + 50):
        random = Random(seed)
        problem = with_times(random_problem(random, 5, 4, ruled=seed % 2 == 1), random)
        placements = list(every_placement(problem))
        for objective in askable(problem):
            for one, other in [random.choices(placements, k=2) for _ in range(4) if placements]:
                cost, limit = (objective.cost(problem, placement) for placement in (one, other))
                seen.add((objective.name, cost <= limit))

                assert (cost <= limit) == kept_by(problem, objective.at_most(NO_LIMITS, limit), one)
                assert (cost < limit) == kept_by(problem, objective.below(NO_LIMITS, limit), one)
    assert 16 == len(seen)


def test_room_for_tokens_is_weights_and_a_cache_of_so_many() -> None:
    """What caches hold now is left out: 4 + 1 + 1 + 3, then 4 + 3, 8 + 6, and 6 + 4 + 2 at three tokens."""
    assert (0, 9, 16, 30, 42) == token_prefix(PROBLEM, 3)
    assert (0, 6, 10, 18, 30) == token_prefix(PROBLEM, 0)
