"""Numbers as a person reads them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from solver.report.amounts import (
    BYTES,
    GIBIBYTES,
    Scale,
    count,
    gap_text,
    listed,
    ranges,
    ratio,
    scale_for,
    shown_value,
    size,
)
from tensors.units import GIB

MIB = 2**20


@pytest.mark.parametrize(
    ("scale", "amount", "shown"),
    [
        (GIBIBYTES, 0, "0.00 GiB"),
        (GIBIBYTES, 1, "<0.01 GiB"),
        (GIBIBYTES, GIB // 200 + 1, "0.01 GiB"),
        (GIBIBYTES, 1234 * GIB, "1,234.00 GiB"),
        (BYTES, 1234567, "1,234,567 B"),
        (Scale("MiB", MIB), MIB * 3 // 2, "1.50 MiB"),
    ],
)
def test_a_size_has_two_decimals_of_its_unit_and_is_not_nothing_unless_it_is(
    scale: Scale, amount: int, shown: str
) -> None:
    assert shown == scale.amount(amount)


@pytest.mark.parametrize(("largest", "unit"), [(0, "B"), (MIB - 1, "B"), (MIB, "MiB"), (GIB - 1, "MiB"), (GIB, "GiB")])
def test_sizes_of_an_abstract_problem_are_exact_while_they_are_short(largest: int, unit: str) -> None:
    assert unit == scale_for(largest).unit


@pytest.mark.parametrize(
    ("amount", "shown"), [(12288, "12,288 B"), (MIB - 1, "1,048,575 B"), (192 * MIB, "192.00 MiB")]
)
def test_a_single_size_is_exact_below_a_mebibyte(amount: int, shown: str) -> None:
    assert shown == size(amount)


@pytest.mark.parametrize(("number", "shown"), [(0, "0 nodes"), (1, "1 node"), (1500, "1,500 nodes")])
def test_counts_agree_with_their_nouns(number: int, shown: str) -> None:
    assert shown == count(number, "node")


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (3, "count", "3"),
        (Fraction(221, 250), "ratio", "0.8840"),
        (5 * GIB, "bytes", "5.00 GiB"),
        (9, "bytes", "9 B"),
        (12500, "ns/token", "12,500 ns/token"),
        (Fraction(25, 2), "tokens/s", "12.5000 tokens/s"),
    ],
)
def test_values_are_shown_in_their_unit(value: int | Fraction, unit: str, shown: str) -> None:
    assert shown == shown_value(value, unit)


@pytest.mark.parametrize(
    ("value", "bound", "shown"),
    [
        (4, 3, "25.00 %"),
        (3, 3, "0.00 %"),
        (Fraction(7, 9), Fraction(3, 4), "3.57 %"),
        (10**9, 10**9 - 1, "<0.01 %"),
        (3, 4, "33.33 %"),
        (0, 4, "unbounded"),
        (0, 0, "0.00 %"),
    ],
)
def test_a_gap_is_a_share_of_the_value_and_is_0_only_where_it_is_closed(
    value: int | Fraction, bound: int | Fraction, shown: str
) -> None:
    assert shown == gap_text(value, bound)


def test_ratios_are_rounded_to_their_decimals() -> None:
    assert "1.1022" == ratio(Fraction(110219, 100000))
    assert "1.10" == ratio(Fraction(11, 10), 2)


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [((), ""), ((4,), "4"), ((1, 2), "1, 2"), ((1, 2, 3), "1–3"), ((1, 3, 4, 5, 6, 8, 9), "1, 3–6, 8, 9")],
)
def test_runs_of_three_numbers_or_more_are_drawn_together(numbers: tuple[int, ...], shown: str) -> None:
    assert shown == ranges(numbers)


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ((), ""),
        (("desk",), "desk"),
        (("a-1", "a-2"), "a-1, a-2"),
        (("a-1", "a-2", "a-3", "b"), "a-1 to a-3, b"),
        (("n8", "n9", "n10", "n11"), "n8 to n11"),
        (("a-1", "a-3", "a-4", "b-5"), "a-1, a-3, a-4, b-5"),
        (("a-01", "a-02", "a-03"), "a-01, a-02, a-03"),
        (("1", "2", "3"), "1, 2, 3"),
        (("x" * 200, "y", "z"), f"{'x' * 200} and 2 more"),
        (
            tuple(f"node {letter * 20}" for letter in "abcdefgh"),
            f"{', '.join(f'node {c * 20}' for c in 'abcd')} and 4 more",
        ),
        ((*(f"n-{number}" for number in range(2000)), "x" * 200), "n-0 to n-1999 and 1 more"),
    ],
)
def test_numbered_names_are_drawn_together_and_of_a_long_list_the_rest_is_counted(
    names: tuple[str, ...], shown: str
) -> None:
    assert shown == listed(names)
