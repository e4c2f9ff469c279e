"""The most tokens a second that few nodes carry, in one chain or several, links left out: every split of them tried.

    carried[counts, k]  = max over teams t and lengths j of  min(carried[counts - t, k - j], rate of t with j items)
    together[counts]    = max of carried[counts, items] and, over parts p, of carried[p, items] + together[counts - p]

Rates are compared by their rank, so that the first is done in whole numbers; sums are exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from solver.replicated.pace import pace_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from solver.replicated.packing import Team

__all__ = ["Partition", "best_partition", "is_small"]

_MOST_COMPARED = 400_000

# The counts of nodes of every chain.
Partition = tuple[tuple[int, ...], ...]


def is_small(times: Sequence[Sequence[int]], counts: Sequence[int]) -> bool:
    """Return whether the tables stay small enough to be filled in about a second."""
    states = prod(count + 1 for count in counts)
    return states * states // 2 * max((len(row) for row in times), default=0) <= _MOST_COMPARED


def best_partition(
    times: Sequence[Sequence[int]], counts: Sequence[int], items: int, most_nodes: int | None
) -> tuple[Fraction, Partition] | None:
    """Return a pace that no chains of these nodes are below together, and how the nodes would be split for it.

    None if the nodes cannot hold the items.
    """
    every = list(product(*(range(count + 1) for count in counts)))
    single = _single(times, every, items)
    together: dict[Team, tuple[Fraction, Partition]] = {}
    for whole in every:
        best: tuple[Fraction, Partition] = (single.get(whole, Fraction(0)), (whole,))
        for part in every:
            rest = tuple(one - other for one, other in zip(whole, part, strict=True))
            if part in single and min(rest) >= 0 and any(rest):
                amount, split = together[rest]
                if single[part] + amount > best[0]:
                    best = (single[part] + amount, (part, *split))
        together[whole] = best
    allowed = [entry for whole, entry in together.items() if most_nodes is None or sum(whole) <= most_nodes]
    rate, split = max(allowed, key=lambda entry: entry[0])
    return (1 / rate, split) if rate else None


def _single(times: Sequence[Sequence[int]], every: list[Team], items: int) -> dict[Team, Fraction]:
    """Return the tokens a ns of the best single chain that uses exactly so many nodes, where there is one."""
    rates = {
        (team, length): 1 / pace_of([(n, row[length - 1]) for n, row in zip(team, times, strict=True) if n])
        for team in every[1:]
        for length in range(1, min(len(row) for n, row in zip(team, times, strict=True) if n) + 1)
    }
    ranked = sorted(set(rates.values()))
    rank = {rate: number for number, rate in enumerate(ranked, 1)}
    lengths: dict[Team, list[tuple[int, int]]] = {}
    for (team, length), rate in rates.items():
        lengths.setdefault(team, []).append((length, rank[rate]))
    carried: dict[Team, NDArray[np.int32]] = {}
    for whole in every:
        row = np.zeros(items + 1, dtype=np.int32)
        if not any(whole):
            row[0] = len(ranked) + 1
        for team, options in lengths.items():
            rest = tuple(one - other for one, other in zip(whole, team, strict=True))
            if min(rest) >= 0:
                for length, number in options:
                    np.maximum(row[length:], np.minimum(carried[rest][:-length], number), out=row[length:])
        carried[whole] = row
    return {whole: ranked[row[items] - 1] for whole, row in carried.items() if any(whole) and row[items]}
