"""How far a walk along the canonical stages has come, and the least cost that it can still end with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from solver.exact.machines.algebra import nowhere, through

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from solver.exact.machines.chains import Chains
    from solver.exact.machines.runs import State

__all__ = ["At", "Onward", "Trail", "comes_later"]


class At(NamedTuple):
    """Where a walk is: the machine it is in, the cards taken there, the last port, machines left, the order passed."""

    machine: int
    cards: int
    port: int
    left: tuple[int, ...]
    passed: int | None


@dataclass(frozen=True, eq=False)
class Trail:
    """What is spent on the stages so far. `entry` is what was spent on entering the machine, by boundary.

    Where a resource of the machine could be short, `inside` are costs within it by entry and end and `uses` what that
    puts into each; where none is, `inside` is one row of all costs by end.
    """

    at: At | None
    entry: NDArray[np.int64]
    inside: NDArray[np.int64]
    uses: tuple[NDArray[np.int64], ...]

    def spent(self, chains: Chains) -> NDArray[np.int64]:
        """Return what is spent by end."""
        return self.barred(chains, self.inside, self.uses)

    def barred(self, chains: Chains, inside: NDArray[np.int64], uses: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the least cost by end of what is inside, with the entry, where no resource runs out."""
        if self.at is None or not self.uses:
            found: NDArray[np.int64] = inside.min(axis=0)
            return found
        for used, use in zip(uses, chains.runs[self.at.machine].uses, strict=True):
            inside = np.where(used <= use.budget_bytes, inside, chains.prices.never)
        least: NDArray[np.int64] = np.minimum(self.entry[:, None] + inside, chains.prices.never).min(axis=0)
        return least


@dataclass(slots=True)
class Onward:
    """Answers what is the least that a trail can end with, each question once."""

    chains: Chains
    known: dict[At, NDArray[np.int64]] = field(default_factory=dict)
    leaving: dict[tuple[object, ...], NDArray[np.int64]] = field(default_factory=dict)

    def least(self, trail: Trail) -> int:
        """Return the least cost that a trail can still end with."""
        at, chains = trail.at, self.chains
        if at is None:
            return chains.prices.never
        if not trail.uses:
            return int((trail.spent(chains) + self._onward(at)).min())
        never, runs = chains.prices.never, chains.runs[at.machine]
        least = int((trail.spent(chains) + self._leave(at.machine, at.port, at.left, at.passed)).min())
        for state, (first, last), values in self._within(at):
            hop = runs.costs.inside.get((at.port, first), never)
            if hop >= never:
                continue
            inside = through(np.minimum(trail.inside + hop, never), values, never)
            uses = [
                through(used, use.tables[state][first, last], use.never)
                for used, use in zip(trail.uses, runs.uses, strict=True)
            ]
            behind = self._leave(at.machine, last, at.left, _passed(at, state))
            least = min(least, int((trail.barred(chains, inside, uses) + behind).min()))
        return least

    def _onward(self, at: At) -> NDArray[np.int64]:
        """Return the least cost of all that follows a stage, by the boundary at its end."""
        if at not in self.known:
            never = self.chains.prices.never
            best = self._leave(at.machine, at.port, at.left, at.passed)
            for state, (first, last), values in self._within(at):
                hop = self.chains.runs[at.machine].costs.inside.get((at.port, first), never)
                if hop < never:
                    rest = self._leave(at.machine, last, at.left, _passed(at, state))
                    best = np.minimum(best, through(values, rest[:, None], never)[:, 0] + hop)
            self.known[at] = best
        return self.known[at]

    def _within(self, at: At) -> Iterator[tuple[State, tuple[int, int], NDArray[np.int64]]]:
        """Yield the runs that the cards left of the machine allow: state, first and last port, costs."""
        runs = self.chains.runs[at.machine]
        twins = runs.machine.twins
        among = sum(1 << card for group in twins for card in group)
        for state, table in runs.tables.items():
            if state.cards & at.cards & ~among or not comes_later(at.passed, state.lowest):
                continue
            if any(_count(state.cards, group) + _count(at.cards, group) > len(group) for group in twins):
                continue
            for ports, values in table.items():
                yield state, ports, values

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
                if hop is not None and hop < never and comes_later(passed, label.lowest):
                    best = np.minimum(best, table[there].min(axis=0) + hop)
        return best


def comes_later(passed: int | None, lowest: int | None) -> bool:
    """Return whether places in the order asked for from `lowest` on may follow what has passed."""
    return passed is None or lowest is None or lowest > passed


def _passed(at: At, state: State) -> int | None:
    return at.passed if state.highest is None else state.highest


def _count(cards: int, group: tuple[int, ...]) -> int:
    return sum(cards >> card & 1 for card in group)
