"""The devices of a cluster that take a stage each, as this engine would use them: cards, unified memories and hosts.

The machine that the program is started on is the head: blocks on its host come before all others, and its cards are
local devices. Every other device is behind an RPC server of its own, a host's processor too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Final

from solver.engines.llamacpp.profile import backend_of
from solver.errors import InputError
from solver.problem import Link, LinkPair, Links
from solver.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.cluster import Cluster, ClusterNode
    from solver.engines.llamacpp.facts import Backend
    from solver.problem import Rules

__all__ = ["Seat", "head_of", "links_of", "rules_of", "seats_of"]

_MOST_SEATS: Final = 480
"""Links between devices are written out in pairs."""

_ANY: Final = replace(backend_of("CUDA0"), name="unknown", alignment_bytes=256, exact=False)
"""A card of which nothing is known: it rounds up as the coarsest of all kinds does."""

_INSIDE: Final = Link(latency_ns=0, bytes_per_second=None, forbidden=False)


@dataclass(frozen=True, slots=True)
class Seat:
    """A device that takes a stage. `node` is its name in the problem: its machine's, where that has no other.

    `local` is what the engine calls it on its machine, None where the cluster does not say. `number` counts the devices
    of the machine. `budget_bytes` is what the reserve leaves, before anything is set aside for the engine.
    """

    node: str
    machine: ClusterNode
    number: int
    local: str | None
    backend: Backend
    is_host: bool
    budget_bytes: int
    bytes_per_second: int | None


def seats_of(cluster: Cluster, excluded: frozenset[str]) -> tuple[Seat, ...]:
    """Return the devices of a cluster in the order listed, without those in `excluded` (machines or devices).

    Raises:
        InputError: there are too many, none is left, or a device has a name of no known kind.
    """
    cards = sum(max(sum(group.count for group in node.gpus), 1) for node in cluster.nodes)
    if cards > _MOST_SEATS:
        raise InputError("cluster", f"it lists {cards} devices; expected at most {_MOST_SEATS}. Lower the counts.")
    seats = tuple(
        seat
        for node in cluster.nodes
        if node.name not in excluded
        for seat in _of_machine(node)
        if seat.node not in excluded
    )
    if not seats:
        raise InputError("cluster", "every node is excluded; expected one that may take blocks. Exclude fewer.")
    return seats


def _of_machine(node: ClusterNode) -> Iterator[Seat]:
    if node.unified:
        local = node.gpus[0].device if node.gpus else None
        backend = _ANY if local is None else backend_of(local)
        yield Seat(node.name, node, 0, local, backend, False, node.budget_bytes, node.bytes_per_second)
        return
    if not node.gpus:
        yield Seat(node.name, node, 0, "CPU", backend_of("RPC0"), True, node.budget_bytes, node.bytes_per_second)
        return
    alone = sum(group.count for group in node.gpus) == 1
    number = 0
    for group in node.gpus:
        kind, first = ("CUDA", number) if group.device is None else _split(group.device)
        for index in range(group.count):
            local = f"{kind}{first + index}"
            yield Seat(
                node=node.name if alone else f"{node.name}/gpu{number}",
                machine=node,
                number=number,
                local=local,
                backend=backend_of(local),
                is_host=False,
                budget_bytes=group.memory_bytes - group.reserve.bytes_of(group.memory_bytes),
                bytes_per_second=group.bytes_per_second,
            )
            number += 1


def _split(device: str) -> tuple[str, int]:
    """Return the kind of a device and its number.

    Raises:
        InputError: it is not of a known kind.
    """
    backend_of(device)
    kind = device.rstrip("0123456789")
    return kind, int(device[len(kind) :][:9])


def head_of(cluster: Cluster, seats: tuple[Seat, ...], rules: Rules) -> Seat | None:
    """Return the device that must take the first stage: of the machine that the cluster or a rule names; None for any.

    Raises:
        InputError: the two name different machines, or the head is excluded.
    """
    first = None if rules.first is None else _only(rules.first, seats, "first")
    head = next((node for node in cluster.nodes if node.head), None)
    if head is None:
        return first
    if first is not None:
        if first.machine.name == head.name:
            return first
        raise InputError(
            "rule first",
            f"it names {quoted(first.machine.name)}, and {quoted(head.name)} is the head, where llama.cpp is started; "
            "expected the same machine. Change one.",
        )
    found = next((seat for seat in seats if seat.machine.name == head.name), None)
    if found is None:
        raise InputError(f"node {head.name}", "it is the head, and excluded; expected one that takes part. Change one.")
    return found


def rules_of(rules: Rules, seats: tuple[Seat, ...], head: Seat | None) -> Rules:
    """Return the rules with names of machines made names of devices; excluded ones are no devices any more.

    Raises:
        InputError: a rule names a machine of several devices where one device is meant.
    """

    def named(name: str, rule: str) -> str:
        seat = _only(name, seats, rule)
        return name if seat is None else seat.node

    return replace(
        rules,
        pins=tuple((block, named(name, "pin")) for block, name in rules.pins),
        first=rules.first if head is None else head.node,
        last=None if rules.last is None else named(rules.last, "last"),
        order=tuple(named(name, "order") for name in rules.order),
        exclude=(),
    )


def _only(name: str, seats: tuple[Seat, ...], rule: str) -> Seat | None:
    """Return the device of a name, None where there is none: that is refused with all other rules."""
    found = [seat for seat in seats if name == seat.node] or [seat for seat in seats if name == seat.machine.name]
    if len(found) > 1:
        raise InputError(
            f"rule {rule}",
            f"{quoted(name)} has {len(found)} devices that take a stage each; expected one of them. "
            f"Write {quoted(found[0].node)}.",
        )
    return found[0] if found else None


def links_of(cluster: Cluster, seats: tuple[Seat, ...]) -> Links:
    """Return links between devices: those of their machines, and inside a machine one that costs nothing."""
    default = Link(latency_ns=cluster.latency_ns, bytes_per_second=cluster.bytes_per_second, forbidden=False)
    own = {
        (link.source, link.target): Link(link.latency_ns, link.bytes_per_second, forbidden=link.forbidden)
        for link in cluster.links
    }
    pairs = []
    for source, target in permutations(seats, 2):
        inside = source.machine.name == target.machine.name
        link = _INSIDE if inside else own.get((source.machine.name, target.machine.name), default)
        if link != default:
            pairs.append(LinkPair(source.node, target.node, link))
    return Links(default=default, pairs=tuple(pairs))
