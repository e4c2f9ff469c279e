"""Rules about which steps may follow which, in terms of kinds of nodes: order, machines and the cards in them.

Pins and nodes named for the ends are in the table of stages already, and forbidden links in the seams. What is left
depends on the nodes used so far and on the last step, which is what states of `layered` are. Nodes that these rules
single out are kinds of their own (`kinds_of`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from solver.problem import Problem
    from solver.replicated.kinds import Kinds
    from solver.replicated.packing import Team

__all__ = ["Places", "places_of"]


@dataclass(frozen=True, eq=False)
class Places:
    """What the rules need to know of kinds and teams; a row a kind, or a row a team.

    `rank` is the place of a kind in the order asked for, -1 for none. `machines` has a column for every machine of
    several devices, `lone` says which kinds are machines themselves, and `cards` has a column for every card that
    several nodes could occupy. `most_machines` is None where any number may be used.
    """

    rank: NDArray[np.int64]
    machines: NDArray[np.int64]
    lone: NDArray[np.int64]
    cards: NDArray[np.int64]
    teams: NDArray[np.int64]
    together: bool
    most_machines: int | None

    def may_join(self, used: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which teams may be the next step where so many nodes of each kind are used."""
        allowed = np.ones(len(self.teams), dtype=bool)
        if (self.rank >= 0).any():
            latest = int(self.rank[used > 0].max(initial=-1))
            early = (self.rank >= 0) & (self.rank < latest)
            allowed &= ~(self.teams[:, early] > 0).any(axis=1)
        both = self.teams + used
        allowed &= (both @ self.cards <= 1).all(axis=1)
        if self.most_machines is not None:
            allowed &= (both @ self.machines > 0).sum(axis=1) + both @ self.lone <= self.most_machines
        return allowed

    def may_follow(self, used: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Return which team (a row) may come before which (a column) there; None if every one may."""
        if not self.together:
            return None
        begun = used @ self.machines > 0
        stands = self.teams @ self.machines > 0
        left = ~stands & begun
        returns: NDArray[np.bool_] = left.astype(np.int64) @ stands.T.astype(np.int64) > 0
        return ~returns


def places_of(problem: Problem, kinds: Kinds, teams: Sequence[Team]) -> Places | None:
    """Return what the rules need to know; None where none of them binds."""
    order = {name: number for number, name in enumerate(problem.rules.order)}
    firsts = [problem.nodes_by_name[kind.members[0]] for kind in kinds.kinds]
    rank = np.array([order.get(node.name, -1) for node in firsts], dtype=np.int64)
    rows = np.array(teams)
    if problem.is_plain:
        if (rank < 0).all():
            return None
        none = np.zeros((len(firsts), 0), dtype=np.int64)
        return Places(rank, none, none.sum(axis=1), none, rows, together=False, most_machines=None)
    machines = _incidence([() if node.machine is None else (node.machine,) for node in firsts])
    lone = np.array([node.machine is None for node in firsts], dtype=np.int64)
    occupied = Counter(card for node in problem.nodes for card in node.cards)
    cards = _incidence([tuple(card for card in node.cards if occupied[card] > 1) for node in firsts])
    return Places(rank, machines, lone, cards, rows, not problem.rules.apart, problem.rules.max_nodes)


def _incidence(names: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Return a row of ones and zeros for every list of names, a column a name."""
    columns = {name: number for number, name in enumerate(dict.fromkeys(name for row in names for name in row))}
    table = np.zeros((len(names), len(columns)), dtype=np.int64)
    for number, row in enumerate(names):
        table[number, [columns[name] for name in row]] = 1
    return table
