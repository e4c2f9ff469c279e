"""The registry: what each objective makes small, how that is shown, how it becomes a limit, and how names are read."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.problems import problem_of
from support.timed import GB, growing, joined, near, timed, within

from solver.errors import InputError
from solver.limits import NO_LIMITS
from solver.objectives import OBJECTIVES, Sense, objectives_named
from solver.problem import Ends, Placement, Stage

if TYPE_CHECKING:
    from solver.limits import Limits, Value

PROBLEM = growing(
    joined(
        timed(
            problem_of((4, 4, 8), (20, 40), ends=Ends(input_bytes=2, output_bytes=3, tied_bytes=2, host_bytes=1)),
            (GB, 2 * GB),
        ),
        near(5, GB),
        activation_bytes=3,
    ),
    (0, 1, 2),
)
APART = Placement((Stage(0, 2, "n1"), Stage(2, 3, "n0")))
TOGETHER = Placement((Stage(0, 3, "n0"),))


@pytest.mark.parametrize(
    ("name", "placement", "expected"),
    [
        ("nodes", APART, 2),
        ("nodes", TOGETHER, 1),
        ("balance", APART, Fraction(11, 20)),
        ("balance", TOGETHER, Fraction(20, 20)),
        ("load", APART, 11),
        ("load", TOGETHER, 20),
        ("latency", APART, 4 + 8 + 8),
        ("latency", TOGETHER, 16),
        ("throughput", APART, Fraction(10**9, 8)),
        ("throughput", TOGETHER, Fraction(10**9, 16)),
        ("headroom", APART, 9),
        ("headroom", TOGETHER, 0),
        ("context", APART, 0),
        ("context", TOGETHER, 0),
        ("tokens", APART, 4),
        ("tokens", TOGETHER, 0),
    ],
)
def test_what_an_objective_measures(name: str, placement: Placement, expected: int | Fraction) -> None:
    """Loads of 11 on 40 and of 11 on 20; all together 20, as the tied part is paid once."""
    objective = OBJECTIVES[name]
    value = objective.value(objective.cost(PROBLEM, placement))

    assert (expected, type(expected)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "sense", "unit", "cost", "value"),
    [
        ("nodes", Sense.MIN, "count", 3, 3),
        ("balance", Sense.MIN, "ratio", Fraction(3, 4), Fraction(3, 4)),
        ("load", Sense.MIN, "bytes", 3, 3),
        ("latency", Sense.MIN, "ns/token", 3, 3),
        ("throughput", Sense.MAX, "tokens/s", 3, Fraction(10**9, 3)),
        ("headroom", Sense.MAX, "bytes", -3, 3),
        ("context", Sense.MAX, "tokens", -512, 512),
        ("tokens", Sense.MAX, "tokens", -3, 3),
    ],
)
def test_a_cost_is_shown_in_the_unit_of_its_objective(
    name: str, sense: Sense, unit: str, cost: Value, value: Value
) -> None:
    """Costs are made small; values are what people read."""
    objective = OBJECTIVES[name]

    assert (sense, unit, value) == (objective.sense, objective.unit, objective.value(cost))


@given(st.sampled_from(sorted(OBJECTIVES)), st.integers(1, 10**15), st.integers(1, 10**15))
def test_a_smaller_cost_is_a_better_value(name: str, one: int, other: int) -> None:
    objective = OBJECTIVES[name]
    sign = -1 if name in {"headroom", "context", "tokens"} else 1
    first, second = objective.value(sign * one), objective.value(sign * other)
    better = first < second if objective.sense is Sense.MIN else first > second

    assert (sign * one < sign * other) == better


@pytest.mark.parametrize("tokens", [0, 1, 255, 256, 257, 511, 512, 70_000])
def test_the_longest_context_is_a_multiple_of_256(tokens: int) -> None:
    """The weakest stage has room for so many tokens and a rest; what is above the last whole step is no context."""
    problem = growing(problem_of((4,), (4 + 3 * tokens + 2,)), (3,))

    assert tokens // 256 * 256 == -OBJECTIVES["context"].cost(problem, Placement((Stage(0, 1, "n0"),)))


@pytest.mark.parametrize(
    ("name", "cost", "at_most", "below"),
    [
        ("nodes", 3, within(max_nodes=3), within(max_nodes=2)),
        ("balance", Fraction(3, 4), within(max_fill=Fraction(3, 4)), within(below_fill=Fraction(3, 4))),
        ("load", 30, within(max_load_bytes=30), within(max_load_bytes=29)),
        ("latency", 30, within(max_latency_ns=30), within(max_latency_ns=29)),
        ("throughput", 30, within(max_slowest_ns=30), within(max_slowest_ns=29)),
        ("headroom", -30, within(min_headroom_bytes=30), within(min_headroom_bytes=31)),
        ("context", -512, within(min_tokens=512), within(min_tokens=768)),
        ("context", -300, within(min_tokens=512), within(min_tokens=512)),
        ("tokens", -30, within(min_tokens=30), within(min_tokens=31)),
    ],
)
def test_a_cost_becomes_a_limit(name: str, cost: Value, at_most: Limits, below: Limits) -> None:
    """No worse, and better by the least there is: a byte, a token, a nanosecond, a step of 256, or strictly."""
    assert at_most == OBJECTIVES[name].at_most(NO_LIMITS, cost)
    assert below == OBJECTIVES[name].below(NO_LIMITS, cost)


@pytest.mark.parametrize("name", ["tokens", "context"])
def test_no_tokens_at_all_is_no_limit(name: str) -> None:
    """Every placement has room for 0, also one whose caches would not fit when empty."""
    assert NO_LIMITS == OBJECTIVES[name].at_most(NO_LIMITS, 0)


INTEGERS = {"nodes": 1, "load": 1, "latency": 1, "throughput": 1, "headroom": -1, "tokens": -1}


@given(st.sampled_from(sorted(INTEGERS)), st.lists(st.integers(1, 99), min_size=1))
def test_counts_only_ever_tighten(name: str, values: list[int]) -> None:
    objective, at_most, below = OBJECTIVES[name], NO_LIMITS, NO_LIMITS
    costs = [INTEGERS[name] * value for value in values]
    for cost in costs:
        at_most, below = objective.at_most(at_most, cost), objective.below(below, cost)

    assert [abs(min(costs))] == told(at_most)
    assert [abs(min(costs) - 1)] == told(below)


@given(st.lists(st.integers(1, 99), min_size=1))
def test_a_context_only_ever_tightens_by_whole_steps(steps: list[int]) -> None:
    objective, at_most, below = OBJECTIVES["context"], NO_LIMITS, NO_LIMITS
    for step in steps:
        at_most, below = objective.at_most(at_most, -256 * step), objective.below(below, -256 * step)

    assert (max(steps) * 256, max(steps) * 256 + 256) == (at_most.min_tokens, below.min_tokens)


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


def test_a_limit_of_one_objective_leaves_those_of_others() -> None:
    """As the levels of a question add up."""
    limits = NO_LIMITS
    for name, cost in (("nodes", 2), ("tokens", -9), ("throughput", 7), ("headroom", -1), ("latency", 30)):
        limits = OBJECTIVES[name].at_most(limits, cost)

    assert within(max_nodes=2, min_tokens=9, max_slowest_ns=7, min_headroom_bytes=1, max_latency_ns=30) == limits


def test_names_are_read_in_their_order() -> None:
    assert ["load", "nodes"] == [objective.name for objective in objectives_named("load, nodes")]
    assert list(OBJECTIVES) == [objective.name for objective in objectives_named(",".join(OBJECTIVES))]


KNOWN = (
    "expected some of balance, context, headroom, latency, load, nodes, offload, throughput, tokens. Correct the list."
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speed", f'objective: "speed" is not one; {KNOWN}'),
        ("", f'objective: "" is not one; {KNOWN}'),
        ("nodes,,load", f'objective: "" is not one; {KNOWN}'),
        ("nodes,nodes", 'objective: "nodes,nodes" names one twice; expected each once. Remove the second.'),
    ],
)
def test_a_list_that_cannot_be_meant_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        objectives_named(text)

    assert message == str(caught.value)


def told(limits: Limits) -> list[object]:
    """Return what limits hold, without those that are not set."""
    return [value for field in fields(limits) if (value := getattr(limits, field.name)) is not None]
