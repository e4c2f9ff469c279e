"""Arithmetic in 32-bit floats, bit by bit, as C computes it.

Sums, quotients and conversions of 32-bit floats are right when they are computed in 64 bits and rounded once more:
53 bits are more than twice 24 and two (https://doi.org/10.1145/221332.221334). Only decimal text needs care.
"""

from __future__ import annotations

import math
from fractions import Fraction
from struct import Struct
from typing import Final

__all__ = ["LARGEST", "cumulative_shares", "from_text", "rounded"]

_SINGLE = Struct("<f")

LARGEST: Final = (2 - 2.0**-23) * 2.0**127
"""The largest finite 32-bit float."""


def rounded(number: float) -> float:
    """Return the nearest 32-bit float, ties to even.

    >>> rounded(0.1)
    0.10000000149011612

    Raises:
        OverflowError: the number is beyond the largest of them.
    """
    single: float = _SINGLE.unpack(_SINGLE.pack(number))[0]
    return single


def from_text(number: str) -> float:
    """Return the 32-bit float nearest to a decimal number.

    Raises:
        ValueError: the text is no finite decimal number.
        OverflowError: the number is beyond the largest 32-bit float.
    """
    exact, double = Fraction(number), float(number)
    if exact != double and int(double / math.ulp(double)) % 2 == 0:
        # Rounding twice is right if the first time is to odd: then no tie is made that was none.
        double = math.nextafter(double, math.inf if exact > double else -math.inf)
    return rounded(double)


def cumulative_shares(shares: list[float]) -> list[float]:
    """Return the sums of the first 1, 2, … shares over the sum of all (src/llama-model.cpp, load_tensors, b11434).

    Each sum is rounded before the next share is added, then each is divided by the last.

    Raises:
        OverflowError: the sum is beyond the largest 32-bit float.
    """
    sums: list[float] = []
    total = 0.0
    for share in shares:
        total = rounded(total + share)
        sums.append(total)
    return [rounded(part / total) for part in sums]
