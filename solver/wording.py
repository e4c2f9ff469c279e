"""Pieces of error sentences, which say where, what is there, what was expected and what to do."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from tensors.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "counted",
    "either",
    "exact_size",
    "quoted",
    "several",
    "shortened",
    "suggestion",
]

_LONGEST_SHOWN = 40
_SMALLEST_ROUNDED = 1024


def shortened(text: str, longest: int = _LONGEST_SHOWN) -> str:
    """Return text, cut where it is too long for a sentence."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def quoted(text: str) -> str:
    """Return text in quotes, cut where it is too long for a sentence."""
    return f'"{shortened(text)}"'


def either(known: Sequence[str]) -> str:
    """Return words as "a, b or c"."""
    return known[0] if len(known) == 1 else f"{', '.join(known[:-1])} or {known[-1]}"


def suggestion(word: str, known: Sequence[str]) -> str:
    """Return "Did you mean …?" for a word that is nearly a known one, else nothing."""
    close = get_close_matches(word.lower()[:_LONGEST_SHOWN], known, n=1, cutoff=0.6)
    return f"Did you mean {close[0]}?" if close else ""


def exact_size(size_bytes: int) -> str:
    """Return a size with its unit, and beside it the exact bytes where the unit rounds."""
    shown = format_bytes(size_bytes)
    return shown if size_bytes < _SMALLEST_ROUNDED else f"{shown} ({size_bytes:,} bytes)"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is not one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def several(names: Sequence[str], most: int = 8) -> str:
    """Return names between commas; of a long list the rest is counted."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
