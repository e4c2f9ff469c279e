"""Equal cards of one machine that take a stage together: tensor-parallel groups.

Every card of a group of width w holds its share of every block of the stage and a share of the caches, whole heads and
at least one each. Cards that one group takes no other device takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from solver.engines.seating import Kind
from solver.engines.servers.sharding import check_width
from solver.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from solver.cluster import ClusterNode
    from solver.engines.seating import Site
    from tensors.inventory import Inventory

__all__ = ["Group", "groups_of", "widths_of"]


@dataclass(frozen=True, slots=True)
class Group:
    """Equal cards of one machine in a row, called after the first and the last: desk/gpu0-3."""

    machine: ClusterNode
    cards: tuple[Site, ...]

    @property
    def name(self) -> str:
        """Return what a problem calls the group."""
        return f"{self.machine.name}/gpu{self.cards[0].number}-{self.cards[-1].number}"


def groups_of(sites: Sequence[Site], width: int) -> tuple[Group, ...]:
    """Return the groups of so many cards: of each row of equal cards the first ones, then those behind them."""
    return tuple(
        Group(cards[0].machine, cards[start : start + width])
        for cards in _equal(sites)
        for start in range(0, len(cards) - width + 1, width)
    )


def widths_of(inventory: Inventory, sites: Sequence[Site]) -> tuple[int, ...]:
    """Return the widths above 1 that the heads of a model divide among, up to the longest row of equal cards."""
    longest = max((len(cards) for cards in _equal(sites)), default=0)
    return tuple(width for width in range(2, longest + 1) if _allowed(inventory, width))


def _allowed(inventory: Inventory, width: int) -> bool:
    try:
        check_width(inventory, width)
    except InputError:
        return False
    return inventory.architecture.heads is not None


def _equal(sites: Sequence[Site]) -> Iterator[tuple[Site, ...]]:
    """Yield the rows of equal cards of each machine, those of one list entry of its cluster file."""
    cards = [site for site in sites if site.kind is Kind.CARD and site.budget_bytes > 0]
    for _, row in groupby(cards, key=lambda site: (site.machine.name, id(site.group))):
        yield tuple(row)
