"""32-bit floats bit by bit, with numpy as the reference."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.engines.llamacpp.float32 import LARGEST, cumulative_shares, from_text, rounded

singles = st.floats(min_value=0, max_value=2.0**100, width=32)


def nearest(exact: Fraction) -> float:
    """Return the 32-bit float nearest to a number, found among the neighbours of a first guess."""
    guess = np.float32(float(exact))
    around = [guess, np.nextafter(guess, np.float32(np.inf)), np.nextafter(guess, np.float32(-np.inf))]
    return float(min(around, key=lambda single: (abs(Fraction(float(single)) - exact), int(single.view(np.int32)) % 2)))


@given(st.floats(min_value=-LARGEST, max_value=LARGEST))
def test_rounding_is_that_of_the_processor(number: float) -> None:
    assert float(np.float32(number)) == rounded(number)


@given(st.decimals(min_value=0, max_value=10**12, places=20))
def test_text_becomes_the_nearest_float(number: object) -> None:
    assert nearest(Fraction(str(number))) == from_text(f"{number:f}")


@given(st.integers(2**23, 2**24 - 2), st.integers(15, 30), st.booleans())
def test_text_next_to_a_tie_is_not_rounded_twice(number: int, digits: int, above: bool) -> None:
    """Half way between two floats and a hair beside it: in 64 bits that hair is lost."""
    text = f"{number}.5{'0' * digits}1" if above else f"{number}.4{'9' * digits}"

    assert number + above == from_text(text)


@given(st.lists(singles, min_size=1, max_size=16).filter(any))
def test_sums_are_rounded_one_by_one(shares: list[float]) -> None:
    total, sums = np.float32(0), []
    for share in shares:
        total = np.float32(total + np.float32(share))
        sums.append(total)

    assert [float(np.float32(part / total)) for part in sums] == cumulative_shares(shares)


def test_what_is_beyond_the_largest_is_refused() -> None:
    assert LARGEST == rounded(LARGEST)
    with pytest.raises(OverflowError):
        from_text("1e39")
