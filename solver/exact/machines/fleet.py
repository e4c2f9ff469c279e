"""Machines and their devices as a search sees them: what is shared, what excludes what, and which are equal.

A memory that at most one used device can draw on is a cap of that device. Any other that devices draw on or leave
experts in is a *resource* of the machine: what all its stages put there is at most its budget.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from operator import or_
from typing import TYPE_CHECKING

from solver.exact.machines.symmetry import equal_machines, twin_cards

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.pools import Pool
    from solver.problem import Node, Problem

__all__ = ["Device", "Fleet", "Kind", "Machine", "fleet_of"]


@dataclass(frozen=True, slots=True)
class Kind:
    """All that the stages of a device go by. `draws` and `host` number resources of its machine.

    `cap_bytes` is what items may take of the least of the memories that it has to itself; `counts_whole` says that its
    blocks count as left with a host; `name` is None unless a rule speaks of the device.
    """

    budget_bytes: int
    held_bytes: int
    cap_bytes: int
    bytes_per_second: int | None
    stage_ns: tuple[int, ...] | None
    host_bytes_per_second: int | None
    shape: int
    width: int
    draws: tuple[int, ...]
    host: int | None
    counts_whole: bool
    name: str | None

    @property
    def leaves_experts(self) -> bool:
        """Return whether blocks of a stage may leave their experts with the host."""
        return self.host is not None and self.stage_ns is None


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a machine; `cards` is a bit mask over the cards of its machine."""

    node: Node
    kind: Kind
    cards: int


@dataclass(frozen=True, slots=True)
class Machine:
    """Machines that nothing tells apart: the devices of the first, and the names of all by position.

    `resources` are those of the first; `twins` are sets of cards, as ascending bit numbers, that can be exchanged.
    """

    devices: tuple[Device, ...]
    members: tuple[tuple[str, ...], ...]
    resources: tuple[Pool, ...]
    twins: tuple[tuple[int, ...], ...]

    def is_first_of_equals(self, cards: int) -> bool:
        """Return whether of twin cards the first ones are occupied: one set of cards stands for all its equals."""
        return all(cards & firsts[-1] == firsts[(cards & firsts[-1]).bit_count()] for firsts in _firsts(self.twins))

    def apart(self, cards: int, others: int) -> bool:
        """Return whether two sets of cards, each standing for its equals, can be occupied at once."""
        among = sum(1 << card for group in self.twins for card in group)
        if cards & others & ~among:
            return False
        return all(
            sum((cards >> card & 1) + (others >> card & 1) for card in group) <= len(group) for group in self.twins
        )

    def first_of_equals(self, cards: int) -> int:
        """Return the set of cards that stands for all equals of one."""
        for group in self.twins:
            count = sum(cards >> card & 1 for card in group)
            for number, card in enumerate(group):
                cards = cards | 1 << card if number < count else cards & ~(1 << card)
        return cards


@cache
def _firsts(twins: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Return for each set of twins its first card, first two cards and so on as bit masks, none first."""
    return tuple(tuple(accumulate((1 << card for card in group), or_, initial=0)) for group in twins)


@dataclass(frozen=True, slots=True)
class Fleet:
    """The machines of a problem by class. `counted` says whether a machine here is a node as people count them."""

    machines: tuple[Machine, ...]
    counted: bool


def fleet_of(problem: Problem) -> Fleet:
    """Return the machines of a problem; where devices may stand apart each is a machine, which relaxes the rules."""
    usable = {member.name for group in problem.classes for member in group.members}
    apart = problem.rules.apart
    grouped: dict[tuple[bool, str], list[Node]] = {}
    for node in problem.nodes:
        if node.name in usable:
            alone = apart or node.machine is None
            grouped.setdefault((alone, node.name if apart else node.machine or node.name), []).append(node)
    built = [_machine(problem, nodes) for nodes in grouped.values()]
    merged: list[Machine] = []
    for machine in built:
        for number, other in enumerate(merged):
            if equal_machines(problem, other, machine):
                merged[number] = Machine(
                    other.devices, (*other.members, *machine.members), other.resources, other.twins
                )
                break
        else:
            merged.append(machine)
    return Fleet(tuple(merged), counted=not apart or all(node.machine is None for node in problem.nodes))


def _machine(problem: Problem, nodes: list[Node]) -> Machine:
    resources = tuple(_resources(problem, nodes))
    numbers = {pool.name: number for number, pool in enumerate(resources)}
    bits: dict[str, int] = {}
    devices = []
    for node in nodes:
        cards = 0
        for card in node.cards or (node.name,):
            cards |= 1 << bits.setdefault(card, len(bits))
        devices.append(Device(node, _kind(problem, node, numbers), cards))
    names = tuple(node.name for node in nodes)
    return Machine(tuple(devices), (names,), resources, twin_cards(problem, devices, len(bits)))


def _resources(problem: Problem, nodes: list[Node]) -> Iterator[Pool]:
    """Yield the memories of a machine that several used devices can draw on, or that experts can be left in."""
    hosts = {node.host_pool for node in nodes}
    names = dict.fromkeys(name for node in nodes for name in (*node.pools, node.host_pool) if name is not None)
    for name in names:
        holders = [node for node in nodes if name in node.pools]
        cards = Counter(card for node in holders for card in set(node.cards))
        # Devices that all occupy one card are never used together.
        if name in hosts or (len(holders) > 1 and len(holders) not in cards.values()):
            yield problem.pools_by_name[name]


def _kind(problem: Problem, node: Node, numbers: dict[str, int]) -> Kind:
    draws = node.draws
    hosts = {other.host_pool for other in problem.nodes}
    own = [problem.pools_by_name[name].room_bytes for name in node.pools if name not in numbers]
    return Kind(
        budget_bytes=node.budget_bytes,
        held_bytes=node.held_bytes,
        cap_bytes=min([node.budget_bytes, *own]) - node.held_bytes,
        bytes_per_second=node.bytes_per_second,
        stage_ns=node.stage_ns,
        host_bytes_per_second=None if draws is None else draws.host_bytes_per_second,
        shape=0 if draws is None else draws.shape,
        width=len(node.pools),
        draws=tuple(sorted(numbers[name] for name in node.pools if name in numbers)),
        host=None if node.host_pool is None else numbers[node.host_pool],
        counts_whole=not hosts.isdisjoint(node.pools),
        name=node.name if node.name in problem.rules.named else None,
    )
