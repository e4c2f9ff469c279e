"""The cards of a cluster as devices that take a rank each, and the one share of memory that all cards must grant.

A rank of width w is w equal cards of one machine. Its budget is w times that of one card, and what a block takes of it
is w times what the block takes of one card, so that figures of a card are those of its rank divided by w, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from solver.errors import InputError
from solver.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solver.cluster import Cluster, ClusterNode

__all__ = ["RankDevice", "Share", "least_share", "rank_devices"]

# Links between cards are written out in pairs.
_MOST_CARDS = 480


@dataclass(frozen=True, slots=True)
class RankDevice:
    """Equal cards of one machine that take a rank together.

    `name` is that of the machine where it offers no more than this, else that of the first card. `cards` are pools.
    `card_bytes` is all memory of one card, `allowed_bytes` what reserve and ceiling leave of it. `bytes_per_second` is
    the bandwidth of one card.
    """

    name: str
    machine: str
    cards: tuple[str, ...]
    card_bytes: int
    allowed_bytes: int
    bytes_per_second: int | None

    @property
    def width(self) -> int:
        """Return how many cards there are."""
        return len(self.cards)


@dataclass(frozen=True, slots=True)
class Share:
    """The share of every card that the engine is told to take, and the card that allows no more.

    `why` says what of that card is kept from the engine.
    """

    value: Fraction
    card: str
    why: str

    def bytes_of(self, card_bytes: int) -> int:
        """Return what the engine takes of a card: the share, rounded up to a byte as the engines do."""
        return ceil(self.value * card_bytes)


def rank_devices(cluster: Cluster, width: int, excluded: frozenset[str]) -> tuple[tuple[RankDevice, ...], list[str]]:
    """Return the devices of ranks of so many cards in the order listed, and notes on what is left out.

    Cards of different groups of a machine are never in one rank. Names in `excluded` are of machines or devices.

    Raises:
        InputError: no machine has so many equal cards, or there are too many cards in all.
    """
    notes: list[str] = []
    devices: list[RankDevice] = []
    cards = sum(group.count for node in cluster.nodes for group in node.gpus)
    if cards > _MOST_CARDS:
        raise InputError("cluster", f"it lists {cards} cards; expected at most {_MOST_CARDS}. Lower the counts.")
    for node in cluster.nodes:
        if node.name not in excluded:
            devices.extend(device for device in _of_node(node, width, notes) if device.name not in excluded)
    if not devices:
        raise InputError(
            "cluster",
            f"no node has {counted(width, 'equal card')} that anything may be placed on; expected nodes with "
            "gpu = [...] or unified = true. List their cards, or lower the width.",
        )
    return tuple(devices), notes


def least_share(
    devices: tuple[RankDevice, ...], steps: int, own_reserve_bytes: Callable[[int], int] | None = None
) -> Share:
    """Return the largest share with so many steps that every card can grant, but for the byte it is rounded up by.

    `own_reserve_bytes(card_bytes)` is what the engine itself wants to keep free of a card.
    """
    shares = []
    for device in devices:
        granted, why = device.allowed_bytes, "its reserve"
        if own_reserve_bytes is not None:
            own = device.card_bytes - own_reserve_bytes(device.card_bytes)
            granted, why = min((granted, why), (own, "what the engine keeps free"))
        shares.append(Share(Fraction(max(granted, 0) + 1, device.card_bytes), device.cards[0], why))
    least = min(shares, key=lambda share: share.value)
    # The largest k with floor(card · k / steps) <= granted: below (granted + 1) / card.
    return Share(Fraction(min(ceil(least.value * steps) - 1, steps), steps), least.card, least.why)


def _of_node(node: ClusterNode, width: int, notes: list[str]) -> tuple[RankDevice, ...]:
    groups = list(_groups(node))
    if not groups:
        notes.append(f"{node.name}: it lists no card; the engine places nothing in the memory of a host.")
    ranks: list[tuple[tuple[str, ...], _Group]] = []
    for group in groups:
        if group.allowed_bytes <= 0:
            notes.append(f"{node.name}: the reserve leaves nothing of {group.cards[0]}; it takes no blocks.")
            continue
        whole = len(group.cards) // width
        ranks.extend((group.cards[rank * width : (rank + 1) * width], group) for rank in range(whole))
        left = len(group.cards) - whole * width
        if left:
            notes.append(f"{node.name}: {left} of {len(group.cards)} cards are left over from ranks of {width}.")
    return tuple(
        RankDevice(
            name=node.name if len(ranks) == 1 else cards[0],
            machine=node.name,
            cards=cards,
            card_bytes=group.card_bytes,
            allowed_bytes=group.allowed_bytes,
            bytes_per_second=group.bytes_per_second,
        )
        for cards, group in ranks
    )


@dataclass(frozen=True, slots=True)
class _Group:
    """Equal cards of one machine."""

    cards: tuple[str, ...]
    card_bytes: int
    allowed_bytes: int
    bytes_per_second: int | None


def _groups(node: ClusterNode) -> Iterator[_Group]:
    if node.unified:
        yield _Group((f"{node.name}/unified",), node.memory_bytes, node.budget_bytes, node.bytes_per_second)
        return
    first = 0
    for group in node.gpus:
        cards = tuple(f"{node.name}/gpu{number}" for number in range(first, first + group.count))
        first += group.count
        allowed = group.memory_bytes - group.reserve.bytes_of(group.memory_bytes)
        yield _Group(cards, group.memory_bytes, allowed, group.bytes_per_second)
