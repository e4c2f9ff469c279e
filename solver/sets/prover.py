"""The prover of throughput with replicas by sets of nodes: exact where links do not bind, a bound where they do."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from solver.flow.chains import Step, placement_of_chains
from solver.flow.measure import pace_ns
from solver.question import NOTHING, Interval, NoCanonical
from solver.rules import violations
from solver.sets.chains import Chains, chains_over, linked_over, work_of
from solver.sets.exactly import ROUNDED, amount_at_most
from solver.sets.rates import members, rates_of
from solver.sets.splits import Splits
from solver.sets.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from solver.effort import Clock
    from solver.problem import Placement, Problem
    from solver.question import Question, Report
    from solver.sets.rates import Rates

__all__ = ["SetSearch"]

_NS = 10**9
_MOST_NODES = 12
# Looking at so many numbers takes about a minute.
_MOST_WORK = 5e9
_SHARE, _SHARE_WITHOUT_LINKS = 0.5, 0.25


class SetSearch(NoCanonical):
    """Every set of up to twelve nodes, tried one by one; ten where links bind.

    `known` is a placement to begin with where a question has none.
    """

    name = "set search"
    searches = True

    def __init__(self, known: Placement | None = None) -> None:
        self._known = known

    @staticmethod
    def answers(problem: Problem) -> bool:
        """Return whether there are few enough nodes and items."""
        usable = sum(group.count for group in problem.classes)
        return usable <= _MOST_NODES and work_of(usable, len(problem.items), linked=False) <= _MOST_WORK

    @staticmethod
    def share_of_time(problem: Problem) -> float:
        """Return what share of the time to leave for this: less where it can only look at chains without links."""
        if not SetSearch.answers(problem):
            return 0.0
        usable = sum(group.count for group in problem.classes)
        linked = bool(problem.links.pairs) and work_of(usable, len(problem.items), linked=True) > _MOST_WORK
        return _SHARE_WITHOUT_LINKS if linked else _SHARE

    def prove(self, question: Question, clock: Clock, report: Report) -> Interval:  # noqa: ARG002 - the protocol's
        """Return a bound on the pace and the best placement known; nothing where there are too many nodes."""
        problem, best = question.problem, question.best
        if best is None and self._known is not None and not violations(problem, self._known):
            best = self._known
        if not problem.classes:
            return Interval(None, None, impossible=True, interrupted=False)
        if not self.answers(problem):
            return NOTHING
        return _Sets(problem, best, lambda: clock.seconds_left <= 0).proved()


class _Sets:
    """One problem, and the best placement so far."""

    def __init__(self, problem: Problem, best: Placement | None, spent: Callable[[], bool]) -> None:
        self.rates: Rates = rates_of(problem)
        self.turns = Turns(self.rates)
        self.problem, self.best, self.spent = problem, best, spent
        rules = problem.rules
        self.one_chain = bool(rules.pins) or rules.first is not None or rules.last is not None

    def proved(self) -> Interval:
        """Return what sets of nodes say."""
        free = chains_over(self.rates, self.turns, self.spent)
        if free is None:
            return NOTHING
        self._offer(free)
        carried, linked = free.best, False
        if self.rates.binding or self.turns.machines:
            with_links = self._linked(free.best)
            if with_links is not None:
                self._offer(with_links)
                carried, linked = with_links.best, True
        lower = self._least_pace(carried, linked=linked)
        return Interval(lower, self.best, impossible=lower is None and self.best is None, interrupted=False)

    def _known(self) -> Fraction:
        return Fraction(0) if self.best is None else _NS / Fraction(pace_ns(self.problem, self.best))

    def _least_pace(self, carried: NDArray[np.float64], *, linked: bool) -> Fraction | None:
        """Return the pace of what chains carry together at most, exactly if that is near the best; None for nothing."""
        splits = Splits(carried, self._allowed(), one_chain=self.one_chain)
        known = self._known()
        if splits.most == 0 and not known:
            return None
        if splits.most < known * (1 - Fraction(ROUNDED)):
            # What could not be part of anything better was not counted.
            return _NS / known
        most = Fraction(splits.most) * (1 + Fraction(ROUNDED))
        if known and splits.most <= known * (1 + Fraction(ROUNDED)):
            most = min(most, self._exactly(splits, linked=linked) or most)
        return min(_NS / most, _NS / known) if known else _NS / most

    def _exactly(self, splits: Splits, *, linked: bool) -> Fraction | None:
        """Return what chains carry together at most without rounding, or None if that takes too long."""
        sums = splits.near_most()
        if sums is None:
            return None
        amounts: dict[float, Fraction] = {}
        for value in {value for values in sums for value in values}:
            amount = amount_at_most(self.rates, value, self.spent, linked=linked)
            if amount is None:
                return None
            amounts[value] = amount
        return max(sum((amounts[value] for value in values), Fraction(0)) for values in sums)

    def _linked(self, free: NDArray[np.float64]) -> Chains | None:
        """Return what chains over sets carry with their links, as far as that could be part of something better."""
        if work_of(len(self.rates.nodes), self.rates.items, linked=True) > _MOST_WORK:
            return None
        known = float(self._known())
        splits = Splits(free, self._allowed(), one_chain=self.one_chain)
        beside = splits.together[::-1] if not self.one_chain else np.zeros(len(free))
        useful = free + beside > known * (1 + ROUNDED)
        floor = float((known - beside[useful]).min(initial=known)) * (1 - ROUNDED)
        return linked_over(self.rates, self.turns, max(floor, float(np.nextafter(0, 1))), self.spent)

    def _offer(self, found: Chains) -> None:
        """Keep the chains behind the best split, if the rules allow them and they carry more than the best so far."""
        chains = [
            tuple(
                Step(start, end, tuple(self.rates.nodes[node].name for node in members(team)))
                for team, start, end in found.chain_of(nodes)
            )
            for nodes in Splits(found.best, self._allowed(), one_chain=self.one_chain).best()
        ]
        placement = placement_of_chains(chains)
        if violations(self.problem, placement):
            return
        if self.best is None or pace_ns(self.problem, placement) < pace_ns(self.problem, self.best):
            self.best = placement

    def _allowed(self) -> NDArray[np.bool_]:
        """Return which sets of nodes may be used, by how many there may be and by the cards that they occupy."""
        sets = np.arange(self.rates.full + 1)
        allowed = np.ones(len(sets), dtype=bool)
        machines: dict[tuple[bool, str], int] = {}
        cards: dict[str, int] = {}
        for number, node in enumerate(self.rates.nodes):
            machine = (node.machine is None, node.machine or node.name)
            machines[machine] = machines.get(machine, 0) | 1 << number
            for card in node.cards:
                cards[card] = cards.get(card, 0) | 1 << number
        for devices in cards.values():
            there = sets & devices
            allowed &= there & (there - 1) == 0
        if self.problem.rules.max_nodes is not None:
            used = sum((sets & devices != 0).astype(np.int64) for devices in machines.values())
            allowed &= used <= self.problem.rules.max_nodes
        return allowed
