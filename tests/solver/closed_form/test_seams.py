"""Bytes and times at the seams (golden figures G4)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.closed_form import plan_seams, sideband_crosses
from solver.errors import InputError


@pytest.mark.parametrize(
    ("nodes", "rate", "decode", "latency", "prefill"),
    [
        (2, "1", "0.0983", 0.5, "1610.613"),
        (2, "2.5", "0.0393", 0.5, "644.245"),
        (2, "10", "0.0098", 0.5, "161.061"),
        (2, "25", "0.0039", 0.5, "64.425"),
        (5, "1", "0.3932", 2, "6442.451"),
        (5, "2.5", "0.1573", 2, "2576.980"),
        (5, "10", "0.0393", 2, "644.245"),
        (5, "25", "0.0157", 2, "257.698"),
        (10, "1", "0.8847", 4.5, "14495.515"),
        (10, "2.5", "0.3539", 4.5, "5798.206"),
        (10, "10", "0.0885", 4.5, "1449.551"),
        (10, "25", "0.0354", 4.5, "579.821"),
    ],
)
def test_the_seams_of_glm_5_2_take_this_long(nodes: int, rate: str, decode: str, latency: float, prefill: str) -> None:
    plan = plan_seams(nodes, rate_gbps=rate)

    assert nodes - 1 == plan.seam_count
    assert (12_288, 201_326_592, 8_192) == (
        plan.bytes_per_token_per_seam,
        plan.prefill_bytes_per_seam,
        plan.dsa_sideband_bytes_per_query,
    )
    assert decode == f"{plan.decode_serialization_ns(plan.seam_count) / 10**6:.4f}"
    assert latency * 10**6 == plan.decode_latency_ns
    assert prefill == f"{plan.prefill_serialization_ns(plan.seam_count) / 10**6:.3f}"


@pytest.mark.parametrize(
    ("rate", "minimum", "recommended"),
    [
        ("1", False, False),
        ("2.499999999", False, False),
        ("2.5", True, False),
        (2.5, True, False),
        ("9.999999999", True, False),
        ("10", True, True),
        ("25", True, True),
    ],
)
def test_a_rate_that_is_just_reached_is_met(rate: Any, minimum: bool, recommended: bool) -> None:
    plan = plan_seams(2, rate_gbps=rate)

    assert (minimum, recommended) == (plan.meets_minimum_rate, plan.meets_recommended_rate)


@given(
    nodes=st.integers(2, 1000),
    hidden=st.integers(1, 10**6),
    context=st.integers(1, 10**7),
    rate=st.fractions(Fraction(1, 10**6), 10**6),
    latency=st.fractions(0, 10**6),
)
def test_times_are_the_least_whole_nanoseconds_that_suffice(
    nodes: int, hidden: int, context: int, rate: Fraction, latency: Fraction
) -> None:
    plan = plan_seams(nodes, hidden_size=hidden, context_tokens=context, rate_gbps=rate, hop_latency_ms=latency)

    for seams in (1, nodes - 1):
        bits = 2 * hidden * seams * 8
        assert plan.decode_serialization_ns(seams) - 1 < bits / rate <= plan.decode_serialization_ns(seams)
        assert plan.prefill_serialization_ns(seams) - 1 < bits * context / rate <= plan.prefill_serialization_ns(seams)
    assert plan.decode_latency_ns == plan.hop_latency_ns * (nodes - 1)
    assert plan.hop_latency_ns - 1 < latency * 10**6 <= plan.hop_latency_ns


def test_a_fraction_of_a_nanosecond_rounds_up() -> None:
    assert 39_322 == plan_seams(2).decode_serialization_ns(1)
    assert 157_287 == plan_seams(5).decode_serialization_ns(4)


def test_latency_may_be_zero() -> None:
    assert 0 == plan_seams(10, hop_latency_ms=0).decode_latency_ns


def test_indices_cross_a_seam_where_the_next_block_computes_none() -> None:
    full = frozenset((0, 1, 2, *range(6, 75, 4)))

    assert [True, False, True] == [sideband_crosses(block, full) for block in (3, 6, 77)]


@pytest.mark.parametrize(
    ("message", "nodes", "options"),
    [
        ("nodes: 1 is too small; expected an integer of 2 or more.", 1, {}),
        ("nodes: 2.0 is not an integer; expected an integer of 2 or more.", 2.0, {}),
        ("nodes: True is not an integer; expected an integer of 2 or more.", True, {}),
        (
            "link rate in Gbit/s: 0 is too small; expected a finite number above 0.",
            2,
            {"rate_gbps": 0},
        ),
        (
            "link rate in Gbit/s: inf is not a finite number; expected a finite number above 0.",
            2,
            {"rate_gbps": float("inf")},
        ),
        (
            "hop latency in ms: -0.5 is too small; expected a finite number of 0 or more.",
            2,
            {"hop_latency_ms": -0.5},
        ),
        (
            "hop latency in ms: nan is not a finite number; expected a finite number of 0 or more.",
            2,
            {"hop_latency_ms": float("nan")},
        ),
        ("context: 1.5 is not an integer; expected an integer of 1 or more.", 2, {"context_tokens": 1.5}),
        ("hidden size: 0 is too small; expected an integer of 1 or more.", 2, {"hidden_size": 0}),
        ("index top-k: -1 is too small; expected an integer of 0 or more.", 2, {"index_topk": -1}),
    ],
)
def test_seams_that_cannot_be_are_refused(message: str, nodes: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        plan_seams(nodes, **options)

    assert message == str(caught.value)
