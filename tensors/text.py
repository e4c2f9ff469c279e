"""Text from files, made safe to show."""

from __future__ import annotations

__all__ = ["quoted"]

_LONGEST = 80


def quoted(text: str) -> str:
    r"""Return `text` in double quotes, shortened, on one line, with every character that is not printable escaped.

    >>> quoted("blk.0\x1b[31m")
    '"blk.0\\x1b[31m"'
    """
    shortened = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return '"' + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shortened) + '"'
