"""Rows of cells as aligned lines that are no wider than what they are written on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from solver.report.terminal import Cell, Style, Styled, escape, fold, plain, text_width

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from solver.report.terminal import Paint

__all__ = ["columns", "fact_lines", "natural_width"]

_GAP = "  "
# Words are not folded into columns narrower than this.
_LEAST_COLUMNS = 12
# Where a name that has no space is broken rather than anywhere.
_SEAMS = "-_./:, "


def columns(
    rows: Sequence[Sequence[Cell]], right: Collection[int], paint: Paint, *, keys: int = 1, units: int = 0
) -> list[str]:
    """Return rows as lines with aligned columns; those numbered in `right` are aligned at their ends.

    The first `keys` columns say what a row is of. What is wider than the lines of `paint` is folded in the columns
    aligned at their starts, the widest first, keys last. What is too wide even so stands in blocks, one below the other
    with an empty line between; each begins with the keys and ends with the last `units` columns.
    """
    widths = _natural(rows)
    keys = min(keys, max(0, len(widths) - 1))
    left = [column for column in range(len(widths)) if column not in right]
    narrowed = _narrowed(widths, [column for column in left if column >= keys], paint.width)
    narrowed = _narrowed(narrowed, [column for column in left if column < keys], paint.width)
    if _total(narrowed) <= paint.width:
        return _lines(rows, narrowed, right, paint)
    lines: list[str] = []
    for block in _blocks(widths, left, (keys, units), paint.width):
        part = [[row[column] if column < len(row) else "" for column in block] for row in rows]
        within = _narrowed([widths[column] for column in block], range(len(block)), paint.width)
        ends = {place for place, column in enumerate(block) if column in right}
        lines += [*([""] if lines else []), *_lines(part, within, ends, paint)]
    return lines


def natural_width(rows: Sequence[Sequence[Cell]]) -> int:
    """Return how wide lines are that nothing narrows."""
    return _total(_natural(rows))


def fact_lines(facts: Sequence[tuple[str, str]], paint: Paint) -> list[str]:
    """Return pairs of a word and a sentence, as files give them, as harmless lines with the words in a column."""
    rows = [(Styled(escape(word), Style.FAINT), escape(sentence)) for word, sentence in facts]
    return columns(rows, (), replace(paint, width=paint.sentence_width))


def _natural(rows: Sequence[Sequence[Cell]]) -> list[int]:
    """Return the width of every column as its widest cell has it."""
    widths: list[int] = []
    for row in rows:
        widths.extend([0] * (len(row) - len(widths)))
        for column, cell in enumerate(row):
            widths[column] = max(widths[column], text_width(plain(cell)))
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _narrowed(widths: Sequence[int], which: Collection[int], most: int) -> list[int]:
    """Return the widths with the widest of those in `which` made narrower until all take `most`, or none can be."""
    narrowed = [min(width, most) if column in which else width for column, width in enumerate(widths)]
    for _ in range(_total(narrowed) - most):
        widest = max(which, key=lambda column: narrowed[column], default=None)
        if widest is None or narrowed[widest] <= _LEAST_COLUMNS:
            break
        narrowed[widest] -= 1
    return narrowed


def _blocks(widths: Sequence[int], left: Collection[int], kept: tuple[int, int], most: int) -> list[list[int]]:
    """Return the columns of every block: those kept at both ends, and as many more as have room, at least one."""
    keys, end = range(kept[0]), len(widths) - kept[1]
    units = range(end, len(widths))
    of_keys = _total(_narrowed(widths[: kept[0]], [key for key in keys if key in left], most // 3))
    least = of_keys + sum(widths[unit] + len(_GAP) for unit in units)
    blocks: list[list[int]] = []
    room = 0
    for column in range(kept[0], end):
        room -= widths[column] + len(_GAP)
        if room < 0:
            blocks.append([])
            room = most - least - widths[column] - len(_GAP)
        blocks[-1].append(column)
    return [[*keys, *block, *units] for block in blocks]


def _lines(rows: Sequence[Sequence[Cell]], widths: Sequence[int], right: Collection[int], paint: Paint) -> list[str]:
    return [_line(line, widths, right, paint) for row in rows for line in _folded(row, widths)]


def _folded(row: Sequence[Cell], widths: Sequence[int]) -> list[list[Cell]]:
    """Return a row as the rows that its cells take in these widths."""
    cells = [_pieces(cell, width) for cell, width in zip(row, widths, strict=False)]
    height = max(map(len, cells), default=1)
    return [[cell[line] if line < len(cell) else "" for cell in cells] for line in range(height)]


def _pieces(cell: Cell, width: int) -> list[Cell]:
    if text_width(plain(cell)) <= width:
        return [cell]
    pieces = [piece for line in fold(plain(cell), width, 0) for piece in _broken(line, width)]
    return [replace(cell, text=piece) if isinstance(cell, Styled) else piece for piece in pieces]


def _broken(word: str, width: int) -> list[str]:
    """Return a word in pieces of at most `width` columns, broken behind a sign where the last half of one has any."""
    pieces: list[str] = []
    start = 0
    while text_width(rest := word[start : start + width + 1]) > width:
        end = next(end for end in range(len(rest) - 1, -1, -1) if text_width(rest[:end]) <= width) or 1
        seam = max(rest.rfind(sign, end // 2, end) for sign in _SEAMS) + 1
        pieces.append(rest[: seam or end])
        start += seam or end
    return [*pieces, word[start:]] if start < len(word) else pieces


def _line(row: Sequence[Cell], widths: Sequence[int], right: Collection[int], paint: Paint) -> str:
    shown = []
    for column, cell in enumerate(row):
        text = plain(cell)
        space = " " * (widths[column] - text_width(text))
        if column == len(row) - 1 and column not in right:
            text, space = text.rstrip(), ""
        painted = paint(text, cell.style) if isinstance(cell, Styled) else text
        shown.append(space + painted if column in right else painted + space)
    return _GAP.join(shown).rstrip()
