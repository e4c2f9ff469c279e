"""What was predicted and what a log says, as amounts of one thing on one subject."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

__all__ = ["Observation", "Prediction", "Printed", "Unit", "printed_bytes", "printed_hundredths"]

_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "GB": 2**30}
_NUMBER = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,9})?", re.ASCII)


class Unit(StrEnum):
    """What an amount counts; sequences are counted in hundredths, as logs print them."""

    BYTES = "bytes"
    TOKENS = "tokens"
    PAGES = "pages"
    HUNDREDTHS = "hundredths"


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as a log prints it: the true one is within `precision` of `amount`."""

    amount: int
    precision: int

    def __add__(self, other: Printed) -> Printed:
        return Printed(self.amount + other.amount, self.precision + other.precision)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was said to be: between `low` and `high`, both included."""

    subject: str
    what: str
    unit: Unit
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Observation:
    """What a log says. `logged_as` is the log's own name of the subject."""

    subject: str
    what: str
    unit: Unit
    printed: Printed
    logged_as: str


def printed_bytes(number: str, unit: str) -> Printed:
    """Return bytes of a number such as "22494.06" and its unit, with half of its last digit as precision.

    "GB" in these logs is 2^30 bytes, as older builds wrote it.

    Raises:
        ValueError: the text is no such number.

    >>> printed_bytes("1.5", "KiB")
    Printed(amount=1536, precision=52)
    """
    return _printed(number, _UNITS[unit])


def printed_hundredths(number: str) -> Printed:
    """Return hundredths of a number such as "5.99".

    Raises:
        ValueError: the text is no such number.
    """
    return _printed(number, 100)


def _printed(number: str, scale: int) -> Printed:
    if _NUMBER.fullmatch(number) is None:
        raise ValueError(f"{number!r} is no number of a log")
    _, _, digits = number.partition(".")
    half = Fraction(scale, 2 * 10 ** len(digits)) if digits else Fraction(0)
    return Printed(round(Fraction(number) * scale), -(-half.numerator // half.denominator))
