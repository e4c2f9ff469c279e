"""Text for a terminal: what files say made harmless, columns, bars and a little colour."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias
from unicodedata import combining, east_asian_width

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["Cell", "Paint", "Style", "Styled", "bar", "columns", "escape", "fold", "text_width"]

_EIGHTHS = " ▏▎▍▌▋▊▉"


class Style(StrEnum):
    """The few looks of a report, as the numbers of a terminal's control sequence."""

    TITLE = "1"
    FAINT = "2"
    GOOD = "32"
    BAD = "31"
    BAR = "36"


@dataclass(frozen=True, slots=True)
class Styled:
    """A cell of a table with its look."""

    text: str
    style: Style


Cell: TypeAlias = str | Styled


@dataclass(frozen=True, slots=True)
class Paint:
    """Applies looks, or leaves text as it is where the output is no terminal."""

    enabled: bool

    def __call__(self, text: str, style: Style) -> str:
        """Return the text in this look; text of spaces alone stays as it is."""
        return f"\033[{style}m{text}\033[0m" if self.enabled and text.strip() else text


def escape(text: str) -> str:
    r"""Return text of a file or a person on one line: what a terminal would obey or hide is shown as `\x1b`.

    Characters of control, format (also those that turn the direction of writing), lone surrogates and line ends are
    written as Python writes them.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def bar(amount: int, whole: int, width: int) -> str:
    """Return a bar of `width` characters, filled to amount / whole in eighths of a character; the fill rounds down.

    More than the whole is shown as full, and any amount above 0 as at least an eighth.
    """
    if whole <= 0 or amount <= 0:
        return " " * width
    eighths = max(1, min(width * 8, amount * width * 8 // whole))
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def columns(rows: Sequence[Sequence[Cell]], right: Collection[int], paint: Paint) -> list[str]:
    """Return rows as lines with aligned columns; those numbered in `right` are aligned at their ends."""
    widths: list[int] = []
    for row in rows:
        widths.extend([0] * (len(row) - len(widths)))
        for position, cell in enumerate(row):
            widths[position] = max(widths[position], _width(_plain(cell)))
    return [_line(row, widths, right, paint) for row in rows]


def fold(text: str, width: int, indent: int) -> list[str]:
    """Return text as lines of at most `width` columns, broken at spaces; lines after the first are indented.

    A word longer than a line stands alone on one.
    """
    lines: list[str] = []
    for word in text.split(" "):
        if lines and text_width(lines[-1]) + 1 + text_width(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{' ' * indent if lines else ''}{word}")
    return lines


def text_width(text: str) -> int:
    """Return how many columns escaped text takes: wide characters two, combining ones none."""
    return _width(text)


def _line(row: Sequence[Cell], widths: Sequence[int], right: Collection[int], paint: Paint) -> str:
    shown = []
    for position, cell in enumerate(row):
        text = _plain(cell)
        space = " " * (widths[position] - _width(text))
        if position == len(row) - 1 and position not in right:
            text, space = text.rstrip(), ""
        painted = paint(text, cell.style) if isinstance(cell, Styled) else text
        shown.append(space + painted if position in right else painted + space)
    return "  ".join(shown).rstrip()


def _plain(cell: Cell) -> str:
    return cell.text if isinstance(cell, Styled) else cell


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(0 if combining(character) else 1 + (east_asian_width(character) in "WF") for character in text)
