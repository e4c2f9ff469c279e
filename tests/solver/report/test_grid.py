"""Grids as lines of a terminal and as tables of a page."""

from __future__ import annotations

import pytest

from solver.report.grid import Bar, Bars, Grid
from solver.report.grid_html import grid_html
from solver.report.grid_text import grid_lines
from solver.report.terminal import Cell, Paint, Style, Styled, text_width

PLAIN = Paint(enabled=False)


def wide(width: int) -> Paint:
    return Paint(enabled=False, width=width)


def grid_of(names: tuple[str, ...], *, bars: bool = True) -> Grid:
    return Grid(
        titles=("node", "load"),
        rows=tuple((name, "5") for name in names),
        right=frozenset({1}),
        unit="B",
        names=0,
        bars=Bars("of budget", 1, ("weights", "cache"), tuple(Bar((4, 1), 10) for _ in names)) if bars else None,
    )


def test_bars_stand_before_their_column_and_fill_the_line_up_to_a_limit() -> None:
    lines = [
        "node    of budget                  load",
        "desk    ████████████            ▏     5  B",
        "studio  ████████████            ▏     5  B",
    ]

    assert lines == grid_lines(grid_of(("desk", "studio")), wide(60))


def test_bars_narrow_before_names_are_cut() -> None:
    narrow = [
        "node    of budget   load",
        "desk    ████▌    ▏     5  B",
        "studio  ████▌    ▏     5  B",
    ]
    cut = [
        "node                     load",
        "a-name-of…-all  ███   ▏     5  B",
    ]

    assert narrow == grid_lines(grid_of(("desk", "studio")), wide(27))
    assert cut == grid_lines(grid_of(("a-name-of-thirty-columns-in-all",)), wide(32))


def test_a_title_wider_than_the_bars_is_left_out() -> None:
    bars = Bars("load of budget", 1, ("weights",), (Bar((5,), 10),))
    grid = Grid(("node", "load"), (("desk", "5"),), frozenset({1}), "", 0, bars)

    assert ["node           load", "desk  ███   ▏     5"] == grid_lines(grid, wide(19))


def test_there_are_no_bars_where_lines_have_no_room_for_them() -> None:
    assert ["node    load", "desk       5  B", "studio     5  B"] == grid_lines(grid_of(("desk", "studio")), wide(22))


def test_names_stay_whole_where_cutting_them_would_make_them_equal() -> None:
    names = ("rack-very-long-one-name-number-1", "rack-very-long-two-name-number-1")

    lines = grid_lines(grid_of(names), wide(41))

    assert names == tuple(line.split()[0] for line in lines[1:])


def test_a_row_without_a_bar_keeps_the_place_free() -> None:
    bars = Bars("", 1, ("weights",), (Bar((5,), 5), None))
    grid = Grid(("node", "load"), (("desk", "5"), ("all", "5")), frozenset({1}), "", 0, bars)
    lines = [
        "node                load",
        "desk  ███████████▏     5",
        "all                    5",
    ]

    assert lines == grid_lines(grid, wide(24))


def test_no_grid_is_no_lines() -> None:
    assert [] == grid_lines(None, PLAIN)


@pytest.mark.parametrize("bars", [True, False])
def test_wide_characters_keep_lines_within_the_width(bars: bool) -> None:
    lines = grid_lines(grid_of(("模型" * 12, "desk"), bars=bars), wide(70))

    assert max(text_width(line) for line in lines) <= 70


def test_text_shows_what_a_terminal_would_obey_in_plain_and_styled_cells() -> None:
    row: tuple[Cell, ...] = ("\x1b[2Jdesk\n", Styled("\u202e5", Style.BAD))
    grid = Grid((), (row,), frozenset(), "", None, None)

    assert ["\\x1b[2Jdesk\\n  \\u202e5"] == grid_lines(grid, PLAIN)
    assert ["\\x1b[2Jdesk\\n  \x1b[31m\\u202e5\x1b[0m"] == grid_lines(grid, Paint(enabled=True))


def test_a_page_shows_markup_and_control_characters_and_obeys_neither() -> None:
    row: tuple[Cell, ...] = ("<script>&'\"\x1b", Styled("\u202e5", Style.BAD))
    grid = Grid(("<b>", "n"), (row,), frozenset({1}), "", None, None)

    table = (
        '<div class="wide"><table>\n'
        '<thead><tr><th scope="col">&lt;b&gt;</th><th scope="col" class="right">n</th></tr></thead>\n'
        "<tbody>\n"
        '<tr><td>&lt;script&gt;&amp;&#x27;&quot;\\x1b</td><td class="right bad">\\u202e5</td></tr>\n'
        "</tbody></table></div>\n"
    )

    assert table == grid_html(grid)


def test_a_page_draws_the_parts_of_a_bar_side_by_side_with_a_key() -> None:
    page = grid_html(grid_of(("desk",)))

    assert (
        '<td class="bar"><svg class="bar" viewBox="0 0 10000 1" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="weights" x="0" width="4000" height="1"/><rect class="cache" x="4000" width="1000" height="1"/>'
        "</svg></td>"
    ) in page
    assert page.endswith('<p class="key"><span class="weights"></span>weights<span class="cache"></span>cache</p>\n')
