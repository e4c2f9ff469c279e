"""Which teams a search of chains is offered: those that leave enough nodes for the rest.

Give every kind of node a worth, in items, so that no team holds more than its nodes are worth together. What all nodes
are worth beyond the items is the slack; a team that holds less than it is worth by more than the slack is in no chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import isqrt, prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from solver.replicated.kinds import Kinds
    from solver.replicated.packing import Packing, Team

__all__ = ["Offer", "useful_teams"]

_MOST_LISTED = 30_000
# A pass of the search takes about states · teams² · boundaries additions.
_MOST_ADDITIONS = 3e9
_LARGEST_LINKING_TEAM = 4
_NEAR = 1e-6


@dataclass(frozen=True, slots=True)
class Offer:
    """Teams, the plainest first. `complete` says that no chain within the pace has another."""

    teams: tuple[Team, ...]
    complete: bool


def useful_teams(kinds: Kinds, times: Sequence[Sequence[int]], packing: Packing) -> Offer:
    """Return the teams that a chain within the pace of a packing may have, as far as they can be listed."""
    counts = kinds.counts
    listed = prod(count + 1 for count in counts) <= _MOST_LISTED
    if listed:
        teams = np.array([team for team in product(*(range(count + 1) for count in counts)) if any(team)])
    else:
        teams = np.array(sorted({*(team for team, _ in packing.teams), *_linking_teams(counts)}))
    worth = _worths(packing, len(counts))
    longest = _longest(teams, times, packing)
    lost = teams @ worth - longest
    slack = float(np.array(counts) @ worth) - packing.items
    kept = np.flatnonzero((longest > 0) & (lost <= slack + _NEAR))
    plain = {*(team for team, _ in packing.teams), *_linking_teams(counts)}
    unusual = np.array([tuple(team) not in plain for team in teams[kept].tolist()], dtype=bool)
    kept = kept[np.lexsort((teams[kept].sum(axis=1), lost[kept], unusual))]
    most = isqrt(int(_MOST_ADDITIONS / (prod(count + 1 for count in counts) * (packing.items + 1))))
    offered = tuple(tuple(team) for team in teams[kept[:most]].tolist())
    return Offer(offered, complete=listed and len(kept) <= most)


def _worths(packing: Packing, kinds: int) -> NDArray[np.float64]:
    """Return worths at which no team is a bargain: what one node holds alone, raised for teams that hold more."""
    worth = np.zeros(kinds)
    for team, length in packing.teams:
        counts = np.array(team)
        missing = length - float(counts @ worth)
        if missing > 0:
            worth += np.where(counts > 0, missing / counts.sum(), 0.0)
    return worth


def _longest(teams: NDArray[np.int64], times: Sequence[Sequence[int]], packing: Packing) -> NDArray[np.int64]:
    """Return the most items that each team holds at the pace, links and places left out; 0 for none."""
    longest = np.zeros(len(teams), dtype=np.int64)
    for length in range(1, max((len(row) for row in times), default=0) + 1):
        able = np.array([len(row) >= length for row in times])
        rates = np.array([1 / row[length - 1] if len(row) >= length else 0.0 for row in times])
        kept = ((teams > 0) & ~able).sum(axis=1) == 0
        kept &= (teams @ rates) * float(packing.pace.ns) >= 1 - _NEAR
        longest[kept] = length
    return longest


def _linking_teams(counts: Sequence[int]) -> list[Team]:
    """Return teams that are worth having for their links: any number of one kind, and a few of two kinds."""
    size = len(counts)
    found = []
    for one in range(size):
        found += [tuple(count if kind == one else 0 for kind in range(size)) for count in range(1, counts[one] + 1)]
        for other in range(one + 1, size):
            for count, beside in product(range(1, counts[one] + 1), range(1, counts[other] + 1)):
                if count + beside <= _LARGEST_LINKING_TEAM:
                    found.append(tuple({one: count, other: beside}.get(kind, 0) for kind in range(size)))
    return found
