"""Numbers as a person reads them: sizes of one table in one unit, ratios, gaps and lists of names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING

from tensors.units import GIB, format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from solver.limits import Value

__all__ = [
    "BYTES",
    "GIBIBYTES",
    "Scale",
    "count",
    "gap_text",
    "listed",
    "ranges",
    "ratio",
    "scale_for",
    "shown_value",
    "size",
]

_MIB = 2**20
_LONGEST_LIST = 120
_SHORTEST_RUN = 3
_NUMBERED = re.compile(r"(.*[^0-9])(0|[1-9][0-9]{0,8})", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit that a table shows all its sizes in; bytes are shown exactly, all else with two decimals."""

    unit: str
    unit_bytes: int

    def number(self, size_bytes: int) -> str:
        """Return the size without its unit; what is there and rounds to nothing is shown as less than a hundredth."""
        if self.unit_bytes == 1:
            return f"{size_bytes:,}"
        if 0 < size_bytes * 200 < self.unit_bytes:
            return "<0.01"
        return f"{size_bytes / self.unit_bytes:,.2f}"

    def amount(self, size_bytes: int) -> str:
        """Return the size with its unit."""
        return f"{self.number(size_bytes)} {self.unit}"


BYTES = Scale("B", 1)
GIBIBYTES = Scale("GiB", GIB)


def scale_for(largest_bytes: int) -> Scale:
    """Return the unit for sizes of an abstract problem: exact bytes as long as they are short."""
    if largest_bytes < _MIB:
        return BYTES
    return Scale("MiB", _MIB) if largest_bytes < GIB else GIBIBYTES


def size(size_bytes: int) -> str:
    """Return one size by itself, exact up to a MiB."""
    return f"{size_bytes:,} B" if abs(size_bytes) < _MIB else format_bytes(size_bytes)


def count(number: int, what: str) -> str:
    """Return "1 node" or "3 nodes"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def shown_value(value: Value, unit: str) -> str:
    """Return the value of an objective: ratios with four decimals, bytes as a size, what is neither with its unit."""
    if unit == "bytes":
        return size(int(value))
    number = f"{value:,}" if isinstance(value, int) else f"{float(value):,.4f}"
    return number if unit in ("count", "ratio") else f"{number} {unit}"


def ratio(value: Fraction, decimals: int = 4) -> str:
    """Return a ratio rounded to decimals."""
    return f"{float(value):,.{decimals}f}"


def gap_text(value: Value, bound: Value) -> str:
    """Return |value - bound| / |value| in percent; what is open is never shown as 0."""
    if value == bound:
        return "0.00 %"
    if value == 0:
        return "unbounded"
    gap = abs(Fraction(value) - Fraction(bound)) / abs(Fraction(value)) * 100
    return "<0.01 %" if gap < Fraction(1, 200) else f"{float(gap):.2f} %"


def ranges(numbers: Iterable[int]) -> str:
    """Return ascending numbers as "1, 2, 4–7"."""
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
    shown = [[f"{run[0]}–{run[-1]}"] if len(run) >= _SHORTEST_RUN else map(str, run) for run in runs]
    return ", ".join(text for texts in shown for text in texts)


def listed(names: Sequence[str]) -> str:
    """Return names as "a, b-1 to b-3, c": numbered runs are drawn together; of a long list the rest is counted."""
    entries = _drawn_together(names)
    lengths = accumulate(len(text) + 2 for text, _ in entries)
    kept = max(1, sum(length <= _LONGEST_LIST for length in lengths))
    shown = ", ".join(text for text, _ in entries[:kept])
    left = sum(held for _, held in entries[kept:])
    return f"{shown} and {left:,} more" if left else shown


def _drawn_together(names: Sequence[str]) -> list[tuple[str, int]]:
    """Return (text, how many names it stands for)."""
    starts = [0] + [place for place, (one, other) in enumerate(pairwise(names), start=1) if not _follows(one, other)]
    entries: list[tuple[str, int]] = []
    for start, end in pairwise([*starts, len(names)]):
        run = names[start:end]
        if len(run) < _SHORTEST_RUN:
            entries.extend((name, 1) for name in run)
        else:
            entries.append((f"{run[0]} to {run[-1]}", len(run)))
    return entries


def _follows(one: str, other: str) -> bool:
    before, after = _NUMBERED.fullmatch(one), _NUMBERED.fullmatch(other)
    return before is not None and after is not None and before[1] == after[1] and int(before[2]) + 1 == int(after[2])
