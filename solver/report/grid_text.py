"""A grid as lines of a terminal: names made harmless, bars as wide as the line leaves room for."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from solver.report.columns import columns
from solver.report.terminal import Cell, Paint, Style, Styled, bar, escape, text_width

if TYPE_CHECKING:
    from solver.report.grid import Bar, Grid

__all__ = ["grid_lines"]

_WIDEST_BAR = 24
_NARROWEST_BAR = 6
_SHORTEST_NAME = 12

# What closes a bar, so that its whole is seen without colour too.
_BAR_END = "▏"
# What takes lines as they are.
_ENDLESS = Paint(enabled=False, width=sys.maxsize)


def grid_lines(grid: Grid | None, paint: Paint) -> list[str]:
    """Return the lines of a grid, none for None.

    Bars narrow before names are cut, and names are cut in the middle only as long as they stay different. Where that is
    not enough there are no bars, and what is still too wide is folded or stands in blocks.
    """
    if grid is None:
        return []
    rows = [[_harmless(cell) for cell in row] for row in grid.rows]
    bar_width = _room(grid, rows, paint.width)
    if bar_width < _NARROWEST_BAR and grid.names is not None:
        rows = _with_short_names(rows, grid.names, _NARROWEST_BAR - bar_width)
        bar_width = _room(grid, rows, paint.width)
    if bar_width < _NARROWEST_BAR:
        grid = replace(grid, bars=None)
    return _lines(grid, rows, min(_WIDEST_BAR, bar_width), paint)


def _room(grid: Grid, rows: list[list[Cell]], width: int) -> int:
    """Return how many columns the widest line leaves to a bar."""
    if grid.bars is None:
        return _WIDEST_BAR
    return width + 1 - max(text_width(line) for line in _lines(grid, rows, 1, _ENDLESS))


def _lines(grid: Grid, rows: list[list[Cell]], bar_width: int, paint: Paint) -> list[str]:
    table: list[list[Cell]] = [[Styled(title, Style.FAINT) for title in grid.titles]] if grid.titles else []
    table += [list(row) for row in rows]
    right = set(grid.right)
    if grid.unit:
        for number, row in enumerate(table):
            row.append("" if number == 0 else Styled(grid.unit, Style.FAINT))
    if grid.bars is not None:
        before = grid.bars.before
        # A title wider than its bars would cost names their room.
        fits = text_width(grid.bars.title) <= bar_width + 1
        titles: list[Cell] = [Styled(grid.bars.title if fits else "", Style.FAINT)]
        shown = [*titles, *(_bar(entry, bar_width) for entry in grid.bars.rows)]
        for row, cell in zip(table, shown, strict=True):
            row.insert(before, cell)
        right = {column + (column >= before) for column in right}
    keys = 1 if grid.names is None else grid.names + 1
    return columns(table, right, paint, keys=keys, units=1 if grid.unit else 0)


def _bar(entry: Bar | None, width: int) -> Cell:
    if entry is None:
        return ""
    return Styled(f"{bar(sum(entry.parts), entry.whole, width)}{_BAR_END}", Style.BAR)


def _with_short_names(rows: list[list[Cell]], column: int, too_wide: int) -> list[list[Cell]]:
    names = [str(row[column]) for row in rows]
    longest = max(text_width(name) for name in names)
    room = max(longest - too_wide, _SHORTEST_NAME)
    cut = {name: _cut(name, room) for name in names}
    if len(set(cut.values())) < len(cut):
        return rows
    return [[*row[:column], cut[name], *row[column + 1 :]] for row, name in zip(rows, names, strict=True)]


def _cut(name: str, room: int) -> str:
    """Return a name with its middle left out where it takes more than `room` columns."""
    if text_width(name) <= room:
        return name
    head, tail = name, ""
    while text_width(tail) < room // 3:
        tail = name[len(name) - len(tail) - 1 :]
    while text_width(head) + 1 + text_width(tail) > room:
        head = head[:-1]
    return f"{head}…{tail}"


def _harmless(cell: Cell) -> Cell:
    return Styled(escape(cell.text), cell.style) if isinstance(cell, Styled) else escape(cell)
