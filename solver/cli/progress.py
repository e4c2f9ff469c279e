"""Progress of a search on standard error, where a person watches."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from solver.effort import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.limits import Value

__all__ = ["shown_progress"]

# A search that ends sooner than this shows nothing.
_PATIENCE_SECONDS = 0.5
_CLEAR_LINE = "\r\033[K"


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Progress]:
    """Yield a progress that keeps one line with the best value, the bound and the gap.

    Nothing if quiet or unwatched.
    """
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    started = time.monotonic()
    shown = False

    def show(name: str, best: Value | None, bound: Value | None) -> None:
        nonlocal shown
        if time.monotonic() - started < _PATIENCE_SECONDS:
            return
        shown = True
        sys.stderr.write(f"{_CLEAR_LINE}{name}: {_sentence(best, bound)}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        if shown:
            sys.stderr.write(_CLEAR_LINE)
            sys.stderr.flush()


def _sentence(best: Value | None, bound: Value | None) -> str:
    if best is None:
        return "looking for a placement"
    if bound is None:
        return f"best {_short(best)}, no bound yet"
    gap = abs(float(Fraction(best) - Fraction(bound))) / abs(float(best)) * 100 if best else 0.0
    return f"best {_short(best)}, bound {_short(bound)}, gap {gap:.2f} %"


def _short(value: Value) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{float(value):.4f}"
