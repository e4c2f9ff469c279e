"""Numbers as logs print them, with what their digits leave open."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.engines.logs.amounts import Printed, printed_bytes, printed_hundredths


@pytest.mark.parametrize(
    ("number", "unit", "printed"),
    [
        ("22494.06", "MiB", Printed(23586731459, 5243)),
        ("0.00", "MiB", Printed(0, 5243)),
        ("13.72", "GiB", Printed(14731737825, 5368710)),
        ("7.2393", "GiB", Printed(7773139186, 53688)),
        ("7.5", "GB", Printed(8053063680, 53687092)),
        ("12", "GiB", Printed(12 * 2**30, 0)),
    ],
)
def test_a_size_is_known_to_half_its_last_digit(number: str, unit: str, printed: Printed) -> None:
    """Older builds write GB and mean 2^30 bytes."""
    assert printed == printed_bytes(number, unit)


def test_concurrency_is_printed_in_hundredths() -> None:
    assert Printed(599, 1) == printed_hundredths("5.99")
    assert Printed(600, 0) == printed_hundredths("6")


@given(st.integers(0, 10**13))
def test_the_true_size_is_within_the_precision(size_bytes: int) -> None:
    printed = printed_bytes(f"{size_bytes / 2**20:.2f}", "MiB")

    assert abs(printed.amount - size_bytes) <= printed.precision


def test_sums_add_what_is_open() -> None:
    assert Printed(3, 12) == Printed(1, 5) + Printed(2, 7)


@pytest.mark.parametrize("number", ["", "--1", "1e9", "1.", "\u0661", "nan", "1" * 13])
def test_what_is_no_number_of_a_log_is_refused(number: str) -> None:
    with pytest.raises(ValueError, match=r"^'.*' is no number of a log$"):
        printed_bytes(number, "MiB")
