"""What is in the memories of hosts: where llama.cpp can leave weights with one, and what the head's host holds.

Tensors stay on the host of the process alone (buffer CPU), or go to a device behind a server. So cards of the head may
leave weights in its memory; cards of another machine in theirs only where that machine's processor is served too, which
its `cpu = true` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from solver.engines.llamacpp.seats import head_of, only_machine, seats_of
from solver.engines.seating import Kind, draws_of, host_pool_of, pools_of, shares_memory
from solver.errors import InputError
from solver.problem import Node
from tensors.units import format_bytes

if TYPE_CHECKING:
    from solver.cluster import Cluster, ClusterNode
    from solver.engines.llamacpp.seats import Seat
    from solver.pools import Pool
    from solver.problem import Rules

__all__ = ["Counted", "Held", "Hosts", "check_hosts", "hosts_of", "keeps_host_apart", "node_of", "pools_with"]


class Counted(Enum):
    """How a plan counts what the head's host holds.

    With the first stage, wherever that is; as set aside in the memory of a head that is known; or nowhere, since that
    memory takes nothing else and was found large enough.
    """

    WITH_FIRST = auto()
    ASIDE = auto()
    APART = auto()


@dataclass(frozen=True, slots=True)
class Hosts:
    """The devices of a run, and which machines' memories take what their cards leave.

    `head` is the machine that the program is started on, None where the first stage decides it; `first` the device that
    the first stage must be on, None for any; `firsts` those it may be on. `machines` take what their cards leave.
    """

    seats: tuple[Seat, ...]
    head: ClusterNode | None
    first: Seat | None
    firsts: tuple[Seat, ...]
    machines: frozenset[str]
    counted: Counted

    @property
    def sharing(self) -> frozenset[str]:
        """Return the machines whose devices draw on memories beside their own."""
        return shares_memory([seat.site for seat in self.seats], self.machines)


@dataclass(frozen=True, slots=True)
class Held:
    """What the engine takes beside stages: on every device that has one, and `held_bytes` on the host of the head."""

    everywhere_bytes: int
    device_bytes: int
    held_bytes: int


def hosts_of(cluster: Cluster, rules: Rules, *, moves: bool) -> Hosts:
    """Return the devices and hosts of a cluster; `moves` says that the model has something to leave with them.

    Raises:
        InputError: cluster and rules contradict each other.
    """
    seats = seats_of(cluster, frozenset(rules.exclude))
    first = head_of(cluster, seats, rules)
    head = only_machine(seats) if first is None else first.machine
    of_head = () if head is None else tuple(seat for seat in seats if seat.machine == head)
    machines = frozenset(
        seat.machine.name
        for seat in seats
        if seat.site.kind is Kind.CARD
        and ((seat.machine == head and (moves or len(of_head) > 1)) or (seat.machine.cpu and moves))
    )
    shares = head is not None and (head.name in machines or len(of_head) > 1)
    if head is None or not shares:
        firsts = seats if first is None else (first,)
        apart = all(keeps_host_apart(seat) and seat.machine.name not in machines for seat in firsts)
        return Hosts(seats, head, first, firsts, machines, Counted.APART if apart else Counted.WITH_FIRST)
    if rules.first is not None and first is not None:
        return Hosts(seats, head, first, (first,), machines, Counted.WITH_FIRST)
    counted = Counted.WITH_FIRST if only_machine(seats) is not None else Counted.ASIDE
    return Hosts(seats, head, None, of_head if counted is Counted.WITH_FIRST else seats, machines, counted)


def keeps_host_apart(seat: Seat) -> bool:
    """Return whether what the head's host holds is in another memory than the device's."""
    return not seat.is_host and not seat.machine.unified


def check_hosts(hosts: Hosts, needed_bytes: int) -> None:
    """Refuse a head whose host has no room for what stays there; where any machine may be it, one must have.

    Raises:
        InputError: none has.
    """
    if hosts.counted is Counted.ASIDE and hosts.head is not None:
        machines, fixed = [hosts.head], True
    else:
        machines = [seat.machine for seat in hosts.firsts if keeps_host_apart(seat)]
        fixed = len({seat.machine.name for seat in hosts.firsts}) == 1
    short = [machine for machine in machines if machine.pool_budget_bytes < needed_bytes]
    if short and (fixed or len(short) == len(hosts.firsts)):
        raise InputError(
            f"node {short[0].name}",
            f"its host may hold {format_bytes(max(short[0].pool_budget_bytes, 0))}; the head needs "
            f"{format_bytes(needed_bytes)} there for embeddings and buffers. Lower its reserve, or start llama.cpp on "
            "another node.",
        )


def node_of(seat: Seat, hosts: Hosts, held: Held) -> Node:
    """Return a device as a node of a problem."""
    return Node(
        name=seat.node,
        budget_bytes=seat.budget_bytes,
        bytes_per_second=seat.site.bytes_per_second,
        stage_ns=None,
        machine=None if seat.site.alone else seat.machine.name,
        draws=draws_of(seat.site, hosts.machines) if seat.machine.name in hosts.sharing else None,
        held_bytes=_beside_bytes(seat, hosts, held),
    )


def pools_with(hosts: Hosts, held: Held) -> tuple[Pool, ...]:
    """Return the memories that are shared, with what the engine takes of each whatever is placed."""

    def aside(pool: str) -> int:
        head = hosts.head
        helped = any(host_pool_of(seat.machine) == pool and _is_helped(seat.machine, hosts) for seat in hosts.seats)
        taken = held.everywhere_bytes + held.device_bytes if helped else 0
        if hosts.counted is Counted.ASIDE and head is not None and pool in (host_pool_of(head), f"{head.name}/unified"):
            taken += held.held_bytes
        return taken

    return pools_of([seat.site for seat in hosts.seats], hosts.sharing, hosts.machines, aside)


def _is_helped(machine: ClusterNode, hosts: Hosts) -> bool:
    """Return whether a server for a machine's processor may take what its cards leave, with or without blocks."""
    return machine.name in hosts.machines and machine != hosts.head


def _beside_bytes(seat: Seat, hosts: Hosts, held: Held) -> int:
    """Return what the engine takes of a device's memory beside its stage."""
    if seat.site.kind is Kind.PROCESSOR and seat.machine == hosts.head:
        # What the process itself computes in is among what its host holds.
        return held.everywhere_bytes
    if seat.site.kind is Kind.PROCESSOR and _is_helped(seat.machine, hosts):
        # Set aside in its memory whether it has a stage or not.
        return 0
    _, driver_bytes = seat.backend.context_bytes
    return held.everywhere_bytes + held.device_bytes + driver_bytes
