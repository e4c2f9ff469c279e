"""The registry: how a value becomes a limit and a limit an integer cap, and how names are read."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.problems import problem_of

from solver.errors import InputError
from solver.measures import imbalance, stage_load, weighted_imbalance
from solver.objectives import NO_LIMITS, OBJECTIVES, Limits, cap_bytes, objectives_named
from solver.problem import Ends, Placement, Stage

PROBLEM = problem_of((4, 4, 8), (20, 40), ends=Ends(input_bytes=2, output_bytes=3, tied_bytes=2, host_bytes=1))
APART = Placement((Stage(0, 2, "n1"), Stage(2, 3, "n0")))
TOGETHER = Placement((Stage(0, 3, "n0"),))
BYTES = st.integers(0, 10**13)


@pytest.mark.parametrize(
    ("name", "placement", "expected"),
    [
        ("nodes", APART, 2),
        ("nodes", TOGETHER, 1),
        ("balance", APART, Fraction(11, 20)),
        ("balance", TOGETHER, Fraction(20, 20)),
        ("load", APART, 11),
        ("load", TOGETHER, 20),
    ],
)
def test_what_an_objective_measures(name: str, placement: Placement, expected: int | Fraction) -> None:
    """Loads of 11 on 40 and of 11 on 20; all together 20, as the tied part is paid once."""
    assert expected == OBJECTIVES[name].measure(PROBLEM, placement)


def test_imbalance_is_the_largest_load_over_the_share_and_weighted_by_budgets() -> None:
    problem = problem_of((6, 2), (20, 40))
    placement = Placement((Stage(0, 1, "n0"), Stage(1, 2, "n1")))

    assert Fraction(6 * 2, 8) == imbalance(problem, placement)
    assert Fraction(6, 20) / Fraction(8, 60) == weighted_imbalance(problem, placement)


def test_nothing_loaded_is_in_balance() -> None:
    problem = problem_of((0,), (20,))

    assert (1, 1) == (imbalance(problem, TOGETHER), weighted_imbalance(problem, Placement((Stage(0, 1, "n0"),))))


def test_the_load_of_a_stage_is_told_by_kind() -> None:
    load = stage_load(PROBLEM, Stage(0, 2, "n1"))

    assert (10, 0, 1, 11, 40) == (
        load.weight_bytes,
        load.cache_bytes,
        load.other_bytes,
        load.load_bytes,
        load.budget_bytes,
    )


@given(budget=BYTES, over=BYTES, under=st.integers(1, 10**13))
def test_a_cap_is_the_largest_load_with_a_ratio_within_the_limit(budget: int, over: int, under: int) -> None:
    """At most, and strictly below; never above the budget itself. One byte more would break the limit."""
    ratio = Fraction(over, under)
    most = cap_bytes(replace(NO_LIMITS, max_fill=ratio), budget)
    below = cap_bytes(replace(NO_LIMITS, below_fill=ratio), budget)

    assert most == min(budget, (ratio * budget).__floor__())
    assert below == min(budget, (ratio * budget).__ceil__() - 1)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (NO_LIMITS, 90),
        (Limits(None, 80, None, None), 80),
        (Limits(None, 100, None, None), 90),
        (Limits(None, 80, Fraction(1, 2), None), 45),
        (Limits(None, 80, Fraction(2, 3), Fraction(2, 3)), 59),
        (Limits(None, None, None, Fraction(0)), -1),
    ],
)
def test_the_tightest_limit_is_the_cap(limits: Limits, expected: int) -> None:
    assert expected == cap_bytes(limits, 90)


@given(st.sampled_from(("nodes", "load")), st.lists(st.integers(0, 99), min_size=1))
def test_counts_only_ever_tighten(name: str, values: list[int]) -> None:
    objective, at_most, below = OBJECTIVES[name], NO_LIMITS, NO_LIMITS
    for value in values:
        at_most, below = objective.at_most(at_most, value), objective.below(below, value)

    assert {min(values)} == {at_most.max_nodes, at_most.max_load_bytes} - {None}
    assert {min(values) - 1} == {below.max_nodes, below.max_load_bytes} - {None}


@given(st.lists(st.fractions(0, 1), min_size=1))
def test_ratios_only_ever_tighten(values: list[Fraction]) -> None:
    at_most, below = NO_LIMITS, NO_LIMITS
    for value in values:
        at_most = OBJECTIVES["balance"].at_most(at_most, value)
        below = OBJECTIVES["balance"].below(below, value)

    assert (min(values), None, None, min(values)) == (
        at_most.max_fill,
        at_most.below_fill,
        below.max_fill,
        below.below_fill,
    )


def test_names_are_read_in_their_order() -> None:
    assert ["load", "nodes"] == [objective.name for objective in objectives_named("load, nodes")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speed", 'objective: "speed" is not one; expected some of balance, load, nodes. Correct the list.'),
        ("", 'objective: "" is not one; expected some of balance, load, nodes. Correct the list.'),
        ("nodes,,load", 'objective: "" is not one; expected some of balance, load, nodes. Correct the list.'),
        ("nodes,nodes", 'objective: "nodes,nodes" names one twice; expected each once. Remove the second.'),
    ],
)
def test_a_list_that_cannot_be_meant_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        objectives_named(text)

    assert message == str(caught.value)
