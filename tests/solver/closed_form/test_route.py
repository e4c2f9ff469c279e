"""Sums over unlike nodes (golden figures G3)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.closed_form import MemoryView, NodeMemory, ReservePolicy, plan_route
from solver.closed_form.route import fewest_largest
from solver.errors import InputError
from tensors.units import GIB

WEIGHT_BYTES = 216_715_360_960
CACHE_BYTES = 955_908_096
FLOOR_BYTES = 224 * GIB


def _nodes(*sizes: int | tuple[int, int]) -> tuple[NodeMemory, ...]:
    """One node for each size in GiB, named a, b, c, …; a pair is RAM and discrete GPU memory in the combined view."""
    return tuple(
        NodeMemory.from_host(name, size[0] * GIB, size[1] * GIB, unified=False)
        if isinstance(size, tuple)
        else NodeMemory(name, size * GIB)
        for name, size in zip("abcdefgh", sizes, strict=False)
    )


def _rounded(size_bytes: int) -> float:
    return round(size_bytes / GIB, 3)


BUDGET_177 = "budget: 177.600 GiB of 202.722 GiB that are required; 25.122 GiB are missing"
BUDGET_153 = "budget: 153.600 GiB of 202.722 GiB that are required; 49.122 GiB are missing"
SINGLE_HOST = "single host: a alone has a budget of 204.800 GiB for 202.722 GiB"
FLOOR = "floor: 192.000 GiB usable in all, below the floor of 224.000 GiB"


@pytest.mark.parametrize(
    ("nodes", "usable", "budget", "headroom", "fits", "floor", "no_single", "reasons"),
    [
        (_nodes(32, 48, 64, 96, 128), 368, 292.8, 90.078, True, True, True, ()),
        (_nodes(128, 64, 64), 256, 204.8, 2.078, True, True, True, ()),
        (_nodes(128, (64, 24), (32, 16)), 264, 211.2, 8.478, True, True, True, ()),
        (_nodes(127, 127), 254, 203.2, 0.478, True, True, True, ()),
        (_nodes(128, 128, 6), 262, 202.8, 0.078, True, True, True, ()),
        (_nodes(256, 32), 288, 228.8, 26.078, True, True, False, (SINGLE_HOST,)),
        (_nodes(96, 96, 32), 224, 177.6, -25.122, False, True, True, (BUDGET_177,)),
        (_nodes(64, 64, 64), 192, 153.6, -49.122, False, False, True, (BUDGET_153, FLOOR)),
    ],
)
def test_a_route_sums_to_these_figures(
    nodes: tuple[NodeMemory, ...],
    usable: int,
    budget: float,
    headroom: float,
    fits: bool,
    floor: bool,
    no_single: bool,
    reasons: tuple[str, ...],
) -> None:
    plan = plan_route(nodes, WEIGHT_BYTES, CACHE_BYTES, floor_bytes=FLOOR_BYTES)

    assert len(nodes) == plan.node_count
    assert (usable, budget) == (
        _rounded(plan.aggregate_usable_bytes),
        _rounded(plan.aggregate_placement_budget_bytes),
    )
    assert (202.722, headroom) == (_rounded(plan.required_placement_bytes), _rounded(plan.headroom_bytes))
    assert (fits, floor, no_single) == (plan.fits, plan.meets_hard_fit_floor, plan.no_single_node_can_admit_target)
    assert reasons == plan.reasons


def test_a_negative_budget_counts_and_is_noted() -> None:
    plan = plan_route(_nodes(128, 128, 6), WEIGHT_BYTES, CACHE_BYTES)

    assert ("c: reserve exceeds memory by 2.0 GiB; leaving it out gains that much",) == plan.notes
    assert -2 * GIB == plan.nodes[2].placement_budget_bytes


def test_no_floor_means_no_verdict_on_it() -> None:
    plan = plan_route(_nodes(64, 64, 64), WEIGHT_BYTES, CACHE_BYTES)

    assert plan.meets_hard_fit_floor is None
    assert (BUDGET_153,) == plan.reasons


def test_all_reasons_come_in_their_order() -> None:
    """A node whose reserve exceeds its memory can leave a single host with more than all nodes together."""
    policy = ReservePolicy(Fraction(0), 8 * GIB)
    nodes = (NodeMemory("big", 18 * GIB, reserve=policy), NodeMemory("small", GIB, reserve=policy))
    plan = plan_route(nodes, 9 * GIB, 0, floor_bytes=32 * GIB)

    assert (
        "budget: 3.000 GiB of 9.000 GiB that are required; 6.000 GiB are missing",
        "single host: big alone has a budget of 10.000 GiB for 9.000 GiB",
        "floor: 19.000 GiB usable in all, below the floor of 32.000 GiB",
    ) == plan.reasons


@given(
    sizes=st.lists(st.integers(1, 2**45), min_size=2, max_size=8),
    weight_bytes=st.integers(1, 2**46),
    cache_bytes=st.integers(0, 2**30),
    floor_bytes=st.integers(1, 2**46),
)
def test_a_route_is_its_sums(sizes: list[int], weight_bytes: int, cache_bytes: int, floor_bytes: int) -> None:
    nodes = tuple(NodeMemory(f"n{index}", size) for index, size in enumerate(sizes))
    plan = plan_route(nodes, weight_bytes, cache_bytes, floor_bytes=floor_bytes)
    budgets = [node.placement_budget_bytes for node in nodes]
    required = weight_bytes + cache_bytes

    assert sum(budgets) - required == plan.headroom_bytes
    assert (sum(budgets) >= required) == plan.fits
    assert all(budget < required for budget in budgets) == plan.no_single_node_can_admit_target
    assert (sum(sizes) >= floor_bytes) == plan.meets_hard_fit_floor
    assert sum(budget < 0 for budget in budgets) == len(plan.notes)
    assert (not plan.fits, not plan.no_single_node_can_admit_target, not plan.meets_hard_fit_floor) == tuple(
        any(reason.startswith(word) for reason in plan.reasons) for word in ("budget", "single host", "floor")
    )


@pytest.mark.parametrize("delta", [-1, 0, 1])
def test_equality_fits_and_one_byte_less_does_not(delta: int) -> None:
    nodes = _nodes(32, 32)
    plan = plan_route(nodes, 48 * GIB - delta, 0)

    assert (delta >= 0) == plan.fits
    assert delta == plan.headroom_bytes


@given(budgets=st.lists(st.integers(-100, 100), max_size=8), required=st.integers(1, 400))
def test_the_fewest_nodes_are_the_largest(budgets: list[int], required: int) -> None:
    """No smaller subset of any kind reaches what is required, and the largest m do."""
    fewest = fewest_largest(budgets, required)
    ordered = sorted(budgets, reverse=True)
    enough = [count for count in range(1, len(budgets) + 1) if sum(ordered[:count]) >= required]

    assert (min(enough) if enough else None) == fewest


def test_counts_of_unlike_nodes_are_null_where_all_do_not_suffice() -> None:
    enough = plan_route(_nodes(32, 48, 64, 96, 128), WEIGHT_BYTES, CACHE_BYTES)
    tight = plan_route(_nodes(128, 64, 64), WEIGHT_BYTES, CACHE_BYTES)
    short = plan_route(_nodes(64, 64, 64), WEIGHT_BYTES, CACHE_BYTES)

    assert (3, 3) == (enough.arithmetic_minimum_nodes, enough.recommended_nodes)
    assert (3, None) == (tight.arithmetic_minimum_nodes, tight.recommended_nodes)
    assert (None, None) == (short.arithmetic_minimum_nodes, short.recommended_nodes)


def test_the_view_is_carried_along() -> None:
    plan = plan_route(_nodes(128, 128), WEIGHT_BYTES, CACHE_BYTES, view=MemoryView.COMBINED)

    assert MemoryView.COMBINED is plan.view


@pytest.mark.parametrize(
    ("message", "nodes", "options"),
    [
        ("route: its nodes number 1; expected 2 or more. Add a node.", _nodes(128), {}),
        (
            "desk: the name is given twice; expected every machine once. Rename one or leave it out.",
            (NodeMemory("desk", GIB), NodeMemory(" desk ", GIB)),
            {},
        ),
        (
            "floor in bytes: 0 is too small; expected an integer of 1 or more.",
            _nodes(128, 128),
            {"floor_bytes": 0},
        ),
        (
            "floor in bytes: 224.5 is not an integer; expected an integer of 1 or more.",
            _nodes(128, 128),
            {"floor_bytes": 224.5},
        ),
    ],
)
def test_a_route_that_cannot_be_is_refused(
    message: str, nodes: tuple[NodeMemory, ...], options: dict[str, Any]
) -> None:
    with pytest.raises(InputError) as caught:
        plan_route(nodes, WEIGHT_BYTES, CACHE_BYTES, **options)

    assert message == str(caught.value)
