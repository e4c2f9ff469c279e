"""Nodes shared out among chains: the most that chains without a node in common carry together, and which ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solver.sets.exactly import ROUNDED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Splits"]

_MOST_LISTED = 2_000


class Splits:
    """What chains carry together by the set of all their nodes, in tokens a second.

    `carried` is what one chain over some nodes of a set carries, so that larger sets carry no less; only sets that are
    `allowed` count in the end.
    """

    def __init__(self, carried: NDArray[np.float64], allowed: NDArray[np.bool_], *, one_chain: bool) -> None:
        self._one_chain = one_chain
        self._carried: list[float] = carried.tolist()
        self.together = carried if one_chain else np.array(_together(self._carried))
        self._sums: list[float] = self.together.tolist()
        self._there = np.where(allowed, self.together, 0.0)
        self.most = float(self._there.max())

    def best(self) -> tuple[int, ...]:
        """Return the sets of nodes of the chains that carry most together; none where nothing is carried."""
        left = int(self._there.argmax())
        split = []
        while self._carried[left] < self._sums[left]:
            part = next(
                part for part in _parts(left) if self._carried[part] + self._sums[left & ~part] >= self._sums[left]
            )
            split.append(part)
            left &= ~part
        return (*split, left) if self.most else ()

    def near_most(self) -> set[tuple[float, ...]] | None:
        """Return what each chain carries in every way to carry the most, up to rounding, idle chains left out.

        None if there are too many ways.
        """
        least = self.most * (1 - ROUNDED)
        found: set[tuple[float, ...]] = set()
        tried: set[tuple[int, tuple[float, ...]]] = set()
        there = np.flatnonzero(self._there >= least).tolist()
        largest = [nodes for nodes in there if not any(nodes != other and nodes & ~other == 0 for other in there)]
        waiting: list[tuple[int, tuple[float, ...]]] = [(nodes, ()) for nodes in largest]
        while waiting:
            left, before = waiting.pop()
            if (left, before) in tried:
                continue
            if len(tried) > _MOST_LISTED:
                return None
            tried.add((left, before))
            if sum(before) + self._carried[left] >= least:
                found.add(tuple(sorted(value for value in (*before, self._carried[left]) if value)))
            if not self._one_chain:
                waiting += [
                    (left & ~part, (*before, self._carried[part]))
                    for part in _parts(left)
                    if sum(before) + self._carried[part] + self._sums[left & ~part] >= least
                ]
        return found


def _together(alone: list[float]) -> list[float]:
    together = list(alone)
    for nodes in range(1, len(alone)):
        together[nodes] = max([alone[nodes], *(alone[part] + together[nodes & ~part] for part in _parts(nodes))])
    return together


def _parts(nodes: int) -> Iterator[int]:
    """Yield every set for the chain that has the first node, some node left over; idle nodes are in any chain."""
    first = nodes & -nodes
    rest = nodes & ~first
    part = rest
    while part:
        part = (part - 1) & rest
        yield part | first
