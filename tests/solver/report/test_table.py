"""Tables for other programs."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from solver.report.table import Table, TableFormat, render_table
from solver.report.terminal import escape

TABLE = Table(columns=("name", "bytes"), rows=(("a,b", 3), ('say "x" | \\\x1b', None)))


def test_csv_quotes_what_needs_it_and_escapes_control_characters() -> None:
    assert 'name,bytes\n"a,b",3\n"say ""x"" | \\\\x1b",\n' == render_table(TABLE, TableFormat.CSV)


def test_markdown_aligns_numbers_and_escapes_its_own_marks() -> None:
    expected = '| name | bytes |\n| --- | ---: |\n| a,b | 3 |\n| say "x" \\| \\\\\\\\x1b |  |\n'

    assert expected == render_table(TABLE, TableFormat.MARKDOWN)


@given(rows=st.lists(st.tuples(st.text(), st.none() | st.integers())))
def test_csv_reads_back_as_the_escaped_cells(rows: list[tuple[str, int | None]]) -> None:
    text = render_table(Table(columns=("name", "bytes"), rows=tuple(rows)), TableFormat.CSV)
    expected = [["name", "bytes"], *([escape(name), "" if size is None else str(size)] for name, size in rows)]

    assert expected == list(csv.reader(io.StringIO(text)))
