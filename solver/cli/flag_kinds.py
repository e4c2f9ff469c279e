"""Kinds of flags that several groups have: how the text is read and what stands for it. A group adds what it means."""

from __future__ import annotations

from cyclopts import Parameter

from solver.cli.values import LARGEST_COUNT, cache_types, exact_fraction, names, one, positive_seconds, whole_number
from tensors.units import parse_size_bytes

__all__ = ["CACHE_TYPES", "NAMES", "SECONDS", "SHARE", "SIZE", "count"]

SIZE = Parameter(converter=one(parse_size_bytes), n_tokens=1, metavar="SIZE")
SHARE = Parameter(converter=one(exact_fraction), n_tokens=1, accepts_keys=False, metavar="SHARE")
SECONDS = Parameter(converter=one(positive_seconds), n_tokens=1, metavar="SECONDS")
CACHE_TYPES = Parameter(converter=one(cache_types), n_tokens=1, metavar="TYPE")
NAMES = Parameter(converter=one(names), n_tokens=1, show_default=False, metavar="A,B,…")


def count(least: int, most: int = LARGEST_COUNT, *, of: str = "N") -> Parameter:
    """Return the kind of whole numbers from `least` to `most`, of which `of` stands in a line of help."""
    return Parameter(converter=whole_number(least, most), n_tokens=1, metavar=of)
