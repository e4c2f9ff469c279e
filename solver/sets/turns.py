"""Rules about which nodes may come after which, as sets: order, machines, links that are forbidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.sets.rates import members

if TYPE_CHECKING:
    from solver.sets.rates import Rates

__all__ = ["Turns"]


class Turns:
    """What the rules leave behind a step. `machines` says that devices of one machine must follow one another."""

    def __init__(self, rates: Rates) -> None:
        rules = rates.problem.rules
        order = {name: number for number, name in enumerate(rules.order)}
        self._ranks = [order.get(node.name) for node in rates.nodes]
        self._into = [sum(1 << i for i, carried in enumerate(row) if carried > 0) for row in rates.links]
        self._from = [sum(1 << i for i, carried in enumerate(row) if carried > 0) for row in rates.links.T]
        named: dict[str, int] = {}
        for number, node in enumerate(rates.nodes):
            if node.machine is not None and not rules.apart:
                named[node.machine] = named.get(node.machine, 0) | 1 << number
        self._machines = [devices for devices in named.values() if devices.bit_count() > 1]
        self.machines = bool(self._machines)
        self._early: dict[int, int] = {}

    def behind(self, team: int, left: int) -> int:
        """Return which of the nodes that are left may come after a set at all."""
        if team not in self._early:
            ranks = [rank for node in members(team) if (rank := self._ranks[node]) is not None]
            latest = max(ranks, default=0)
            self._early[team] = sum(
                1 << node for node, rank in enumerate(self._ranks) if rank is not None and rank < latest
            )
        return left & ~self._early[team]

    def left_by(self, team: int, other: int) -> int:
        """Return the devices of machines that are in a set and not in the next one."""
        return sum(devices for devices in self._machines if devices & team and not devices & other)

    def may_follow(self, team: int, other: int) -> bool:
        """Return whether a set may be on the step after another: in order, and no node cut off by forbidden links."""
        if self.behind(team, other) != other:
            return False
        if any(not self._into[node] & other for node in members(team)):
            return False
        return all(self._from[node] & team for node in members(other))
