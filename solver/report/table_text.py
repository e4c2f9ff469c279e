"""A table as a person reads it: sizes with units, counts with separators, and bars of one column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.columns import columns, natural_width
from solver.report.terminal import Cell, Style, Styled, bar, escape
from tensors.units import format_bytes

if TYPE_CHECKING:
    from solver.report.table import Table
    from solver.report.terminal import Paint

__all__ = ["table_lines"]

_WIDEST_BAR = 30
_NARROWEST_BAR = 6


def table_lines(table: Table, bars_of: str | None, paint: Paint, *, spare: int = 0) -> list[str]:
    """Return lines of a table; `bars_of` names the column of numbers whose bars stand at the end, if any.

    A column whose name ends in `bytes` is shown in units of 1024, and its name without that word. The last `spare`
    columns are left out, and bars too, where the lines have no room for them.
    """
    numeric = {
        position
        for position in range(len(table.columns))
        if all(not isinstance(row[position], str) for row in table.rows)
    }
    rows = _rows(table)
    if spare and natural_width(rows) > paint.width:
        rows = [row[:-spare] for row in rows]
    bar_width = min(_WIDEST_BAR, paint.width - natural_width([*rows, [""] * (len(rows[0]) + 1)]))
    if bars_of is not None and bar_width >= _NARROWEST_BAR:
        position = table.columns.index(bars_of)
        amounts = [_number(row[position]) for row in table.rows]
        largest = max(amounts, default=0)
        for row, amount in zip(rows[1:], amounts, strict=True):
            row.append(Styled(bar(amount, largest, bar_width), Style.BAR))
    return columns(rows, numeric, paint)


def _rows(table: Table) -> list[list[Cell]]:
    """Return titles and rows as a person reads them."""
    is_size = [name.endswith("_bytes") for name in table.columns]
    titles: list[Cell] = [Styled(name.removesuffix("_bytes").replace("_", " "), Style.TITLE) for name in table.columns]
    rows: list[list[Cell]] = [titles]
    rows.extend([_shown(cell, size) for cell, size in zip(row, is_size, strict=True)] for row in table.rows)
    return rows


def _shown(cell: str | int | None, is_size: bool) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return escape(cell)
    return format_bytes(cell) if is_size else f"{cell:,}"


def _number(cell: str | int | None) -> int:
    return cell if isinstance(cell, int) else 0
