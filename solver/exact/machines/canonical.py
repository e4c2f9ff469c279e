"""The one answer among equals, on machines: least left with hosts, then stage by stage from the front.

Fewest stages; then the earliest-listed class at each stage from the front; then the longest stage from the front; then
the earliest blocks left with the host; then the lowest-numbered node of a class. Whether a choice can still end at the
least cost is asked of the tables of the search, which may allow what memories that are shared in turn do not: an answer
that the rules refuse is no answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from solver.exact.machines.algebra import nowhere, through
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        return placement if placement is not None and search.keeps(placement, limits) else None
    return None


def _aims(limits: Limits) -> list[tuple[str, ...]]:
    if limits.max_latency_ns is None:
        return [("offload", "stage")]
    return [("time", "offload", "stage"), ("offload", "time", "stage")]


class _Seat(NamedTuple):
    """Where a device stands: its machine's class, which machine of it, and its place in the machine."""

    machine: int
    member: int
    device: int


class _At(NamedTuple):
    """Where a walk is: the machine it is in, the cards taken there, the last port, machines left, the order passed."""

    machine: int
    cards: int
    port: int
    left: tuple[int, ...]
    passed: int | None


@dataclass(slots=True)
class _Walk:
    """Answers whether what is left can still be held at the least cost, each question once."""

    chains: Chains
    known: dict[_At, NDArray[np.int64]] = field(default_factory=dict)
    leaving: dict[tuple[object, ...], NDArray[np.int64]] = field(default_factory=dict)

    def onward(self, at: _At) -> NDArray[np.int64]:
        """Return the least cost of all that follows a stage, by the boundary at its end."""
        if at not in self.known:
            best = self._leave(at.machine, at.port, at.left, at.passed)
            for state, first, last, values in self._within(at):
                rest = self._leave(at.machine, last, at.left, state if state is not None else at.passed)
                hop = self.chains.runs[at.machine].costs.inside.get((at.port, first), self.chains.prices.never)
                if hop < self.chains.prices.never:
                    best = np.minimum(best, through(values, rest[:, None], self.chains.prices.never)[:, 0] + hop)
            self.known[at] = best
        return self.known[at]

    def _within(self, at: _At) -> Iterator[tuple[int | None, int, int, NDArray[np.int64]]]:
        """Yield the runs that the cards left of the machine allow: the order passed, first and last port, costs."""
        runs = self.chains.runs[at.machine]
        twins = runs.machine.twins
        among = sum(1 << card for group in twins for card in group)
        for state, table in runs.tables.items():
            if state.cards & at.cards & ~among or not _comes_later(at.passed, state.lowest):
                continue
            if any(_count(state.cards, group) + _count(at.cards, group) > len(group) for group in twins):
                continue
            for (first, last), values in table.items():
                yield state.highest, first, last, values

    def _leave(self, machine: int, port: int, left: tuple[int, ...], passed: int | None) -> NDArray[np.int64]:
        """Return the least cost of the hop to another machine and all that follows, nothing behind the last item."""
        key = (machine, port, left, passed)
        if key not in self.leaving:
            self.leaving[key] = self._left(machine, port, left, passed)
        return self.leaving[key]

    def _left(self, machine: int, port: int, left: tuple[int, ...], passed: int | None) -> NDArray[np.int64]:
        chains = self.chains
        never = chains.prices.never
        best = nowhere((chains.items + 1,), chains.prices)
        best[-1] = 0
        used = sum(len(runs.machine.members) for runs in chains.runs) - sum(left)
        for level in range(1, len(chains.tables) - used):
            states = chains.states.levels[level]
            there = np.ones(len(states), dtype=bool)
            for group, count in enumerate(left):
                there &= chains.states.digits(states, group) <= count
            if not there.any():
                continue
            for label, table in chains.tables[level].items():
                hop = chains.hops.between.get(((machine, port), (label.machine, label.port)))
                if hop is not None and hop < never and _comes_later(passed, label.lowest):
                    best = np.minimum(best, table[there].min(axis=0) + hop)
        return best


def _comes_later(passed: int | None, lowest: int | None) -> bool:
    return passed is None or lowest is None or lowest > passed


def _count(cards: int, group: tuple[int, ...]) -> int:
    return sum(cards >> card & 1 for card in group)


def _walk(search: MachineSearch, found: Found, least: int) -> Placement | None:
    """Return the canonical one among the placements of the least cost."""
    chains = found.chains
    seats = _sequence(search.problem, chains, least)
    if seats is None:
        return None
    cuts = _cuts(chains, seats, least)
    stages = []
    for number, seat in enumerate(seats):
        runs = chains.runs[seat.machine]
        start, end = cuts[number], cuts[number + 1]
        left = runs.costs.stages[seat.device].offloaded(start, end)
        stages.append(Stage(start, end, runs.machine.members[seat.member][seat.device], left))
    return Placement(tuple(stages))


def _sequence(problem: Problem, chains: Chains, least: int) -> tuple[_Seat, ...] | None:
    """Return the devices of the earliest-listed class at each stage from the front that still allows the least cost."""
    seat_of = {
        name: _Seat(machine, member, device)
        for machine, runs in enumerate(chains.runs)
        for member, names in enumerate(runs.machine.members)
        for device, name in enumerate(names)
    }
    walk = _Walk(chains)
    never = chains.prices.never
    spent = nowhere((chains.items + 1,), chains.prices)
    spent[0] = 0
    at: _At | None = None
    taken: list[_Seat] = []
    while int(spent[-1]) > least or not taken:
        for group in problem.classes:
            seat = _free(chains, taken, [seat_of[member.name] for member in group.members])
            following = None if seat is None else _moved(chains, at, taken, seat)
            if seat is None or following is None:
                continue
            hop = _hop(chains, taken[-1], seat) if taken else 0
            stage = chains.runs[seat.machine].costs.stages[seat.device].costs
            arrived = through(np.minimum(spent + hop, never)[None, :], stage, never)[0]
            if int((arrived + walk.onward(following)).min()) <= least:
                taken.append(seat)
                at, spent = following, arrived
                break
        else:
            return None
    return tuple(taken)


def _free(chains: Chains, taken: list[_Seat], members: list[_Seat]) -> _Seat | None:
    """Return the first of a class that can come next: in the machine that the walk is in, or in one not yet entered."""
    here = (taken[-1].machine, taken[-1].member) if taken else None
    entered = {(seat.machine, seat.member) for seat in taken}
    for seat in members:
        machine = chains.runs[seat.machine].machine
        if (seat.machine, seat.member) not in entered:
            return seat
        used = (machine.devices[other.device].cards for other in taken if other[:2] == here)
        if seat[:2] == here and not any(cards & machine.devices[seat.device].cards for cards in used):
            return seat
    return None


def _moved(chains: Chains, at: _At | None, taken: list[_Seat], seat: _Seat) -> _At | None:
    """Return where a stage on a device leads, or None where its turn in the order asked for has passed."""
    runs = chains.runs[seat.machine]
    rank = runs.steps.ranks[seat.device]
    passed = None if at is None else at.passed
    if rank is not None and not _comes_later(passed, rank):
        return None
    left = [len(each.machine.members) for each in chains.runs] if at is None else list(at.left)
    inside = bool(taken) and taken[-1][:2] == seat[:2]
    if not inside:
        left[seat.machine] -= 1
    cards = runs.machine.devices[seat.device].cards
    for other in taken:
        cards |= runs.machine.devices[other.device].cards if other[:2] == seat[:2] else 0
    port = runs.costs.ports[seat.device]
    return _At(seat.machine, runs.machine.first_of_equals(cards), port, tuple(left), passed if rank is None else rank)


def _hop(chains: Chains, before: _Seat, seat: _Seat) -> int:
    out, into = (chains.runs[each.machine].costs.ports[each.device] for each in (before, seat))
    never = chains.prices.never
    if before[:2] == seat[:2]:
        return chains.runs[seat.machine].costs.inside.get((out, into), never)
    return chains.hops.between.get(((before.machine, out), (seat.machine, into)), never)


def _cuts(chains: Chains, seats: tuple[_Seat, ...], least: int) -> tuple[int, ...]:
    """Return the cut points that make each stage from the front as long as the least cost allows."""
    never = chains.prices.never
    rest = nowhere((chains.items + 1,), chains.prices)
    rest[-1] = 0
    tables = [chains.runs[seat.machine].costs.stages[seat.device].costs for seat in seats]
    hops = [*(_hop(chains, *pair) for pair in pairwise(seats)), 0]
    rests = [rest]
    for table, hop in zip(reversed(tables[1:]), reversed(hops[:-1]), strict=True):
        rests.insert(0, np.minimum(through(table, rests[0][:, None], never)[:, 0] + hop, never))
    cuts, spent = [0], 0
    for table, hop, behind in zip(tables, hops, rests, strict=True):
        ends = np.flatnonzero(spent + table[cuts[-1]] + behind <= least)
        cuts.append(int(ends[-1]))
        spent += int(table[cuts[-2], cuts[-1]]) + hop
    return tuple(cuts)
