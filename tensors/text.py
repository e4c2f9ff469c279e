"""Text from files, made safe to show."""

from __future__ import annotations

__all__ = ["decoder_problem", "quoted", "shown_shape", "within_sentence"]

_LONGEST = 80
_LONGEST_PROBLEM = 200


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


def within_sentence(text: str) -> str:
    """Return text that began a sentence with its first letter small, unless that begins a word in capitals (JSON)."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def decoder_problem(error: Exception) -> str:
    """Return what a decoder found as the middle of a sentence, with the path of where it was.

    >>> decoder_problem(ValueError("Expected `int`, got `str` - at `$.nodes[0].count`"))
    'expected `int`, got `str` at nodes[0].count'
    """
    problem, _, path = str(error).rpartition(" - at `$")
    place = f" at {path.rstrip('`').removeprefix('[...]').removeprefix('.') or 'the top'}" if problem else ""
    said = within_sentence(problem or path)
    return f"{said if len(said) <= _LONGEST_PROBLEM else said[:_LONGEST_PROBLEM] + '…'}{place}"
