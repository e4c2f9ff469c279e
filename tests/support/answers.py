"""Answers of a server: parts of a file, and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.web import content_range

if TYPE_CHECKING:
    from support.web import Handler, Script

__all__ = ["FIRST", "WELL", "part", "span", "status"]

WELL = b"GGUF" + bytes(2**20)
FIRST = 2**17


def part(
    handler: Handler,
    start: int = 0,
    stop: int = FIRST,
    size: int = len(WELL),
    *,
    length: int | None = None,
    sent: int | None = None,
    **headers: object,
) -> None:
    """Answer with a part of a file; the length it announces and the bytes it sends may differ from the part's."""
    whole = stop - start
    handler.head(
        206,
        Content_Range=content_range(start, stop, size),
        Content_Length=whole if length is None else length,
        **headers,
    )
    handler.body(WELL[start:stop][:sent])
    handler.close_connection = True


def span(handler: Handler, size: int = 2**62) -> tuple[int, int]:
    """Return the range that is asked for."""
    asked = handler.asked(size)
    assert asked is not None
    return asked


def status(code: int, **headers: object) -> Script:
    """Return a script that answers with a status alone."""
    return lambda handler: handler.simple(code, b"<html>no</html>", **headers)
