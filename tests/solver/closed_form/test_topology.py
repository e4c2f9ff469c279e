"""Node counts of the tiers (golden figures G2)."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.closed_form import NodeMemory, ReservePolicy, kv_bytes, plan_all_tiers, plan_topology
from solver.errors import InputError
from tensors.units import GIB

WEIGHT_BYTES = 216_715_360_960
CACHE_BYTES = 955_908_096


def _in_gib(size_bytes: int, decimals: int) -> str:
    return f"{size_bytes / GIB:.{decimals}f}"


@pytest.mark.parametrize(
    ("usable", "reserve", "budget", "minimum", "recommended"),
    [
        (10, "8.0", "2.0", 102, 112),
        (12, "8.0", "4.0", 51, 56),
        (24, "8.0", "16.0", 13, 14),
        (32, "8.0", "24.0", 9, 10),
        (40, "8.0", "32.0", 7, 7),
        (48, "9.6", "38.4", 6, 6),
        (64, "12.8", "51.2", 4, 5),
        (96, "19.2", "76.8", 3, 3),
        (128, "25.6", "102.4", 2, 3),
    ],
)
def test_a_tier_takes_these_nodes(usable: int, reserve: str, budget: str, minimum: int, recommended: int) -> None:
    plan = plan_topology(NodeMemory("node", usable * GIB), WEIGHT_BYTES, CACHE_BYTES)

    assert (reserve, budget) == (_in_gib(plan.reserve_bytes, 1), _in_gib(plan.placement_budget_bytes, 1))
    assert (minimum, recommended) == (plan.arithmetic_minimum_nodes, plan.recommended_nodes)
    assert (minimum == recommended) == plan.counts_agree
    assert ("201.832", "0.890", "202.722") == tuple(
        _in_gib(size, 3) for size in (plan.weight_bytes, plan.kv_bytes, plan.total_placement_bytes)
    )
    assert Fraction(11, 10) == plan.imbalance_factor


def test_a_tier_without_a_budget_is_refused_and_its_reserve_named() -> None:
    with pytest.raises(InputError) as caught:
        plan_topology(NodeMemory("tier of 8 GiB", 8 * GIB), WEIGHT_BYTES, CACHE_BYTES)

    assert (
        "tier of 8 GiB: its reserve of 8.0 GiB leaves a placement budget of 0.0 GiB; expected a budget above 0. "
        "Take more memory or a smaller reserve."
    ) == str(caught.value)


@pytest.mark.parametrize(
    ("expected", "weight_bytes", "cache_bytes", "factor"),
    [
        ([(9, 10), (6, 6), (4, 5), (3, 3), (2, 3)], WEIGHT_BYTES, CACHE_BYTES, "1.10"),
        ([(10, 11), (6, 7), (5, 5), (3, 4), (3, 3)], WEIGHT_BYTES, 30_589_059_072, 1.1),
        ([(10, 11), (6, 7), (5, 5), (3, 4), (3, 3)], 238_458_632_928, CACHE_BYTES, Decimal("1.1")),
        ([(9, 11), (6, 7), (4, 5), (3, 4), (2, 3)], WEIGHT_BYTES, CACHE_BYTES, 1.25),
        ([(9, 9), (6, 6), (4, 4), (3, 3), (2, 2)], WEIGHT_BYTES, CACHE_BYTES, 1),
    ],
)
def test_all_tiers_come_in_order_under_their_names(
    expected: list[tuple[int, int]], weight_bytes: int, cache_bytes: int, factor: Any
) -> None:
    plans = plan_all_tiers(weight_bytes, cache_bytes, imbalance_factor=factor)

    assert ["32", "48", "64", "96", "128"] == list(plans)
    assert expected == [(plan.arithmetic_minimum_nodes, plan.recommended_nodes) for plan in plans.values()]


def test_totals_in_gib_are_shown_as_published() -> None:
    long = plan_all_tiers(WEIGHT_BYTES, kv_bytes(context_tokens=131_072, sequences=4))["32"]
    file = plan_all_tiers(238_458_632_928, CACHE_BYTES)["32"]

    assert ("230.320", "222.972") == (_in_gib(long.total_placement_bytes, 3), _in_gib(file.total_placement_bytes, 3))


@pytest.mark.parametrize("factor", [1.1, "1.1", "1.10", Decimal("1.1"), Fraction(11, 10)])
def test_an_exact_tie_takes_no_extra_node(factor: Any) -> None:
    """A total of 100 at factor 1.1 fills a budget of 110; in floats 100 * 1.1 is above 110."""
    node = NodeMemory("node", 110, reserve=ReservePolicy(Fraction(0), 0))
    plan = plan_topology(node, 100, 0, imbalance_factor=factor)

    assert (1, 1) == (plan.arithmetic_minimum_nodes, plan.recommended_nodes)


@given(
    weight_bytes=st.integers(1, 2**60),
    cache_bytes=st.integers(0, 2**50),
    usable=st.integers(11 * GIB, 2**50),
    percent=st.integers(100, 300),
)
def test_counts_are_the_least_whose_budgets_hold_what_is_asked(
    weight_bytes: int, cache_bytes: int, usable: int, percent: int
) -> None:
    factor = Fraction(percent, 100)
    plan = plan_topology(NodeMemory("node", usable), weight_bytes, cache_bytes, imbalance_factor=factor)
    total, budget = weight_bytes + cache_bytes, plan.placement_budget_bytes

    assert (plan.arithmetic_minimum_nodes - 1) * budget < total <= plan.arithmetic_minimum_nodes * budget
    assert (plan.recommended_nodes - 1) * budget < total * factor <= plan.recommended_nodes * budget
    assert plan.arithmetic_minimum_nodes <= plan.recommended_nodes


def test_a_tier_that_is_no_whole_number_of_gib_is_named_by_its_bytes() -> None:
    plans = plan_all_tiers(WEIGHT_BYTES, CACHE_BYTES, tiers_bytes=[24 * GIB, 24 * 10**9])

    assert ["24", "24000000000 B"] == list(plans)
    assert ["tier of 24 GiB", "tier of 24000000000 B"] == [plan.name for plan in plans.values()]


@pytest.mark.parametrize(
    ("message", "arguments", "options"),
    [
        ("weights in bytes: 0 is too small; expected an integer of 1 or more.", (0, 0), {}),
        ("weights in bytes: True is not an integer; expected an integer of 1 or more.", (True, 0), {}),
        (
            "weights in bytes: 1000000000.0 is not an integer; expected an integer of 1 or more.",
            (1e9, 0),
            {},
        ),
        ("cache in bytes: -1 is too small; expected an integer of 0 or more.", (1, -1), {}),
        (
            "imbalance factor: 0.99 is too small; expected a finite number of 1 or more.",
            (1, 0),
            {"imbalance_factor": 0.99},
        ),
        (
            "imbalance factor: nan is not a finite number; expected a finite number of 1 or more.",
            (1, 0),
            {"imbalance_factor": float("nan")},
        ),
        (
            "imbalance factor: inf is not a finite number; expected a finite number of 1 or more.",
            (1, 0),
            {"imbalance_factor": float("inf")},
        ),
        (
            "imbalance factor: True is not a finite number; expected a finite number of 1 or more.",
            (1, 0),
            {"imbalance_factor": True},
        ),
        (
            'imbalance factor: "1,1" is not a finite number; expected a finite number of 1 or more.',
            (1, 0),
            {"imbalance_factor": "1,1"},
        ),
        (
            "imbalance factor: 1E+1000000 is not a finite number; expected a finite number of 1 or more.",
            (1, 0),
            {"imbalance_factor": Decimal("1E+1000000")},
        ),
        (
            "imbalance factor: a value of type NoneType is not a finite number; expected a finite number of 1 or more.",
            (1, 0),
            {"imbalance_factor": None},
        ),
        (
            "cache in bytes: a number of many digits is too small; expected an integer of 0 or more.",
            (1, -(10**5000)),
            {},
        ),
        ("tiers: none is listed; expected one or more.", (1, 0), {"tiers_bytes": []}),
        (
            "tier of 32 GiB: it is listed twice; expected every tier once. Leave one out.",
            (1, 0),
            {"tiers_bytes": [32 * GIB, 32 * GIB]},
        ),
        ("tier in bytes: 32.0 is not an integer; expected an integer of 1 or more.", (1, 0), {"tiers_bytes": [32.0]}),
    ],
)
def test_what_is_no_number_of_its_kind_is_refused(
    message: str, arguments: tuple[Any, Any], options: dict[str, Any]
) -> None:
    with pytest.raises(InputError) as caught:
        plan_all_tiers(*arguments, **options)

    assert message == str(caught.value)
