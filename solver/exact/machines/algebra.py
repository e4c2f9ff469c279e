"""Least sums over a boundary between two tables: the one step that every search over machines is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from solver.exact.machines.stages import Prices

__all__ = ["nowhere", "through"]


def nowhere(shape: tuple[int, ...], prices: Prices) -> NDArray[np.int64]:
    """Return costs of what cannot be."""
    costs: NDArray[np.int64] = np.full(shape, prices.never, dtype=prices.dtype)
    return costs


def through(left: NDArray[np.int64], right: NDArray[np.int64], never: int) -> NDArray[np.int64]:
    """Return min over k of left[i, k] + right[k, j], at most `never`; shapes (rows, cuts) and (cuts, columns)."""
    best = np.full((left.shape[0], right.shape[1]), never, dtype=left.dtype)
    there, reached = left < never, right < never
    for cut in np.flatnonzero(there.any(axis=0) & reached.any(axis=1)):
        rows, columns = _span(there[:, cut]), _span(reached[cut])
        part = best[rows, columns]
        np.minimum(part, left[rows, cut, None] + right[cut, None, columns], out=part)
    return best


def _span(marked: NDArray[np.bool_]) -> slice:
    """Return the shortest slice that holds every marked place; some place is."""
    return slice(int(marked.argmax()), len(marked) - int(marked[::-1].argmax()))
