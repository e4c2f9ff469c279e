"""Text from files, made safe to show."""

from __future__ import annotations

__all__ = ["quoted", "shown_shape"]

_LONGEST = 80


def quoted(text: str) -> str:
    r"""Return `text` in double quotes, shortened, on one line, with every character that is not printable escaped.

    >>> quoted("blk.0\x1b[31m")
    '"blk.0\\x1b[31m"'
    """
    shortened = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return '"' + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shortened) + '"'


def shown_shape(shape: tuple[int, ...]) -> str:
    """Return a shape for a message, as `[4096, 128]`; of a long one, its beginning.

    >>> shown_shape((4096, 128))
    '[4096, 128]'
    """
    longest = 8
    more = ", …" if len(shape) > longest else ""
    return "[" + ", ".join(str(extent) for extent in shape[:longest]) + more + "]"
