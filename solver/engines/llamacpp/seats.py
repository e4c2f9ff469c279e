"""The devices of a cluster that take a stage each, as this engine would use them: cards, unified memories and hosts.

The machine that the program is started on is the head: blocks on its host come before all others, and its cards are
local devices. Every other device is behind an RPC server of its own, a host's processor too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from solver.engines.devices import DeviceName, device_links, device_rules, one_device
from solver.engines.llamacpp.profile import backend_of
from solver.errors import InputError
from solver.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.cluster import Cluster, ClusterNode
    from solver.engines.llamacpp.facts import Backend
    from solver.problem import Links, Rules

__all__ = ["Seat", "head_of", "links_of", "rules_of", "seats_of"]

_MOST_SEATS: Final = 480
"""Links between devices are written out in pairs."""

_ANY: Final = replace(backend_of("CUDA0"), name="unknown", alignment_bytes=256, exact=False)
"""A card of which nothing is known: it rounds up as the coarsest of all kinds does."""

_TAKES: Final = "a stage"


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
    """Return the rules of devices, with the head's device first.

    Raises:
        InputError: a rule names a machine of several devices where one device is meant.
    """
    # What the rule on the first stage names is the head's machine, which may have several devices.
    other = rules if head is None else replace(rules, first=head.node)
    return device_rules(other, _names(seats), _TAKES)


def links_of(cluster: Cluster, seats: tuple[Seat, ...]) -> Links:
    """Return links between devices: those of their machines, and inside a machine one that costs nothing."""
    return device_links(cluster, _names(seats))


def _names(seats: tuple[Seat, ...]) -> tuple[DeviceName, ...]:
    return tuple(DeviceName(seat.node, seat.machine.name) for seat in seats)


def _only(name: str, seats: tuple[Seat, ...], rule: str) -> Seat | None:
    """Return the device of a name, None where there is none: that is refused with all other rules."""
    found = one_device(name, _names(seats), rule, _TAKES)
    return None if found is None else next(seat for seat in seats if seat.node == found.name)
