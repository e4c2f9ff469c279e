"""Text for a terminal: harmless, aligned, and coloured only where asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.report.columns import columns
from solver.report.terminal import Cell, Paint, Style, Styled, bar, escape

PLAIN = Paint(enabled=False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("blk.0.attn_q.weight", "blk.0.attn_q.weight"),
        ("模型 Größe", "模型 Größe"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("two\nlines\tand\r", "two\\nlines\\tand\\r"),
        ("back\u202ewards", "back\\u202ewards"),
        ("\x9b31m", "\\x9b31m"),
        ("no\xa0break", "no\\xa0break"),
        ("\udcff", "\\udcff"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_and_not_sent(text: str, shown: str) -> None:
    assert shown == escape(text)


@given(text=st.text())
def test_escaped_text_is_one_printable_line_and_stays_the_same_when_escaped_again(text: str) -> None:
    shown = escape(text)

    assert shown.isprintable()
    assert shown == escape(shown)


@pytest.mark.parametrize(
    ("amount", "whole", "shown"),
    [
        (0, 10, "    "),
        (1, 10**9, "▏   "),
        (1, 2, "██  "),
        (5, 8, "██▌ "),
        (99, 100, "███▉"),
        (8, 8, "████"),
        (9, 8, "████"),
        (3, 0, "    "),
        (-3, 8, "    "),
    ],
)
def test_a_bar_fills_in_eighths_and_looks_full_only_when_it_is(amount: int, whole: int, shown: str) -> None:
    assert shown == bar(amount, whole, 4)


def test_columns_align_numbers_at_their_ends_and_words_at_their_starts() -> None:
    """Wide characters count double, combining ones not at all, and no line ends in blanks."""
    rows = [("name", "bytes", ""), ("a", "1,024", "x"), ("模型", "7", "  "), ("e\u0301", "10", "yy")]

    assert ["name  bytes", "a     1,024  x", "模型      7", "e\u0301        10  yy"] == columns(rows, {1}, PLAIN)


def test_colour_changes_no_width() -> None:
    """The sequences stand around the text, and blanks around those."""
    rows: list[tuple[Cell, ...]] = [(Styled("a", Style.TITLE), "1"), ("bbb", Styled("22", Style.BAD))]

    assert ["\033[1ma\033[0m     1", "bbb  \033[31m22\033[0m"] == columns(rows, {1}, Paint(enabled=True))
    assert ["a     1", "bbb  22"] == columns(rows, {1}, PLAIN)
