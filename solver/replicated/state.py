"""What a search of replicas knows of its problem, and the best placement that it has been offered."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from solver.flow.chains import placement_of_chains
from solver.flow.measure import pace_ns
from solver.flow.stages import most_devices
from solver.replicated.kinds import kinds_of
from solver.replicated.packing import best_times, pack, packed_steps
from solver.replicated.realise import exchanged
from solver.rules import violations

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.flow.chains import Chain
    from solver.problem import Placement, Problem
    from solver.replicated.kinds import Kinds
    from solver.replicated.pace import Pace
    from solver.replicated.packing import Packing, Team

__all__ = ["Search"]


class Search:
    """One problem with its kinds of nodes and the best placement so far, which `offer` replaces."""

    def __init__(
        self, problem: Problem, fastest_ns: Fraction, start: Placement | None, spent: Callable[[], bool]
    ) -> None:
        self.problem = problem
        self.spent = spent
        self.items = len(problem.items)
        self.most_nodes = most_devices(problem)
        # What one node alone may hold is in every chain, and a node takes one stage.
        self.one_chain = bool(problem.rules.pins) or problem.rules.first is not None or problem.rules.last is not None
        self.kinds: Kinds = kinds_of(problem, fastest_ns)
        self.times = best_times(self.kinds)
        self.fastest_ns = fastest_ns
        self.slowest_ns = Fraction(max((max(row) for row in self.times if row), default=1))
        self.best: Placement | None = None
        self.best_ns: Fraction | None = None
        if start is not None:
            self.offer(start)

    def offer(self, placement: Placement) -> Fraction | None:
        """Keep a placement if it is the best, and return its pace; None if it breaks a rule."""
        if violations(self.problem, placement):
            return None
        pace = Fraction(pace_ns(self.problem, placement))
        if self.best_ns is None or pace < self.best_ns:
            self.best, self.best_ns = placement, pace
        return pace

    def offer_chain(self, chain: Chain, pace: Pace) -> bool:
        """Offer one chain, its nodes exchanged where it misses the pace, and return whether it keeps it."""
        reached = self.offer(placement_of_chains((chain,)))
        if reached is not None and reached > pace.ns and not self.kinds.free:
            reached = self.offer(placement_of_chains((exchanged(self.problem, self.kinds, chain, self.spent),)))
        return reached is not None and (reached < pace.ns or (reached == pace.ns and not pace.strict))

    def packing(self, pace: Pace) -> Packing:
        """Return what the nodes hold together at a pace."""
        return pack(self.times, self.kinds.counts, self.items, pace)

    def packed(self, packing: Packing) -> tuple[tuple[Team, ...], Fraction] | None:
        """Return the teams of a packing on the fewest nodes and their pace; None if too few nodes are allowed."""
        return packed_steps(packing, self.times, self.most_nodes)
