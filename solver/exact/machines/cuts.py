"""Where a known sequence of devices is cut: each stage from the front as long as the least cost allows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.machines.algebra import nowhere, through

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from solver.exact.machines.chains import Chains
    from solver.exact.machines.seats import Seat

__all__ = ["cuts_of"]


@dataclass(frozen=True, eq=False)
class _Run:
    """A machine's part of the sequence. `tails[j]` are the costs of its devices from j on, by start and end.

    `uses[r][j]` is the same for what they put into a resource, `budgets` what each may take.
    """

    seats: tuple[Seat, ...]
    tails: tuple[NDArray[np.int64], ...]
    uses: tuple[tuple[NDArray[np.int64], ...], ...]
    budgets: tuple[int, ...]


def cuts_of(chains: Chains, seats: Sequence[Seat], least: int) -> tuple[int, ...] | None:
    """Return the cut points of the canonical placement on devices in this order, or None if none has the least cost."""
    never = chains.prices.never
    runs = [_run(chains, tuple(found)) for _, found in groupby(seats, key=lambda seat: seat[:2])]
    hops = [chains.hop(one.seats[-1], other.seats[0]) for one, other in pairwise(runs)]
    rest = nowhere((chains.items + 1,), chains.prices)
    rest[-1] = 0
    rests = [rest]
    for run, hop in zip(reversed(runs[1:]), reversed(hops), strict=True):
        reached = through(_within(run, 0, [0] * len(run.budgets), run.tails[0], never), rests[0][:, None], never)[:, 0]
        rests.insert(0, np.minimum(reached + hop, never))
    cuts, spent = [0], 0
    for run, behind, hop in zip(runs, rests, [*hops, 0], strict=True):
        found = _cuts_of_run(chains, run, behind, cuts[-1], spent, least)
        if found is None:
            return None
        ends, spent = found
        cuts.extend(ends)
        spent += hop
    return tuple(cuts)


def _run(chains: Chains, seats: tuple[Seat, ...]) -> _Run:
    runs = chains.runs[seats[0].machine]
    never = chains.prices.never
    hops = [chains.hop(one, other) for one, other in pairwise(seats)]
    tables = [runs.costs.stages[seat.device].costs for seat in seats]
    uses = []
    for use in runs.uses:
        used = [use.costs.stages[seat.device].costs for seat in seats]
        uses.append(_tails(used, [0] * len(hops), use.never))
    return _Run(seats, _tails(tables, hops, never), tuple(uses), tuple(use.budget_bytes for use in runs.uses))


def _tails(tables: list[NDArray[np.int64]], hops: list[int], never: int) -> tuple[NDArray[np.int64], ...]:
    tails = [tables[-1]]
    for table, hop in zip(reversed(tables[:-1]), reversed(hops), strict=True):
        tails.insert(0, through(table, np.minimum(tails[0] + hop, never), never))
    return tuple(tails)


def _within(run: _Run, number: int, used: list[int], costs: NDArray[np.int64], never: int) -> NDArray[np.int64]:
    """Return costs of the devices from a number on, barred where with what is used already a resource runs out."""
    for resource, budget in enumerate(run.budgets):
        costs = np.where(run.uses[resource][number] + used[resource] <= budget, costs, never)
    return costs


def _cuts_of_run(
    chains: Chains, run: _Run, behind: NDArray[np.int64], start: int, spent: int, least: int
) -> tuple[list[int], int] | None:
    """Return the ends of a machine's stages, the earlier ones as long as can be, and what is spent by then."""
    runs, never = chains.runs[run.seats[0].machine], chains.prices.never
    used = [0] * len(run.budgets)
    cuts: list[int] = []
    for number, seat in enumerate(run.seats):
        stage = runs.costs.stages[seat.device].costs
        hop = chains.hop(seat, run.seats[number + 1]) if number + 1 < len(run.seats) else 0
        takes = [use.costs.stages[seat.device].costs[start] for use in runs.uses]
        ends = [
            int(end)
            for end in np.flatnonzero(stage[start] < never)
            if spent
            + int(stage[start, end])
            + hop
            + _rest(run, number, _used(used, takes, int(end)), int(end), behind, never)
            <= least
        ]
        if not ends:
            return None
        end = ends[-1]
        used = _used(used, takes, end)
        spent += int(stage[start, end]) + hop
        start = end
        cuts.append(end)
    return cuts, spent


def _used(used: list[int], takes: list[NDArray[np.int64]], end: int) -> list[int]:
    return [one + int(more[end]) for one, more in zip(used, takes, strict=True)]


def _rest(run: _Run, number: int, used: list[int], end: int, behind: NDArray[np.int64], never: int) -> int:
    """Return the least cost behind a stage of a machine's part of the sequence that ends there."""
    if any(one > budget for one, budget in zip(used, run.budgets, strict=True)):
        return never
    if number + 1 == len(run.seats):
        return int(behind[end])
    tail = run.tails[number + 1][end]
    for resource, budget in enumerate(run.budgets):
        tail = np.where(run.uses[resource][number + 1][end] + used[resource] <= budget, tail, never)
    return int((tail + behind).min())
