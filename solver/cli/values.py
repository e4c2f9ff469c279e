"""Values of flags: text to typed values, or a refusal that says what was expected.

A parser takes one argument's text and raises a ValueError whose message reads *what is there; what was expected. What
to do*; the command line puts the flag's name in front.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from solver.cluster_values import Name, parse_value
from solver.wording import either, quoted, suggestion
from solver.workload import AUTOMATIC_WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from enum import StrEnum

    from cyclopts import Token

__all__ = [
    "cache_types",
    "choice",
    "count_range",
    "each",
    "exact_fraction",
    "names",
    "node_name",
    "one",
    "pin",
    "positive_seconds",
    "whole_number",
    "width",
]

Value = TypeVar("Value")

# No count of tokens, nodes or bytes a token is near this.
LARGEST_COUNT = 2**40
_LONGEST_NUMBER = 20
_LONGEST_COUNT = 5
_MOST_CARDS = 480


def one(parse: Callable[[str], Value]) -> Callable[[object, Sequence[Token]], Value]:
    """Return a converter of a flag that takes one value."""

    def convert(_: object, tokens: Sequence[Token]) -> Value:
        return parse(tokens[0].value)

    return convert


def each(parse: Callable[[str], Value]) -> Callable[[object, Sequence[Token]], tuple[Value, ...]]:
    """Return a converter of a flag that may be given again and again, one value at a time."""

    def convert(_: object, tokens: Sequence[Token]) -> tuple[Value, ...]:
        return tuple(parse(token.value) for token in tokens)

    return convert


def choice(options: type[StrEnum]) -> Callable[[object, Sequence[Token]], StrEnum]:
    """Return a converter that takes the values of an enumeration, in either letter case."""
    known = [str(option) for option in options]

    def parse(text: str) -> StrEnum:
        if text.lower() in known:
            return options(text.lower())
        raise ValueError(f"{quoted(text)} is unknown; expected {either(known)}. {suggestion(text, known)}".rstrip())

    return one(parse)


def whole_number(least: int, most: int = LARGEST_COUNT) -> Callable[[object, Sequence[Token]], int]:
    """Return a converter of counts from `least` to `most`."""

    def parse(text: str) -> int:
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(text) <= _LONGEST_NUMBER):
            raise ValueError(f"{quoted(text)} is not a whole number; expected one from {least}. Write digits alone.")
        number = int(text)
        if number < least:
            raise ValueError(f"{number} is too small; expected a whole number from {least}. Raise it.")
        if number > most:
            raise ValueError(f"{number} is too large; expected a whole number up to {most}. Lower it.")
        return number

    return one(parse)


def count_range(text: str) -> range:
    """Return the numbers of "A..B", both included, or of one number alone.

    Raises:
        ValueError: the text is no range of counts from 1, or it is turned around.
    """
    first, _, last = text.partition("..")
    if not all(part.isascii() and part.isdigit() and len(part) <= _LONGEST_COUNT for part in (first, last or first)):
        raise ValueError(f"{quoted(text)} is not a range of counts; expected A..B. Write it like 2..16.")
    counts = range(int(first), int(last or first) + 1)
    if not counts or counts.start < 1:
        raise ValueError(f"{quoted(text)} holds no count; expected A..B with 1 or more first. Write it like 2..16.")
    return counts


def positive_seconds(text: str) -> float:
    """Return seconds of a limit.

    Raises:
        ValueError: the text is no finite number above 0.
    """
    seconds = _decimal(text)
    if seconds is None or not 0 < seconds <= LARGEST_COUNT:
        raise ValueError(f"{quoted(text)} is no time limit; expected seconds above 0. Write it like 60 or 0.5.")
    return float(seconds)


def exact_fraction(text: str) -> Fraction:
    """Return a share of a whole, exactly as its decimal text says: 0.20 is 1/5.

    Raises:
        ValueError: the text is no decimal number from 0 and below 1.
    """
    share = _decimal(text)
    if share is None or not 0 <= share < 1:
        raise ValueError(f"{quoted(text)} is no share; expected a decimal from 0 and below 1. Write 20 % as 0.20.")
    return share


def names(text: str) -> tuple[str, ...]:
    """Return names separated by commas.

    Raises:
        ValueError: a name is empty or stands twice.
    """
    found = tuple(name.strip() for name in text.split(","))
    if "" in found:
        raise ValueError(f"{quoted(text)} has an empty name; expected names between commas. Write them like a,b,c.")
    repeated = next((name for position, name in enumerate(found) if name in found[:position]), None)
    if repeated is not None:
        raise ValueError(f"{quoted(repeated)} is there twice; expected every name once. Remove one.")
    return found


def node_name(text: str) -> str:
    """Return the name of a node.

    Raises:
        ValueError: a cluster file could not have it.
    """
    return str(parse_value(Name, text))


def cache_types(text: str) -> tuple[str, str]:
    """Return the types of keys and of values: "TYPE" for both, or "K,V", in lower case.

    Raises:
        ValueError: there are not one or two names.
    """
    found = tuple(name.strip().lower() for name in text.split(","))
    if "" in found or len(found) > 2:  # noqa: PLR2004 - keys and values
        raise ValueError(f'"{text}" is no cache type; expected TYPE or K,V. Write it like q8_0 or f16,q8_0.')
    return found[0], found[-1]


def pin(text: str) -> tuple[int, str]:
    """Return the block and the node of "BLOCK=NODE".

    Raises:
        ValueError: there is no block number before, or no name after the equals sign.
    """
    block, equals, node = text.partition("=")
    if not (equals and block.isascii() and block.isdigit() and len(block) <= _LONGEST_NUMBER and node.strip()):
        raise ValueError(f"{quoted(text)} is no pin; expected BLOCK=NODE. Write it like 3=desk; blocks count from 0.")
    return int(block), node.strip()


def _decimal(text: str) -> Fraction | None:
    whole, point, part = text.partition(".")
    digits = (whole + part) if point else whole
    if not (digits.isascii() and digits.isdigit() and len(text) <= _LONGEST_NUMBER):
        return None
    return Fraction(int(digits), 10 ** len(part))


def width(text: str) -> int:
    """Return how many cards share every block; AUTOMATIC_WIDTH for the best number.

    Raises:
        ValueError: the text is neither a number of cards nor "auto".
    """
    if text.strip().lower() == "auto":
        return AUTOMATIC_WIDTH
    is_short = text.isascii() and text.isdigit() and len(text) <= _LONGEST_COUNT
    if not is_short or not 1 <= int(text) <= _MOST_CARDS:
        raise ValueError(
            f"{quoted(text)} is no number of cards; expected 1 to {_MOST_CARDS}, or auto. Write it like 2."
        )
    return int(text)
