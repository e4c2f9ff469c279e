"""Reading numbers exactly: what is no number of the kind asked for is refused by name, and none passes a float."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from solver.errors import InputError

__all__ = ["ExactNumber", "gib", "positive_number", "printable", "ratio_at_least_one", "truth", "whole", "zero_or_more"]

ExactNumber: TypeAlias = int | float | str | Decimal | Fraction
"""A number that stands for its decimal text: 1.1 is 11/10, and so are "1.1" and Decimal("1.1")."""

_DECIMAL_TEXT = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{1,30})?", re.ASCII)
_SHOWN_CHARACTERS = 40
_SHOWN_BITS = 128
_LARGEST_EXPONENT = 400
_GIB = 2**30


def whole(value: object, where: str, *, least: int) -> int:
    """Return an integer of `least` or more.

    Raises:
        InputError: the value is a bool, no integer, or too small; `where` names the field.
    """
    expected = f"expected an integer of {least} or more"
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(where, f"{_shown(value)} is not an integer; {expected}.")
    if value < least:
        raise InputError(where, f"{_shown(value)} is too small; {expected}.")
    return value


def truth(value: object, where: str) -> bool:
    """Return a bool, refusing everything that merely acts like one.

    Raises:
        InputError: the value is not True or False.
    """
    if not isinstance(value, bool):
        raise InputError(where, f"{_shown(value)} is not a truth value; expected true or false.")
    return value


def positive_number(value: object, where: str) -> Fraction:
    """Return a finite number above 0, read from its decimal text.

    Raises:
        InputError: the value is a bool, no finite number, or not above 0.
    """
    number = _exact(value, where, "a finite number above 0")
    if number <= 0:
        raise InputError(where, f"{_shown(value)} is too small; expected a finite number above 0.")
    return number


def zero_or_more(value: object, where: str) -> Fraction:
    """Return a finite number of 0 or more, read from its decimal text.

    Raises:
        InputError: the value is a bool, no finite number, or below 0.
    """
    number = _exact(value, where, "a finite number of 0 or more")
    if number < 0:
        raise InputError(where, f"{_shown(value)} is too small; expected a finite number of 0 or more.")
    return number


def ratio_at_least_one(value: object, where: str) -> Fraction:
    """Return a finite number of 1 or more, read from its decimal text.

    Raises:
        InputError: the value is a bool, no finite number, or below 1.
    """
    number = _exact(value, where, "a finite number of 1 or more")
    if number < 1:
        raise InputError(where, f"{_shown(value)} is too small; expected a finite number of 1 or more.")
    return number


def gib(size_bytes: int, decimals: int) -> str:
    """Show bytes in GiB for a sentence, rounded from the exact quotient."""
    return f"{float(round(Fraction(size_bytes, _GIB), decimals)):.{decimals}f} GiB"


def printable(text: str) -> str:
    """Return text of a person or file with its control characters escaped, fit for one line of a message."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def _exact(value: object, where: str, expected: str) -> Fraction:
    refusal = InputError(where, f"{_shown(value)} is not a finite number; expected {expected}.")
    if isinstance(value, bool):
        raise refusal
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(repr(value))
    # The exponent is bounded because a Fraction writes all its digits out.
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= _LARGEST_EXPONENT:
        return Fraction(value)
    if isinstance(value, str) and _DECIMAL_TEXT.fullmatch(value.strip()):
        return Fraction(value.strip())
    raise refusal


def _shown(value: object) -> str:
    # Python refuses to write very long integers out.
    if isinstance(value, (int, Fraction)) and max(abs(value.numerator), value.denominator).bit_length() > _SHOWN_BITS:
        return "a number of many digits"
    if isinstance(value, (int, float, Decimal, Fraction)):
        return str(value)[:_SHOWN_CHARACTERS]
    if isinstance(value, str):
        return '"' + printable(value[:_SHOWN_CHARACTERS]) + '"'
    return f"a value of type {type(value).__name__}"
