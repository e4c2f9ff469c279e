"""Long sentences on short lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.report.terminal import fold, text_width


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("one two", ["one two"]),
        ("one two three", ["one two", "  three"]),
        ("unbreakable a", ["unbreakable", "  a"]),
        ("ab unbreakable", ["ab", "  unbreakable"]),
        ("模型 模 模", ["模型 模", "  模"]),
    ],
)
def test_lines_break_at_spaces_and_are_indented_after_the_first(text: str, lines: list[str]) -> None:
    assert lines == fold(text, 8, 2)


@given(words=st.lists(st.text(st.characters(categories=["L"]), min_size=1), min_size=1), width=st.integers(5, 30))
def test_folding_keeps_every_word_and_only_a_single_word_is_too_wide(words: list[str], width: int) -> None:
    lines = fold(" ".join(words), width, 3)

    assert words == [word for line in lines for word in line.split()]
    assert all(text_width(line) <= width or len(line.split()) == 1 for line in lines)


@pytest.mark.parametrize(("text", "width"), [("desk", 4), ("模型", 4), ("e\u0301", 1), ("", 0)])
def test_wide_characters_take_two_columns_and_combining_ones_none(text: str, width: int) -> None:
    assert width == text_width(text)
