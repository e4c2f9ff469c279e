"""The one answer among equals, on machines: least left with hosts, then stage by stage from the front.

Fewest stages; then the earliest-listed class at each stage from the front; then the longest stage from the front; then
the earliest blocks left with the host; then the lowest-numbered node of a class. Whether a choice can still end at the
least cost is asked of the tables of the search, which may allow what memories that are shared in turn do not: an answer
that the rules refuse is no answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solver.exact.machines.algebra import nowhere, through
from solver.exact.machines.cuts import cuts_of
from solver.exact.machines.equals import first_of_equals
from solver.exact.machines.seats import Seat
from solver.exact.machines.trail import At, Onward, Trail, comes_later
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from solver.exact.machines.chains import Chains
    from solver.exact.machines.search import Found, MachineSearch
    from solver.limits import Limits
    from solver.problem import Problem

__all__ = ["canonical_placement"]


def canonical_placement(search: MachineSearch, limits: Limits, spent: Callable[[], bool]) -> Placement | None:
    """Return the canonical placement within limits that fix every level, or None if the search cannot tell.

    Raises:
        TableError: the problem is not one for this search, or the time is up.
    """
    for aim in _aims(limits):
        found = search.find(limits, aim, spent)
        costs = [cost for level in range(len(found.figures)) if (cost := found.chains.least(level)) is not None]
        if not costs:
            return None
        least = min(costs)
        figures = next(figures for figures in found.figures if figures is not None and found.cost(figures) == least)
        if "time" in figures and figures["time"] != limits.max_latency_ns:
            # What is quicker than the limit could be traded for less on the host or fewer stages.
            continue
        placement = _walk(search, found, least)
        if placement is None or not search.keeps(placement, limits):
            placement = first_of_equals(found, least, spent)
        return placement if placement is not None and search.keeps(placement, limits) else None
    return None


def _aims(limits: Limits) -> list[tuple[str, ...]]:
    if limits.max_latency_ns is None:
        return [("offload", "stage")]
    return [("time", "offload", "stage"), ("offload", "time", "stage")]


def _walk(search: MachineSearch, found: Found, least: int) -> Placement | None:
    """Return the canonical one among the placements of the least cost."""
    chains = found.chains
    seats = _sequence(search.problem, chains, least)
    cuts = None if seats is None else cuts_of(chains, seats, least)
    if seats is None or cuts is None:
        return None
    stages = []
    for number, seat in enumerate(seats):
        runs = chains.runs[seat.machine]
        start, end = cuts[number], cuts[number + 1]
        left = runs.costs.stages[seat.device].offloaded(start, end)
        stages.append(Stage(start, end, runs.machine.members[seat.member][seat.device], left))
    return Placement(tuple(stages))


def _sequence(problem: Problem, chains: Chains, least: int) -> tuple[Seat, ...] | None:
    """Return the devices of the earliest-listed class at each stage from the front that still allows the least cost."""
    seat_of = {
        name: Seat(machine, member, device)
        for machine, runs in enumerate(chains.runs)
        for member, names in enumerate(runs.machine.members)
        for device, name in enumerate(names)
    }
    onward = Onward(chains)
    spent = nowhere((chains.items + 1,), chains.prices)
    spent[0] = 0
    trail = Trail(None, spent, spent[None, :], ())
    taken: list[Seat] = []
    while int(spent[-1]) > least or not taken:
        for group in problem.classes:
            seat = _free(chains, taken, [seat_of[member.name] for member in group.members])
            at = None if seat is None else _moved(chains, trail.at, taken, seat)
            if seat is None or at is None:
                continue
            reached = _reach(chains, trail, spent, taken, seat, at)
            if onward.least(reached) <= least:
                taken.append(seat)
                trail, spent = reached, reached.spent(chains)
                break
        else:
            return None
    return tuple(taken)


def _reach(chains: Chains, trail: Trail, spent: NDArray[np.int64], taken: list[Seat], seat: Seat, at: At) -> Trail:
    """Return the trail once a stage on one more device is taken."""
    runs, never = chains.runs[seat.machine], chains.prices.never
    hop = chains.hop(taken[-1], seat) if taken else 0
    stage = runs.costs.stages[seat.device].costs
    takes = tuple(use.costs.stages[seat.device].costs for use in runs.uses)
    entered = bool(taken) and taken[-1][:2] == seat[:2]
    entry = trail.entry if entered else np.minimum(spent + hop, never)
    if not runs.uses:
        # Where nothing is short, where a machine was entered does not matter.
        before = np.minimum(trail.inside + hop, never) if entered else entry[None, :]
        return Trail(at, entry, through(before, stage, never), ())
    if not entered:
        return Trail(at, entry, stage, takes)
    used = (through(one, take, use.never) for one, take, use in zip(trail.uses, takes, runs.uses, strict=True))
    return Trail(at, entry, through(np.minimum(trail.inside + hop, never), stage, never), tuple(used))


def _free(chains: Chains, taken: list[Seat], members: list[Seat]) -> Seat | None:
    """Return the first of a class that can come next: in the machine that the walk is in, or in one not yet entered."""
    here = taken[-1][:2] if taken else None
    entered = {seat[:2] for seat in taken}
    for seat in members:
        devices = chains.runs[seat.machine].machine.devices
        if seat[:2] not in entered:
            return seat
        used = (devices[other.device].cards for other in taken if other[:2] == here)
        if seat[:2] == here and not any(cards & devices[seat.device].cards for cards in used):
            return seat
    return None


def _moved(chains: Chains, at: At | None, taken: list[Seat], seat: Seat) -> At | None:
    """Return where a stage on a device leads, or None where its turn has passed or no more machines may be used."""
    runs = chains.runs[seat.machine]
    rank = runs.steps.ranks[seat.device]
    passed = None if at is None else at.passed
    if rank is not None and not comes_later(passed, rank):
        return None
    left = [len(each.machine.members) for each in chains.runs] if at is None else list(at.left)
    inside = [other.device for other in taken if other[:2] == seat[:2]]
    if not inside:
        left[seat.machine] -= 1
        entered = sum(len(each.machine.members) for each in chains.runs) - sum(left)
        if entered >= len(chains.tables):
            return None
    cards = 0
    for device in (*inside, seat.device):
        cards |= runs.machine.devices[device].cards
    port = runs.costs.ports[seat.device]
    return At(seat.machine, runs.machine.first_of_equals(cards), port, tuple(left), passed if rank is None else rank)
