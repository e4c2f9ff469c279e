"""Chains of teams step by step, links and the places of items included.

For counts used of each kind, the team of the last step and a boundary, reach[counts, team, boundary] says whether some
chain of steps ends so, every step within the pace and every seam wide enough:

    reach[counts + t, t, b]  if  some team s and boundary a have reach[counts, s, a],
                                 the seam from s to t carries all tokens, and t can hold [a, b)

A seam is taken to carry what all its links carry together, each no more than all tokens. That is exact where the nodes
of either side are alike and never too little, so that an answer is measured before it is believed, and "none" is a
proof where every useful team was offered and the quickest of the links between two kinds were counted. What else the
rules ask of steps in a row is in `places`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.states import TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from solver.replicated.kinds import Kinds
    from solver.replicated.pace import Pace
    from solver.replicated.packing import Packing, Team
    from solver.replicated.places import Places

__all__ = ["TeamStep", "layered_steps", "stages_kept"]

_MOST_CELLS = 300_000_000
_NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class TeamStep:
    """The items [start, end) and how many nodes of each kind hold them."""

    start: int
    end: int
    team: Team


def layered_steps(
    kinds: Kinds,
    teams: Sequence[Team],
    packing: Packing,
    most_nodes: int | None,
    places: Places | None,
    *,
    quick: bool,
    spent: Callable[[], bool],
) -> tuple[TeamStep, ...] | None:
    """Return a chain on few nodes within the pace of a packing, of these teams; None if there is none.

    `quick` counts every link like the quickest between its kinds, else like the slowest.

    Raises:
        TableError: the tables would grow too large, or `spent` said that the time is up.
    """
    items, counts = packing.items, kinds.counts
    shape = tuple(count + 1 for count in counts)
    if not teams or prod(shape) * len(teams) * (items + 1) > _MOST_CELLS:
        raise TableError
    fits = np.stack([stages_kept(kinds, team, packing.pace) for team in teams])
    longest = int((fits * np.subtract(*np.indices(fits.shape[1:])[::-1])[None]).max())
    if longest <= 0:
        return None
    seams = _seams(kinds, teams, packing.pace, quick=quick).astype(np.float32)
    strides = np.array([prod(shape[number + 1 :]) for number in range(len(shape))])
    rows = np.array(teams)
    offsets = rows @ strides
    reach = np.zeros((prod(shape), len(teams), items + 1), dtype=bool)
    touched = np.zeros(prod(shape), dtype=bool)
    touched[0] = True
    left = packing.held[tuple(slice(None, None, -1) for _ in shape)].reshape(-1)
    boundaries = np.arange(items + 1)
    best: tuple[int, int] | None = None
    for number, used in enumerate(np.ndindex(*shape)):
        if not touched[number]:
            continue
        if number % 256 == 0 and spent():
            raise TableError
        if number == 0:
            into = np.zeros((len(teams), items + 1), dtype=bool)
            into[:, 0] = True
        else:
            into = (_followed(seams, places, used).T @ reach[number].astype(np.float32)) > 0
        into &= items - boundaries <= left[number]
        joining = _joining(rows, np.array(used), np.array(counts), most_nodes, places)
        there = np.flatnonzero(into.any(axis=1) & joining)
        ends = _ends(into[there], fits[there], longest)
        for place in np.flatnonzero(ends.any(axis=1)):
            reached = number + int(offsets[there[place]])
            reach[reached, there[place]] |= ends[place]
            touched[reached] = True
            if ends[place, items]:
                size = sum(used) + int(rows[there[place]].sum())
                best = (size, reached) if best is None else min(best, (size, reached))
    if best is None:
        return None
    return _walk(teams, reach, fits, lambda used: _followed(seams, places, used) > 0, shape, best[1])


def _joining(
    rows: NDArray[np.int64],
    used: NDArray[np.int64],
    counts: NDArray[np.int64],
    most_nodes: int | None,
    places: Places | None,
) -> NDArray[np.bool_]:
    """Return which teams may be the next step where so many nodes are used."""
    both = rows + used
    joining: NDArray[np.bool_] = np.all(both <= counts, axis=1)
    if most_nodes is not None:
        joining &= both.sum(axis=1) <= most_nodes
    if places is not None:
        joining &= places.may_join(used)
    return joining


def _followed(seams: NDArray[np.float32], places: Places | None, used: Sequence[int]) -> NDArray[np.float32]:
    """Return the seams that the rules allow where so many nodes are used."""
    follow = None if places is None else places.may_follow(np.array(used))
    return seams if follow is None else seams * follow


def _ends(into: NDArray[np.bool_], fits: NDArray[np.bool_], longest: int) -> NDArray[np.bool_]:
    """Return the boundaries that a step of each team reaches from those it may start at."""
    ends = np.zeros_like(into)
    for length in range(1, longest + 1):
        allowed = np.diagonal(fits, length, axis1=1, axis2=2)
        ends[:, length:] |= into[:, :-length] & allowed
    return ends


def _walk(
    teams: Sequence[Team],
    reach: NDArray[np.bool_],
    fits: NDArray[np.bool_],
    seams: Callable[[Sequence[int]], NDArray[np.bool_]],
    shape: tuple[int, ...],
    state: int,
) -> tuple[TeamStep, ...]:
    """Return the steps that lead to a state that ends with the last item."""
    end = reach.shape[2] - 1
    last = int(np.flatnonzero(reach[state, :, end])[0])
    steps: list[TeamStep] = []
    while True:
        before = state - int(np.ravel_multi_index(teams[last], shape))
        if before == 0 and fits[last, 0, end]:
            steps.append(TeamStep(0, end, teams[last]))
            return tuple(reversed(steps))
        allowed = seams([int(count) for count in np.unravel_index(before, shape)])
        sources, starts = np.nonzero(reach[before] & allowed[:, last][:, None] & fits[last, :, end][None, :])
        start = int(starts.min())
        steps.append(TeamStep(start, end, teams[last]))
        state, end, last = before, start, int(sources[starts == start][0])


def stages_kept(kinds: Kinds, team: Team, pace: Pace) -> NDArray[np.bool_]:
    """Return which stages [a, b) the nodes of a team can each hold and together pass at the pace."""
    used = [(count, kind.times) for count, kind in zip(team, kinds.kinds, strict=True) if count]
    allowed = np.all([times > 0 for _, times in used], axis=0)
    together = sum(count / np.maximum(times, 1) for count, times in used) * float(pace.ns)
    kept: NDArray[np.bool_] = allowed & (together > 1)
    for start, end in np.argwhere(allowed & (np.abs(together - 1) <= _NEAR)):
        kept[start, end] = pace.kept([(count, int(times[start, end])) for count, times in used])
    return kept


def _seams(kinds: Kinds, teams: Sequence[Team], pace: Pace, *, quick: bool) -> NDArray[np.bool_]:
    """Return from which team to which other a seam carries all tokens and cuts off no node."""
    times = kinds.quick_ns if quick else kinds.slow_ns
    allowed = times >= 0
    # What a link carries, as a share of all tokens.
    share = np.where(allowed, np.minimum(float(pace.ns) / np.maximum(times, 1), 1.0), 0.0)
    share[times == 0] = 1.0
    counts = np.array(teams, dtype=float)
    there = counts > 0
    cut_off = there @ ~(allowed @ there.T.astype(float) > 0) | (there @ ~(allowed.T @ there.T.astype(float) > 0)).T
    seams: NDArray[np.bool_] = (counts @ share @ counts.T >= 1 - _NEAR) & ~cut_off
    return seams
