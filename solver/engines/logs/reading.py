"""The lines of a log, whoever wrote it: bounded in number and length, without colours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from solver.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LOG_BYTES", "lines_of", "read_log"]

LOG_BYTES = 64 * 2**20
"""How much of a log is read: what engines say of memory stands near its beginning."""

_LONGEST_LINE = 2000
# Colours and movements of a terminal, as they are or as writers of logs escape them: \\x1b, \\u001b, #033.
_COLOUR = re.compile(r"(?:\x1b|\\x1b|\\u001b|\\033|#033)\[[0-9;?]{0,20}[A-Za-z]", re.IGNORECASE)
_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"))


def read_log(path: Path) -> tuple[str, bool]:
    """Return the text of a log and whether all of it was read; bytes that are no text are replaced.

    Raises:
        InputError: the file cannot be read.
    """
    where = str(path)
    try:
        with path.open("rb") as file:
            content = file.read(LOG_BYTES + 1)
    except IsADirectoryError:
        raise InputError(where, "it is a folder; expected a log. Name the file.") from None
    except FileNotFoundError:
        raise InputError(where, "there is no such file; expected a log. Check the path.") from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(where, f"{reason}; expected a log that can be read. Check the path.") from None
    whole = len(content) <= LOG_BYTES
    return _decoded(content[:LOG_BYTES]), whole


def lines_of(text: str) -> list[str]:
    """Return lines without colours; of a line that is longer than any of an engine's, the beginning."""
    return [_COLOUR.sub("", line[:_LONGEST_LINE]) for line in text.splitlines()]


def _decoded(content: bytes) -> str:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, errors="replace")
    return content.decode("utf-8", errors="replace")
