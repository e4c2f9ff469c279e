"""Tables hold the width that they are given, and lose nothing by it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from solver.report.columns import columns, fact_lines
from solver.report.terminal import Cell, Paint, Style, Styled, text_width

WORDS = st.text(st.sampled_from("ab模-_/"), min_size=1, max_size=12).filter(lambda word: text_width(word) <= 12)
SENTENCES = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
FIGURES = st.integers(0, 10**9).map(lambda figure: f"{figure:,}")


def wide(width: int, *, enabled: bool = False) -> Paint:
    return Paint(enabled=enabled, width=width)


def test_words_are_folded_in_the_widest_column_and_keys_last() -> None:
    rows = [("node", "why", "size"), ("a-name-of-its-own", "one two three four five six", "5")]
    lines = [
        "node               why           size",
        "a-name-of-its-own  one two          5",
        "                   three four",
        "                   five six",
    ]

    assert lines == columns(rows, {2}, wide(37))


def test_a_name_is_broken_behind_a_sign_where_it_has_one() -> None:
    rows = [("model.layers.0.weight", "12"), ("abcdefghijklmnopqrst", "3")]

    assert ["model.layers.   12", "0.weight", "abcdefghijklmn   3", "opqrst"] == columns(rows, {1}, wide(18))


def test_columns_without_room_stand_below_with_the_names_again() -> None:
    rows = [("node", "load", "budget", ""), ("desk", "1,000", "2,000", "GiB"), ("studio", "1", "2", "GiB")]
    lines = [
        "node     load",
        "desk    1,000  GiB",
        "studio      1  GiB",
        "",
        "node    budget",
        "desk     2,000  GiB",
        "studio       2  GiB",
    ]

    assert lines == columns(rows, {1, 2}, wide(20), units=1)


def test_every_piece_of_a_cell_has_its_look() -> None:
    rows: list[tuple[Cell, ...]] = [("a", Styled("no, it is overfull", Style.BAD))]

    assert ["a  \033[31mno, it is\033[0m", "   \033[31moverfull\033[0m"] == columns(rows, (), wide(15, enabled=True))


def test_facts_are_harmless_and_as_long_as_is_easy_to_read() -> None:
    lines = fact_lines([("\x1b[2J", "\u202e"), ("b", "word " * 40)], wide(300))

    words = ("word " * 18).rstrip()
    assert ["\\x1b[2J  \\u202e", f"b        {words}", f"         {words}", "         word word word word"] == lines


@given(
    rows=st.lists(st.tuples(SENTENCES, SENTENCES, *[FIGURES] * 8, SENTENCES), min_size=1, max_size=6),
    width=st.integers(60, 140),
)
def test_whatever_the_cells_no_line_is_wider_and_no_word_is_lost(rows: list[tuple[str, ...]], width: int) -> None:
    lines = columns(rows, range(2, 10), wide(width), keys=2)

    assert max(map(text_width, lines)) <= width
    shown = {word for line in lines for word in line.split()}
    assert {word for row in rows for cell in row for word in cell.split()} <= shown
