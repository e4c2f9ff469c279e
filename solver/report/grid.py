"""A table of a report before it is text or a page: cells with looks, and bars of parts against a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solver.report.terminal import Cell

__all__ = ["Bar", "Bars", "Fact", "Grid"]


@dataclass(frozen=True, slots=True)
class Bar:
    """Amounts that together fill a part of a whole."""

    parts: tuple[int, ...]
    whole: int


@dataclass(frozen=True, slots=True)
class Bars:
    """A column of bars, one a row or None where a row has none; it stands before the column numbered `before`."""

    title: str
    before: int
    parts: tuple[str, ...]
    rows: tuple[Bar | None, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of cells under titles (none: no heading). Cells are as files give them: renderers make them harmless.

    Columns in `right` are aligned at their ends; `unit` is that of the sizes in it, "" where there are none or each has
    its own; `names` is the column of names, which may be shortened.
    """

    titles: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: frozenset[int]
    unit: str
    names: int | None
    bars: Bars | None


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence under a word."""

    word: str
    sentence: str
