"""A large JSON object, entry by entry in pieces of about a MiB: checking one costs little more memory than its text.

JSON libraries build all of an object before they give any of it; a hostile text then takes twenty times its size.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ALONE", "OBJECTS", "TEXTS", "Form", "MalformedError", "Piece", "pieces"]

_PIECE_BYTES = 2**20
_LARGEST_ENTRY_BYTES = 2**23

_SPACE = rb"[ \t\n\r]*+"
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_FLAT_OBJECT = rb'\{(?:[^"{}]++|' + _STRING + rb")*+\}"
_OPENING = re.compile(_SPACE + rb"\{(" + _SPACE + rb"\})?+")
_CLOSING = re.compile(_SPACE + rb"\Z")


class Form(NamedTuple):
    """How entries look: `one` has the groups key, value and what follows; `run` is many that are followed by commas."""

    one: re.Pattern[bytes]
    run: re.Pattern[bytes]


def _form(value: bytes) -> Form:
    key = rb"(?!" + re.escape(ALONE) + rb")" + _STRING
    many = _SPACE.join((b"", key, b":", value, b","))
    one = _SPACE.join((b"", b"(" + _STRING + b")", b":", b"(" + value + b")", b"([,}])"))
    return Form(re.compile(one, re.DOTALL), re.compile(b"(?:" + many + b"){1,256}+", re.DOTALL))


ALONE: Final = b'"__metadata__"'
"""The key whose entry is given by itself: its value is of another kind."""

OBJECTS: Final = _form(_FLAT_OBJECT)
"""Entries whose values are objects without objects inside."""

TEXTS: Final = _form(_STRING)
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


def pieces(data: bytearray | memoryview, start: int, stop: int, form: Form) -> Iterator[Piece]:
    """Yield the entries of the object in `data[start:stop]`, that of the key `ALONE` by itself.

    Only the outer form is checked: the pieces are JSON where their strings, numbers and arrays are.

    Raises:
        MalformedError: the text is no object, or an entry is none, or is larger than 8 MiB.
    """
    opening = _OPENING.match(data, start, stop)
    if opening is None:
        raise MalformedError(start, "is no JSON object")
    position = first = opening.end()
    ended = opening[1] is not None
    while not ended:
        run = form.run.match(data, position, stop)
        if run is not None and run.end() - position <= _LARGEST_ENTRY_BYTES:
            position = run.end()
            if position - first > _PIECE_BYTES:
                yield Piece(first, position - 1, alone=False)
                first = position
            continue
        entry = form.one.match(data, position, stop)
        if entry is None:
            raise MalformedError(position, "has no sound entry here")
        if entry[1] == ALONE:
            if position > first:
                yield Piece(first, position - 1, alone=False)
            yield Piece(*entry.span(2), alone=True)
        elif entry.end() - position > _LARGEST_ENTRY_BYTES:
            most = f"more than the {_LARGEST_ENTRY_BYTES:,} that are read"
            raise MalformedError(position, f"has an entry of {entry.end() - position:,} bytes, {most}")
        else:
            yield Piece(first, entry.end(2), alone=False)
        ended = entry[3] == b"}"
        position = first = entry.end()
    if _CLOSING.match(data, position, stop) is None:
        raise MalformedError(position, "goes on behind its closing brace")
