"""The devices of a cluster that take a stage each, as this engine would use them: cards, unified memories and hosts.

The machine that the program is started on is the head: blocks on its host come before all others, and its cards are
local devices. Every other device is behind an RPC server of its own, a host's processor too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from solver.engines.devices import DeviceName, device_links, device_rules, one_device
from solver.engines.llamacpp.profile import UNKNOWN_CARD, backend_of
from solver.engines.seating import Kind, Site, sites_of
from solver.errors import InputError
from solver.problem import Link, LinkPair
from solver.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.cluster import Cluster, ClusterNode
    from solver.engines.llamacpp.facts import Backend
    from solver.problem import Links, Rules

__all__ = ["Seat", "head_of", "links_of", "members_of", "only_machine", "rules_of", "seats_of"]

_BARRED: Final = Link(latency_ns=0, bytes_per_second=None, forbidden=True)
_TAKES: Final = "a stage"


@dataclass(frozen=True, slots=True)
class Seat:
    """A device that takes a stage: where it is, what the engine calls it there (None: not said), and its kind."""

    site: Site
    local: str | None
    backend: Backend

    @property
    def node(self) -> str:
        """Return its name in the problem: its machine's, where that has no other."""
        return self.site.node

    @property
    def machine(self) -> ClusterNode:
        """Return the machine that it stands in."""
        return self.site.machine

    @property
    def number(self) -> int:
        """Return which of the machine's devices it is; its server has the port of that number."""
        return self.site.number

    @property
    def is_host(self) -> bool:
        """Return whether it is the processor of its machine."""
        return self.site.kind in (Kind.HOST, Kind.PROCESSOR)

    @property
    def budget_bytes(self) -> int:
        """Return what the reserve leaves, before anything is set aside for the engine."""
        return self.site.budget_bytes


def seats_of(cluster: Cluster, excluded: frozenset[str]) -> tuple[Seat, ...]:
    """Return the devices of a cluster in the order listed, without those in `excluded` (machines or devices).

    Raises:
        InputError: none is left, or a device has a name of no known kind.
    """
    seats = tuple(_seat(site) for site in sites_of(cluster, excluded))
    if not seats:
        raise InputError("cluster", "every node is excluded; expected one that may take blocks. Exclude fewer.")
    return seats


def _seat(site: Site) -> Seat:
    if site.kind in (Kind.HOST, Kind.PROCESSOR):
        return Seat(site, "CPU", backend_of("RPC0"))
    if site.kind is Kind.UNIFIED:
        local = site.machine.gpus[0].device if site.machine.gpus else None
        return Seat(site, local, UNKNOWN_CARD if local is None else backend_of(local))
    first = 0
    for group in site.machine.gpus:
        if site.number < first + group.count:
            # Without a name they are counted on from the first card of the machine.
            kind, start = ("CUDA", first) if group.device is None else _split(group.device)
            local = f"{kind}{start + site.number - first}"
            return Seat(site, local, backend_of(local))
        first += group.count
    raise AssertionError(site.node)


def _split(device: str) -> tuple[str, int]:
    """Return the kind of a device and its number.

    Raises:
        InputError: it is not of a known kind.
    """
    backend_of(device)
    kind = device.rstrip("0123456789")
    return kind, int(device[len(kind) :][:9])


def members_of(seats: Sequence[Seat]) -> tuple[DeviceName, ...]:
    """Return the devices by name, each with its machine."""
    return tuple(DeviceName(seat.node, seat.machine.name) for seat in seats)


def only_machine(seats: Sequence[Seat]) -> ClusterNode | None:
    """Return the machine of all devices, None where there are several."""
    machines = {seat.machine.name: seat.machine for seat in seats}
    return next(iter(machines.values())) if len(machines) == 1 else None


def head_of(cluster: Cluster, seats: tuple[Seat, ...], rules: Rules) -> Seat | None:
    """Return the device that the first stage is on, of the machine that the cluster or a rule names; None for any.

    Raises:
        InputError: the two name different machines, or the head is excluded.
    """
    named = None if rules.first is None else one_device(rules.first, members_of(seats), "first", _TAKES)
    first = None if named is None else next(seat for seat in seats if seat.node == named.name)
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


def rules_of(rules: Rules, seats: tuple[Seat, ...], first: Seat | None) -> Rules:
    """Return the rules of devices, with the one that comes first.

    Raises:
        InputError: a rule names a machine of several devices where one device is meant.
    """
    # What the rule on the first stage names is the head's machine, which may have several devices.
    other = rules if first is None else replace(rules, first=first.node)
    return device_rules(other, members_of(seats), _TAKES)


def links_of(cluster: Cluster, seats: tuple[Seat, ...], head: ClusterNode | None) -> Links:
    """Return links between devices, none of which leads to a processor that blocks have to begin on.

    On the head it comes before all devices, on other machines before the machine's own.
    """
    links = device_links(cluster, members_of(seats))
    barred = {
        (seat.node, processor.node): LinkPair(seat.node, processor.node, _BARRED)
        for processor in seats
        if processor.site.kind is Kind.PROCESSOR
        for seat in seats
        if seat != processor and processor.machine in (head, seat.machine)
    }
    if not barred:
        return links
    kept = tuple(pair for pair in links.pairs if (pair.source, pair.target) not in barred)
    return replace(links, pairs=(*kept, *barred.values()))
