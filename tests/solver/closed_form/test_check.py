"""A finished placement beside the closed forms."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.closed_form import DeviceLoad, check_plan, imbalance_ceiling, indivisible_blocks
from solver.errors import InputError


def test_equal_budgets_are_judged_by_the_imbalance() -> None:
    used = (DeviceLoad("a", 60, 100), DeviceLoad("b", 40, 100))
    check = check_plan(100, [100, 100, 100], used, 20)

    assert (1, 2) == (check.minimum_nodes, check.recommended_nodes)
    assert (2, 2) == (check.nodes_used, check.devices_used)
    assert Fraction(6, 5) == check.imbalance == check.weighted_imbalance
    assert Fraction(6, 5) == check.imbalance_ceiling
    assert not check.assumption_holds


def test_unlike_budgets_are_judged_by_the_weighted_imbalance() -> None:
    used = (DeviceLoad("a", 75, 150), DeviceLoad("b", 25, 50))
    check = check_plan(100, [150, 50], used, 20)

    assert Fraction(3, 2) == check.imbalance
    assert 1 == check.weighted_imbalance
    assert check.imbalance_ceiling is None
    assert check.assumption_holds


def test_devices_of_one_node_are_one_node() -> None:
    used = (DeviceLoad("a", 50, 100), DeviceLoad("a", 50, 100), DeviceLoad("b", 50, 100))
    check = check_plan(150, [200, 100], used, 10)

    assert (2, 3) == (check.nodes_used, check.devices_used)
    assert (1, 1) == (check.minimum_nodes, check.recommended_nodes)


def test_an_imbalance_of_exactly_the_factor_holds() -> None:
    used = (DeviceLoad("a", 55, 100), DeviceLoad("b", 45, 100))

    assert check_plan(100, [100, 100], used, 10, imbalance_factor="1.10").assumption_holds
    assert not check_plan(100, [100, 100], used, 10, imbalance_factor="1.099999999999999999").assumption_holds


def test_the_recommended_count_is_null_where_all_nodes_do_not_reach_it() -> None:
    used = (DeviceLoad("a", 50, 50), DeviceLoad("b", 50, 50))
    check = check_plan(100, [50, 50], used, 10)

    assert (2, None) == (check.minimum_nodes, check.recommended_nodes)


def test_the_published_imbalance_of_eleven_nodes_breaks_the_assumption() -> None:
    """GLM-5.2 UD-IQ2_XXS with its nextn block on eleven nodes of 32 GiB measures 1.1022, above the assumed 1.10."""
    total, largest = 239_404_999_680, 23_987_786_752
    rest, odd = divmod(total - largest, 10)
    loads = [largest, rest + odd, *[rest] * 9]
    budget = 24 * 2**30
    used = tuple(DeviceLoad(f"n{index}", load, budget) for index, load in enumerate(loads))
    check = check_plan(total, [budget] * 11, used, 3_973_681_152)

    assert (10, 11) == (check.minimum_nodes, check.recommended_nodes)
    assert "1.1022" == f"{float(check.imbalance):.4f}"
    assert not check.assumption_holds


@pytest.mark.parametrize("used", [(), (DeviceLoad("a", 0, 10),), (DeviceLoad("a", 10, 0),)])
def test_a_placement_of_nothing_cannot_be_judged(used: tuple[DeviceLoad, ...]) -> None:
    with pytest.raises(InputError) as caught:
        check_plan(10, [10], used, 1)

    assert "placement: it loads nothing, or a device without a budget; expected loads on real budgets." == str(
        caught.value
    )


@given(blocks=st.lists(st.integers(1, 50), min_size=1, max_size=8), budget=st.integers(50, 120))
def test_filling_from_the_front_needs_the_fewest_equal_nodes(blocks: list[int], budget: int) -> None:
    """One more than the blocks that end a run is the least number of runs, by trying every cut."""
    fewest = next(
        runs
        for runs in range(1, len(blocks) + 1)
        for cuts in combinations(range(1, len(blocks)), runs - 1)
        if all(sum(blocks[start:end]) <= budget for start, end in zip((0, *cuts), (*cuts, len(blocks)), strict=True))
    )

    assert fewest == len(indivisible_blocks(blocks, budget)) + 1


@given(blocks=st.lists(st.integers(1, 50), min_size=1, max_size=8), data=st.data())
def test_the_ceiling_of_the_imbalance_is_kept_by_the_best_cut(blocks: list[int], data: st.DataObject) -> None:
    devices = data.draw(st.integers(1, len(blocks)))
    best = min(
        max(sum(blocks[start:end]) for start, end in zip((0, *cuts), (*cuts, len(blocks)), strict=True))
        for cuts in combinations(range(1, len(blocks)), devices - 1)
    )

    assert Fraction(best * devices, sum(blocks)) <= imbalance_ceiling(devices, max(blocks), sum(blocks))


def test_a_block_above_the_budget_is_named() -> None:
    with pytest.raises(InputError) as caught:
        indivisible_blocks([1, 5], 4)

    assert "block 1: 5 B; expected the budget of 4 B at most." == str(caught.value)
