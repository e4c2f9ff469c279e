"""Text for a terminal: what files say made harmless, folded lines, bars and a little colour."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias
from unicodedata import combining, east_asian_width

__all__ = [
    "LINE_WIDTH",
    "Cell",
    "Paint",
    "Style",
    "Styled",
    "bar",
    "escape",
    "fold",
    "plain",
    "sentence_lines",
    "text_width",
]

# Lines longer than this are hard to read; where nobody says how wide a line may be, none is wider.
LINE_WIDTH: Final = 100

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
    """What is written on: applies looks, or leaves text as it is where that is no terminal.

    `width` is how many columns its lines have.
    """

    enabled: bool
    width: int = LINE_WIDTH

    @property
    def sentence_width(self) -> int:
        """How long lines of sentences are: no longer than is easy to read."""
        return min(self.width, LINE_WIDTH)

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


def sentence_lines(text: str, paint: Paint, *, indent: int, style: Style | None = None) -> list[str]:
    """Return text, made harmless, in lines that are easy to read; those after the first are indented."""
    lines = fold(escape(text), paint.sentence_width, indent)
    return lines if style is None else [paint(line, style) for line in lines]


def text_width(text: str) -> int:
    """Return how many columns escaped text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(character) else 1 + (east_asian_width(character) in "WF") for character in text)


def plain(cell: Cell) -> str:
    """Return the text of a cell without its look."""
    return cell.text if isinstance(cell, Styled) else cell
