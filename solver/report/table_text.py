"""A table as a person reads it: sizes with units, counts with separators, and bars of one column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.terminal import Cell, Style, Styled, bar, columns, escape
from tensors.units import format_bytes

if TYPE_CHECKING:
    from solver.report.table import Table
    from solver.report.terminal import Paint

__all__ = ["table_lines"]

_BAR_WIDTH = 30


def table_lines(table: Table, bars_of: str | None, paint: Paint) -> list[str]:
    """Return lines of a table; `bars_of` names the column of numbers whose bars stand at the end, if any.

    A column whose name ends in `bytes` is shown in units of 1024, and its name without that word.
    """
    is_size = [name.endswith("_bytes") for name in table.columns]
    numeric = {
        position
        for position in range(len(table.columns))
        if all(not isinstance(row[position], str) for row in table.rows)
    }
    titles: list[Cell] = [Styled(name.removesuffix("_bytes").replace("_", " "), Style.TITLE) for name in table.columns]
    rows: list[list[Cell]] = [titles]
    rows.extend([_shown(cell, size) for cell, size in zip(row, is_size, strict=True)] for row in table.rows)
    if bars_of is not None:
        position = table.columns.index(bars_of)
        amounts = [_number(row[position]) for row in table.rows]
        largest = max(amounts, default=0)
        for row, amount in zip(rows[1:], amounts, strict=True):
            row.append(Styled(bar(amount, largest, _BAR_WIDTH), Style.BAR))
    return columns(rows, numeric, paint)


def _shown(cell: str | int | None, is_size: bool) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return escape(cell)
    return format_bytes(cell) if is_size else f"{cell:,}"


def _number(cell: str | int | None) -> int:
    return cell if isinstance(cell, int) else 0
