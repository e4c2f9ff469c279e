"""The order of options, and quality with its two caps."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pools import GOLDEN_ARTIFACTS, GOLDEN_NODES

from solver.options import Option, Place, options, quality, rank
from solver.options.ranking import first_difference, rank_key


@pytest.mark.parametrize(
    ("bits", "on_gpu", "on_cpu"),
    [
        ("4.8", "4.8", "4.8"),
        ("6.6", "6.6", "5.6"),
        ("8.5", "8.5", "5.125"),
        ("16", "6.75", "3.25"),
        ("32", "2.75", "-0.75"),
        ("0", "0", "0"),
        ("8.6", "8.6", "5.1"),
        ("5.8", "5.8", "5.8"),
    ],
)
def test_quality_grows_with_bits_up_to_a_cap_and_falls_slowly_behind_it(bits: str, on_gpu: str, on_cpu: str) -> None:
    assert Fraction(on_gpu) == quality(Fraction(bits))
    assert Fraction(on_cpu) == quality(Fraction(bits), cpu=True)


def test_unknown_bits_have_no_quality() -> None:
    assert quality(None) == 0 == quality(None, cpu=True)


def test_floats_are_taken_as_well() -> None:
    assert pytest.approx(5.6) == quality(6.6, cpu=True)
    assert pytest.approx(6.75) == quality(16.0)


GOLDEN = options(GOLDEN_ARTIFACTS, GOLDEN_NODES, 8192)


def option(**place: object) -> Option:
    """Return the first golden option at another place."""
    return replace(GOLDEN[0], place=replace(GOLDEN[0].place, **place))


FIRST = GOLDEN[0]


@pytest.mark.parametrize(
    ("better", "worse", "criterion"),
    [
        (FIRST, option(cpu=True, cards=0), 0),
        (option(cards=2, nodes=5), option(cards=3), 1),
        (option(cards=4, nodes=1), option(cards=4, nodes=2), 2),
        (FIRST, replace(FIRST, artifact=GOLDEN_ARTIFACTS[0]), 3),
        (replace(FIRST, free_now=True), replace(FIRST, free_now=None), 4),
        (replace(FIRST, free_now=None), replace(FIRST, free_now=False), 4),
        (replace(FIRST, need_bytes=1), replace(FIRST, need_bytes=2), 5),
    ],
)
def test_each_criterion_decides_where_those_before_are_equal(better: Option, worse: Option, criterion: int) -> None:
    assert (better, worse) == rank([worse, better])
    assert criterion == first_difference(better, worse)


def test_busy_is_not_unfit() -> None:
    """One card in use must not send every artifact to a processor."""
    busy = replace(FIRST, free_now=False)
    on_host = option(cpu=True, cards=0)

    assert (busy, on_host) == rank([on_host, busy])


def test_ties_keep_the_order_of_artifacts_and_then_the_names_of_classes() -> None:
    a1, b1 = replace(option(gpu_class="b"), order=1), replace(option(gpu_class="a"), order=1)
    c0 = replace(option(gpu_class="z"), order=0)

    assert (c0, b1, a1) == rank([a1, b1, c0])
    assert first_difference(a1, b1) is None


options_drawn = st.builds(
    lambda cpu, cards, nodes, free, need, order, label: replace(
        FIRST,
        artifact=GOLDEN_ARTIFACTS[order],
        order=order,
        free_now=free,
        need_bytes=need,
        place=Place(cpu, label, "", cards, nodes, cards * nodes, f"{cards} × {label} on {nodes}"),
    ),
    st.booleans(),
    st.integers(1, 3),
    st.integers(1, 2),
    st.sampled_from([True, False, None]),
    st.integers(0, 2),
    st.integers(0, 4),
    st.sampled_from(["a", "b"]),
)


@given(
    st.lists(options_drawn, max_size=12, unique_by=lambda one: (rank_key(one), one.order, one.place.gpu_class)),
    st.integers(),
)
def test_the_order_is_total_and_does_not_depend_on_the_order_of_input(drawn: list[Option], seed: int) -> None:
    """Only options that are equal in all criteria, of one artifact and one class, keep the order given."""
    shuffled = list(drawn)
    random.Random(seed).shuffle(shuffled)

    assert rank(drawn) == rank(shuffled)
    assert sorted(map(rank_key, drawn)) == [rank_key(one) for one in rank(drawn)]
