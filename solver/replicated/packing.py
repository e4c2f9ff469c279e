"""How many items nodes can hold together at a pace, links left out: a knapsack over counts of each kind of node.

A *team* is so many nodes of each kind that hold one step. At a pace it can hold a step of k items if its rates add up
to it, each node counted with its quickest stage of k or more items wherever it may stand. Steps of distinct teams add:

    held[counts] = max over teams t of  held[counts - t] + items that t can hold

which no chain of steps exceeds, so that held[all] < items shows that no chain keeps the pace. Only teams that hold more
than their parts do are kept, found smallest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.states import TableError
from solver.replicated.pace import Pace, pace_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from solver.replicated.kinds import Kinds

__all__ = ["Packing", "Team", "best_times", "pack", "packed_steps"]

# So many nodes of each kind.
Team = tuple[int, ...]

_MOST_STATES = 4_000_000
_MOST_TEAMS = 200_000


@dataclass(frozen=True, eq=False)
class Packing:
    """What one pass found. `held`, one axis a kind, is the most items that counts of nodes hold, at most `items`.

    `teams` are the teams worth having with the most items that each holds, the smallest first.
    """

    items: int
    pace: Pace
    held: NDArray[np.int16]
    teams: tuple[tuple[Team, int], ...]


def best_times(kinds: Kinds) -> tuple[tuple[int, ...], ...]:
    """Return by kind and k - 1 the least time of a stage of k or more items, anywhere; shorter where no more fit."""
    rows = []
    for kind in kinds.kinds:
        times: list[int] = []
        for length in range(kind.times.shape[0] - 1, 0, -1):
            there = np.diagonal(kind.times, length)
            there = there[there > 0]
            known = [int(there.min())] if len(there) else []
            known += times[-1:]
            if known:
                times.append(min(known))
        rows.append(tuple(reversed(times)))
    return tuple(rows)


def pack(times: Sequence[Sequence[int]], counts: Sequence[int], items: int, pace: Pace) -> Packing:
    """Return what nodes hold together at a pace; `times` as of `best_times`.

    Raises:
        TableError: there are too many kinds of nodes, or too many teams.
    """
    if prod(count + 1 for count in counts) > _MOST_STATES:
        raise TableError
    held = np.zeros([count + 1 for count in counts], dtype=np.int16)
    longest = max((len(row) for row in times), default=0)
    nobody = (0,) * len(counts)
    growing: dict[int, list[Team]] = {length: [nobody] for length in range(1, min(longest, items) + 1)}
    teams: list[tuple[Team, int]] = []
    seen = 0
    while any(growing.values()):
        complete: dict[Team, int] = {}
        for length, smaller in growing.items():
            larger = [team for team in _one_larger(smaller, length, times, counts) if held[team] < length]
            seen += len(larger)
            kept = {team for team in larger if _keeps(pace, team, length, times)}
            complete.update(dict.fromkeys(kept, length))
            growing[length] = [team for team in larger if team not in kept]
        if seen > _MOST_TEAMS:
            raise TableError
        for team, length in sorted(complete.items(), key=lambda entry: (-entry[1], entry[0])):
            if held[team] < length:
                teams.append((team, length))
                _add(held, team, length, items)
    return Packing(items, pace, held, tuple(teams))


def _keeps(pace: Pace, team: Team, length: int, times: Sequence[Sequence[int]]) -> bool:
    return pace.kept([(count, row[length - 1]) for count, row in zip(team, times, strict=True) if count])


def _one_larger(teams: list[Team], length: int, times: Sequence[Sequence[int]], counts: Sequence[int]) -> list[Team]:
    """Return every team with one node more, of the last kind that it has or a later one, that can hold the length."""
    larger = []
    for team in teams:
        last = max((kind for kind, count in enumerate(team) if count), default=0)
        larger += [
            (*team[:kind], team[kind] + 1, *team[kind + 1 :])
            for kind in range(last, len(team))
            if team[kind] < counts[kind] and len(times[kind]) >= length
        ]
    return larger


def _add(held: NDArray[np.int16], team: Team, length: int, items: int) -> None:
    """Allow a team any number of times."""
    target = held[tuple(slice(count, None) for count in team)]
    source = held[tuple(slice(0, size - count) for size, count in zip(held.shape, team, strict=True))]
    for _ in range(min((size - 1) // count for size, count in zip(held.shape, team, strict=True) if count)):
        np.maximum(target, np.minimum(source + length, items), out=target)


def packed_steps(
    packing: Packing, times: Sequence[Sequence[int]], most_nodes: int | None
) -> tuple[tuple[Team, ...], Fraction] | None:
    """Return teams that together hold all items on the fewest nodes, and their pace; None if there are none."""
    there = np.argwhere(packing.held >= packing.items)
    if not len(there) or (most_nodes is not None and int(there.sum(axis=1).min()) > most_nodes):
        return None
    left = tuple(int(count) for count in there[there.sum(axis=1).argmin()])
    chosen: list[tuple[Team, int]] = []
    while packing.held[left] > 0:
        for team, length in packing.teams:
            before = tuple(one - other for one, other in zip(left, team, strict=True))
            reached = -1 if min(before) < 0 else min(int(packing.held[before]) + length, packing.items)
            if reached == packing.held[left]:
                chosen.append((team, length))
                left = before
                break
    pace = max(
        pace_of([(n, row[length - 1]) for n, row in zip(team, times, strict=True) if n]) for team, length in chosen
    )
    return tuple(team for team, _ in chosen), pace
