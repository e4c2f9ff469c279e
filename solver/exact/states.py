"""States of a search: how many nodes of each group are used, laid out by how many that are in all."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["States", "TableError", "lay_out", "size_of"]


class TableError(Exception):
    """The nodes are of too many kinds for the tables of a search, or the time is up before they are filled."""


@dataclass(frozen=True, eq=False)
class States:
    """Mixed-radix numbers of counts. `levels[j]` holds the states that use j nodes, ascending.

    `sources[j]`, shape (groups, states of level j), is the state without one node of each group, or `size` where there
    is none or the order asked for bars that group from coming last.
    """

    counts: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    levels: tuple[NDArray[np.int32], ...]
    sources: tuple[NDArray[np.int32], ...]

    def digits(self, states: NDArray[np.int32], group: int) -> NDArray[np.int32]:
        """Return how many nodes of a group each of the states uses."""
        return states // self.strides[group] % (self.counts[group] + 1)


def size_of(counts: Sequence[int]) -> int:
    """Return how many states there are."""
    return prod(count + 1 for count in counts)


def lay_out(counts: Sequence[int], ranks: Sequence[int | None], most_nodes: int) -> States:
    """Return the states of up to so many nodes of all groups; ranks are places in the order asked for."""
    strides = tuple(prod(count + 1 for count in counts[number + 1 :]) for number in range(len(counts)))
    used = np.zeros(1, dtype=np.int32)
    for count in counts:
        used = (used[:, None] + np.arange(count + 1, dtype=np.int32)[None, :]).reshape(-1)
    by_level = np.argsort(used, kind="stable").astype(np.int32)
    bounds = np.concatenate(([0], np.cumsum(np.bincount(used))))
    top = min(most_nodes, len(bounds) - 2)
    levels = tuple(by_level[bounds[level] : bounds[level + 1]] for level in range(top + 1))
    plain = States(tuple(counts), strides, len(used), levels, ())
    return States(
        plain.counts, strides, plain.size, levels, tuple(_sources(plain, level, ranks) for level in plain.levels)
    )


def _sources(states: States, level: NDArray[np.int32], ranks: Sequence[int | None]) -> NDArray[np.int32]:
    table = np.full((len(states.counts), len(level)), states.size, dtype=np.int32)
    for group, stride in enumerate(states.strides):
        allowed = states.digits(level, group) > 0
        rank = ranks[group]
        if rank is not None:
            for other, other_rank in enumerate(ranks):
                if other_rank is not None and other_rank > rank:
                    allowed &= states.digits(level, other) == 0
        table[group, allowed] = level[allowed] - stride
    return table
