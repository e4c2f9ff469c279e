"""Which machines, and which cards of a machine, can be exchanged without changing anything.

Exchanges are checked on everything that a search goes by: the devices' kinds, the cards that they occupy, the budgets
of what they share, and every link. Exchanges can be made one after the other, so equality goes on from one to the next.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solver.exact.machines.fleet import Device, Kind, Machine
    from solver.problem import Problem

__all__ = ["equal_machines", "twin_cards"]


def equal_machines(problem: Problem, one: Machine, other: Machine) -> bool:
    """Return whether two machines can be exchanged, their devices taken in the order listed."""
    if len(one.devices) != len(other.devices):
        return False
    pairs = list(zip(one.devices, other.devices, strict=True))
    if any(first.kind != second.kind or first.cards != second.cards for first, second in pairs):
        return False
    if [pool.room_bytes for pool in one.resources] != [pool.room_bytes for pool in other.resources]:
        return False
    exchange = {first.node.name: second.node.name for first, second in pairs}
    return _keeps_links(problem, exchange | {second: first for first, second in exchange.items()})


def twin_cards(problem: Problem, devices: Sequence[Device], cards: int) -> tuple[tuple[int, ...], ...]:
    """Return the sets of cards of a machine that can be exchanged, as ascending bit numbers."""
    places = defaultdict(list)
    on_card: dict[int, list[Device]] = defaultdict(list)
    for device in devices:
        places[device.kind, device.cards].append(device.node.name)
        for card in range(cards):
            if device.cards >> card & 1:
                on_card[card].append(device)
    groups: list[list[int]] = []
    for card in range(cards):
        for group in groups:
            exchange = _exchange((*on_card[group[0]], *on_card[card]), places, group[0], card)
            if exchange is not None and _keeps_links(problem, exchange):
                group.append(card)
                break
        else:
            groups.append([card])
    return tuple(tuple(group) for group in groups if len(group) > 1)


def _exchange(
    devices: Sequence[Device], places: Mapping[tuple[Kind, int], Sequence[str]], one: int, other: int
) -> dict[str, str] | None:
    """Return which devices change places when two cards do, or None if some device has no counterpart.

    `devices` are those on either card, `places` the devices of each kind by the cards that they occupy.
    """
    exchange: dict[str, str] = {}
    for kind, cards in dict.fromkeys((device.kind, device.cards) for device in devices):
        if cards >> one & 1 == cards >> other & 1:
            continue
        names = places[kind, cards]
        counterparts = places.get((kind, cards ^ (1 << one | 1 << other)), ())
        if len(counterparts) != len(names):
            return None
        exchange.update(zip(names, counterparts, strict=True))
    return exchange


def _keeps_links(problem: Problem, exchange: Mapping[str, str]) -> bool:
    """Return whether every link is the same once devices have changed places."""
    if not problem.links.pairs:
        return True
    for pair in problem.links.pairs:
        if pair.source in exchange or pair.target in exchange:
            source, target = exchange.get(pair.source, pair.source), exchange.get(pair.target, pair.target)
            if source != target and problem.link(source, target) != problem.link(pair.source, pair.target):
                return False
    return True
