"""Tables for other programs: the same rows as comma-separated values or as Markdown."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from enum import StrEnum

from solver.report.terminal import escape

__all__ = ["Table", "TableFormat", "render_table"]


class TableFormat(StrEnum):
    """How a table is written."""

    CSV = "csv"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class Table:
    """Column names and rows of as many cells. Numbers are exact; None is shown as nothing."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | None, ...], ...]


def render_table(table: Table, table_format: TableFormat) -> str:
    """Return the table as text that ends in a line end."""
    return _csv(table) if table_format is TableFormat.CSV else _markdown(table)


def _csv(table: Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([_cell(cell) for cell in row] for row in table.rows)
    return text.getvalue()


def _markdown(table: Table) -> str:
    numeric = [
        bool(table.rows) and all(not isinstance(row[position], str) for row in table.rows)
        for position in range(len(table.columns))
    ]
    rules = ["---:" if is_number else "---" for is_number in numeric]
    rows = [[_cell(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in row] for row in table.rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in (list(table.columns), rules, *rows))


def _cell(cell: str | int | None) -> str:
    return "" if cell is None else escape(str(cell))
