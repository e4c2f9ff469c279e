"""A grid as a table of a page: every text in it made harmless, bars drawn as shapes."""

from __future__ import annotations

from html import escape as without_markup
from typing import TYPE_CHECKING

from solver.report.terminal import Styled, escape

if TYPE_CHECKING:
    from solver.report.grid import Bar, Bars, Grid
    from solver.report.terminal import Cell

__all__ = ["element", "grid_html", "harmless"]


def harmless(text: str) -> str:
    """Return text of a file or a person as text of a page: no markup, nothing hidden, no turned writing."""
    return without_markup(escape(text))


def element(tag: str, text: str, *classes: str) -> str:
    """Return an element that holds text alone."""
    return f"<{tag}{_classes(classes)}>{harmless(text)}</{tag}>"


def grid_html(grid: Grid) -> str:
    """Return a table, with a key to the colours of its bars."""
    head = f"<thead><tr>{_titles(grid)}</tr></thead>\n" if grid.titles else ""
    body = "\n".join(f"<tr>{_row(grid, number)}</tr>" for number in range(len(grid.rows)))
    table = f'<div class="wide"><table>\n{head}<tbody>\n{body}\n</tbody></table></div>\n'
    return table if grid.bars is None else table + _key(grid.bars)


def _titles(grid: Grid) -> str:
    cells = [
        f'<th scope="col"{_classes(("right",) * (column in grid.right))}>{harmless(title)}</th>'
        for column, title in enumerate(grid.titles)
    ]
    if grid.bars is not None:
        cells.insert(grid.bars.before, f'<th scope="col">{harmless(grid.bars.title)}</th>')
    return "".join(cells)


def _row(grid: Grid, number: int) -> str:
    cells = [_cell(grid, column, cell) for column, cell in enumerate(grid.rows[number])]
    if grid.bars is not None:
        bar = grid.bars.rows[number]
        drawn = "" if bar is None else _bar(bar, grid.bars.parts)
        cells.insert(grid.bars.before, f'<td class="bar">{drawn}</td>')
    return "".join(cells)


def _cell(grid: Grid, column: int, cell: Cell) -> str:
    classes = ["right"] * (column in grid.right) + ["name"] * (column == grid.names)
    if isinstance(cell, Styled):
        return element("td", cell.text, *classes, cell.style.name.lower())
    return element("td", cell, *classes)


def _bar(bar: Bar, names: tuple[str, ...]) -> str:
    """Return the parts side by side on a scale of ten thousand; the whole is the element itself."""
    shapes, start = [], 0
    reached = 0
    for name, part in zip(names, bar.parts, strict=False):
        reached += part
        end = min(reached * 10_000 // bar.whole, 10_000) if bar.whole > 0 else 0
        shapes.append(f'<rect class="{name}" x="{start}" width="{end - start}" height="1"/>')
        start = end
    return (
        f'<svg class="bar" viewBox="0 0 10000 1" preserveAspectRatio="none" aria-hidden="true">{"".join(shapes)}</svg>'
    )


def _key(bars: Bars) -> str:
    entries = "".join(f'<span class="{name}"></span>{name}' for name in bars.parts)
    return f'<p class="key">{entries}</p>\n'


def _classes(classes: tuple[str, ...]) -> str:
    return f' class="{" ".join(classes)}"' if classes else ""
