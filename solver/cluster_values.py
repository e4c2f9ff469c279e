"""Values of a cluster file: text with a unit to integers, each with a refusal that says what was expected.

A parser takes what TOML gave (text, whole number, Decimal, true or false, date, list or table) and raises a ValueError
whose message reads *what is there; what was expected. What to do*; the caller puts the place in front.
"""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from solver.wording import quoted, shortened
from tensors.units import parse_duration_ns, parse_rate_bytes_per_second, parse_size_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Amount",
    "Count",
    "Latency",
    "Name",
    "NodeCount",
    "PairLatency",
    "Port",
    "Rate",
    "Share",
    "Size",
    "Text",
    "parse_value",
    "shown",
]

# A thousand memories of this size still add up inside 64-bit integers.
_LARGEST_SIZE = 2**50
_MOST_NODES = 1000
_LAST_PORT = 65535
_MOST_DIGITS = 18

# These three stand in flags and in names of pools, between names or after them.
_SEPARATORS = "/,="


class Name(str):
    """The name of a node: printable, without blanks at its ends and without / , or =."""

    __slots__ = ()


class Text(str):
    """Text that is not blank."""

    __slots__ = ()


class Amount(int):
    """A size in bytes that may be 0."""


class Size(int):
    """A size in bytes above 0."""


class Rate(int):
    """Bytes a second above 0."""


class Latency(int):
    """Nanoseconds."""


class PairLatency(int):
    """Nanoseconds, or the link is forbidden (below 0)."""

    FORBIDDEN: ClassVar[int] = -1


class Share(Fraction):
    """A share of a memory, from 0 and below 1, exactly as its decimal text says."""


class Count(int):
    """How many cards, from 0 to a thousand."""


class NodeCount(int):
    """How many equal nodes, from 1 to a thousand."""


class Port(int):
    """A port of TCP."""


def parse_value(kind: type, value: object) -> Any:  # noqa: ANN401 - the kind says what comes back
    """Return a value of this kind from what TOML gave; called by msgspec for every field of a kind named above.

    Raises:
        ValueError: the value is not of this kind.
    """
    return kind(_PARSERS[kind](value))


def shown(value: object) -> str:
    """Return a value as its author wrote it, as far as TOML kept it."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case int() | Decimal() | date() | datetime() | time():
            return shortened(str(value))
        case list():
            return "a list"
        case dict():
            return "a table"
        case _:
            return type(value).__name__


def _name(value: object) -> str:
    text = _text(value)
    if text != text.strip() or not text.isprintable() or any(separator in text for separator in _SEPARATORS):
        raise ValueError(
            f"{quoted(text)} cannot be a name; expected printable text without / , = or outer blanks. "
            'Write it like "desk".'
        )
    return text


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not text; expected text in quotes. Put quotes around it.")
    if not value.strip():
        raise ValueError(f"{quoted(value)} is blank; expected text. Write some or remove the key.")
    return value


def _amount(value: object) -> int:
    return _with_unit(value, parse_size_bytes, "size", ("GiB", "GB"))


def _size(value: object) -> int:
    size_bytes = _amount(value)
    if size_bytes == 0:
        raise ValueError(f'{shown(value)} is nothing; expected a size above 0. Write it like "24 GiB" or "24 GB".')
    if size_bytes > _LARGEST_SIZE:
        raise ValueError(f"{shown(value)} is above 1024 TiB; expected the memory of one machine. Check the unit.")
    return size_bytes


def _rate(value: object) -> int:
    return _with_unit(value, parse_rate_bytes_per_second, "rate", ("GB/s", "Gbit/s"))


def _latency(value: object) -> int:
    if value == "forbidden":
        raise ValueError('"forbidden" bars one link; expected a time. Bar links one by one under links.pair.')
    return _with_unit(value, parse_duration_ns, "time", ("ms", "us"))


def _pair_latency(value: object) -> int:
    return PairLatency.FORBIDDEN if value == "forbidden" else _latency(value)


def _with_unit(value: object, parse: Callable[[str], int], what: str, units: tuple[str, str]) -> int:
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        first, second = (f'"{shown(value)} {unit}"' for unit in units)
        raise ValueError(f"{shown(value)} has no unit; expected a {what}. Write {first} or {second}.")
    first, second = (f'"24 {unit}"' for unit in units)
    raise ValueError(f"{shown(value)} is not a {what}; expected text with a unit. Write it like {first} or {second}.")


def _share(value: object) -> Fraction:
    number = Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(number, Decimal) and number.is_finite() and 0 <= number < 1:
        # A long exponent would be written out in full by an exact fraction.
        exponent = number.as_tuple().exponent
        if isinstance(exponent, int) and exponent >= -_MOST_DIGITS:
            return Fraction(number)
    raise ValueError(f"{shown(value)} is no share; expected a decimal from 0 and below 1. Write 20 % as 0.20.")


def _count(value: object) -> int:
    return _whole(value, 0, _MOST_NODES)


def _node_count(value: object) -> int:
    return _whole(value, 1, _MOST_NODES)


def _port(value: object) -> int:
    return _whole(value, 1, _LAST_PORT)


def _whole(value: object, least: int, most: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise ValueError(f"{shown(value)} does not do; expected a whole number from {least} to {most}. Correct it.")


_PARSERS: dict[type, Callable[[object], object]] = {
    Name: _name,
    Text: _text,
    Amount: _amount,
    Size: _size,
    Rate: _rate,
    Latency: _latency,
    PairLatency: _pair_latency,
    Share: _share,
    Count: _count,
    NodeCount: _node_count,
    Port: _port,
}
