"""Sizes, rates and times as text with a unit, and as integers of bytes and nanoseconds.

GiB = 2^30 and GB = 10^9 are never mixed, so a bare number is refused.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil, floor

from tensors.errors import UnitError

__all__ = ["GIB", "format_bytes", "parse_duration_ns", "parse_rate_bytes_per_second", "parse_size_bytes"]

GIB = 2**30

_LONGEST_SHOWN = 40

_SIZES = {
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
}
_BITS = {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9, "Tbit": 10**12}
_DURATIONS_NS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}

_NUMBER_AND_UNIT = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([^\s0-9.][^\s]*)?\s*", re.ASCII)


def parse_size_bytes(text: str) -> int:
    """Bytes of a text such as "24 GiB" or "24 GB"; a fraction of a byte is dropped.

    Raises:
        UnitError: the text is no number with one of the units known here.
    """
    number, unit = _split(text, "size", "24 GiB", "24 GB")
    if unit not in _SIZES:
        raise UnitError(_unknown(text, "size", "24 GiB", "24 GB"))
    return floor(number * _SIZES[unit])


def parse_rate_bytes_per_second(text: str) -> int:
    """Bytes a second of a text such as "2.5 Gbit/s" or "80 GB/s"; a fraction is dropped.

    Raises:
        UnitError: the text is no number with one of the units known here, or the rate is below 1 byte a second.
    """
    number, unit = _split(text, "rate", "80 GB/s", "2.5 Gbit/s")
    amount = unit.removesuffix("/s")
    if not unit.endswith("/s") or (amount not in _SIZES and amount not in _BITS):
        raise UnitError(_unknown(text, "rate", "80 GB/s", "2.5 Gbit/s"))
    rate = floor(number * _SIZES[amount]) if amount in _SIZES else floor(number * _BITS[amount] / 8)
    if rate < 1:
        raise UnitError(f'"{text}" is a rate below 1 byte a second; expected a positive rate. Leave it out if unknown.')
    return rate


def parse_duration_ns(text: str) -> int:
    """Nanoseconds of a text such as "0.5 ms"; a fraction of a nanosecond is rounded up.

    Raises:
        UnitError: the text is no number with one of the units known here.
    """
    number, unit = _split(text, "time", "0.5 ms", "500 us")
    if unit not in _DURATIONS_NS:
        raise UnitError(_unknown(text, "time", "0.5 ms", "500 us"))
    return ceil(number * _DURATIONS_NS[unit])


def format_bytes(size_bytes: int, decimals: int = 2) -> str:
    """Show bytes in GiB, smaller amounts in MiB, KiB or B."""
    magnitude = abs(size_bytes)
    for unit in ("GiB", "MiB", "KiB"):
        if magnitude >= _SIZES[unit]:
            return f"{size_bytes / _SIZES[unit]:,.{decimals}f} {unit}"
    return f"{size_bytes} B"


def _split(text: str, what: str, *spellings: str) -> tuple[Fraction, str]:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is None:
        raise UnitError(_unknown(text, what, *spellings))
    number, unit = match.groups()
    if unit is None:
        first, second = (f"{number} {spelling.split()[1]}" for spelling in spellings)
        raise UnitError(f'"{_shown(text)}" has no unit; expected a {what}. Write "{first}" or "{second}".')
    return Fraction(number), unit


def _unknown(text: str, what: str, *spellings: str) -> str:
    first, second = spellings
    return f'"{_shown(text)}" is not a {what}; write it like "{first}" or "{second}".'


def _shown(text: str) -> str:
    shortened = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
    return "".join(character if character.isprintable() else "?" for character in shortened)
