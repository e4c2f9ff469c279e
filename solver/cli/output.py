"""What a command writes: one document or one text on standard output, and notes on standard error."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from solver.cli.values import choice
from solver.errors import UsageError
from solver.report.table import Table, TableFormat, render_table
from solver.report.terminal import LINE_WIDTH, Paint, escape

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OutputOptions", "document_text", "paint", "write_document", "write_note", "write_table", "write_text"]

_BARS = "█▉▊▋▌▍▎▏"
_PLAIN_BARS = str.maketrans(_BARS, "####----")
# Narrower lines hold no table.
_LEAST_WIDTH = 60


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """How the answer of a command with tables is written; neither means text for a person."""

    json: Annotated[bool, Parameter(show_default=False, help="Write one JSON document and nothing else.")] = False
    format: Annotated[
        TableFormat | None,
        Parameter(converter=choice(TableFormat), n_tokens=1, metavar="FORMAT", help="Write the table alone."),
    ] = None

    def check(self) -> None:
        """Refuse two forms at once.

        Raises:
            UsageError: both --json and --format are given.
        """
        if self.json and self.format is not None:
            raise UsageError("--json and --format: both are given; expected one form of output. Leave one out.")


def paint() -> Paint:
    """Return how to write on standard output: with colour only on a terminal that nobody asked to leave plain.

    Lines are as wide as the terminal, or as COLUMNS says.
    """
    watched = sys.stdout.isatty()
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not watched
    said = watched or "COLUMNS" in os.environ
    width = shutil.get_terminal_size((LINE_WIDTH, 0)).columns if said else LINE_WIDTH
    return Paint(enabled=not plain, width=max(_LEAST_WIDTH, width))


def document_text(document: Mapping[str, object]) -> str:
    """Return a document as JSON in ASCII, so that no terminal obeys a name and every encoding can carry it."""
    return json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def write_document(document: Mapping[str, object]) -> None:
    """Write one JSON document to standard output."""
    write_text(document_text(document))


def write_table(table: Table, table_format: TableFormat) -> None:
    """Write one table to standard output."""
    write_text(render_table(table, table_format))


def write_text(text: str) -> None:
    """Write text to standard output; names in it are escaped already, and bars are drawn in what its encoding has."""
    try:
        _BARS.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = text.translate(_PLAIN_BARS)
    sys.stdout.write(text)


def write_note(sentence: str) -> None:
    """Write one line to standard error, whatever is in it."""
    sys.stderr.write(f"{escape(sentence)}\n")
