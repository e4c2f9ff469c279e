"""A large JSON object, entry by entry in pieces of about a MiB: checking one costs little more memory than its text.

JSON libraries build all of an object before they give any of it; a hostile text then takes twenty times its size.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["OBJECTS", "TEXTS", "MalformedError", "Piece", "pieces"]

_PIECE_BYTES = 2**20
_LARGEST_ENTRY_BYTES = 2**23

_SPACE = rb"[ \t\n\r]*+"
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_FLAT_OBJECT = rb'\{(?:[^"{}]++|' + _STRING + rb")*+\}"
_OPENING = re.compile(_SPACE + rb"\{(" + _SPACE + rb"\})?+")
_CLOSING = re.compile(_SPACE + rb"\Z")


def _entry(value: bytes) -> re.Pattern[bytes]:
    return re.compile(_SPACE.join((b"", b"(" + _STRING + b")", b":", b"(" + value + b")", b"([,}])")), re.DOTALL)


OBJECTS: Final = _entry(_FLAT_OBJECT)
"""Entries whose values are objects without objects inside: groups are the key, the value and what follows."""

TEXTS: Final = _entry(_STRING)
"""Entries whose values are strings."""


class MalformedError(ValueError):
    """The text is no object of such entries; `position` is where it stops being one."""

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(position, problem)
        self.position = position
        self.problem = problem


class Piece(NamedTuple):
    """The bytes [start, stop) of some entries, commas between them; of one alone, those of its value."""

    start: int
    stop: int
    alone: bool


def pieces(
    data: bytearray | memoryview, start: int, stop: int, entry: re.Pattern[bytes], *, alone: bytes = b""
) -> Iterator[Piece]:
    """Yield the entries of the object in `data[start:stop]`, the one whose key is `alone` by itself.

    Only the outer form is checked: the pieces are JSON where their strings, numbers and arrays are.

    Raises:
        MalformedError: the text is no object, or an entry is none, or is larger than 8 MiB.
    """
    opening = _OPENING.match(data, start, stop)
    if opening is None:
        raise MalformedError(start, "is no JSON object")
    position = first = last = opening.end()
    ended = opening[1] is not None
    while not ended:
        found = entry.match(data, position, stop)
        if found is None:
            raise MalformedError(position, "has no sound entry here")
        following = found.end()
        ended = found[3] == b"}"
        if following - position > _LARGEST_ENTRY_BYTES:
            problem = f"has an entry of {following - position:,} bytes, more than {_LARGEST_ENTRY_BYTES:,},"
            raise MalformedError(position, problem)
        if alone and found[1] == alone:
            if position > first:
                yield Piece(first, last, alone=False)
            yield Piece(*found.span(2), alone=True)
            first = following
        elif ended or following - first > _PIECE_BYTES:
            yield Piece(first, found.end(2), alone=False)
            first = following
        position, last = following, found.end(2)
    if _CLOSING.match(data, position, stop) is None:
        raise MalformedError(position, "goes on behind its closing brace")
