"""Machines as the solver may use them: memories of equal kind that a stage can be put on, and who reaches whom."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from solver.cluster import ClusterNode, GpuGroup, Reserve
from solver.errors import InputError
from solver.options.machines import unified_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from solver.cluster import Cluster

__all__ = ["DeviceType", "Family", "Kind", "Machine", "Seat", "machines_of", "networks_of", "seats_by_kind"]

_MOST_NETWORKS = 256


class Family(StrEnum):
    """What a memory is: a card's own, one that card and processor share, or a host's."""

    CARD = "card"
    UNIFIED = "unified"
    HOST = "host"


@dataclass(frozen=True, slots=True, order=True)
class DeviceType:
    """What decides how an engine rounds and what it keeps: the family and the kind of backend, "" where nobody says."""

    family: Family
    backend: str


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """Memories that no engine can tell apart. `allowed_bytes` is what reserve and ceiling leave of `memory_bytes`."""

    type: DeviceType
    label: str
    memory_bytes: int
    allowed_bytes: int

    def machine(self, name: str, count: int, host_memory_bytes: int) -> ClusterNode:
        """Return a machine with so many of these and nothing else; a card's has so much host memory, all of it free."""
        reserve = Reserve(fraction=Fraction(0), floor_bytes=self.memory_bytes - self.allowed_bytes)
        is_card, is_unified = self.type.family is Family.CARD, self.type.family is Family.UNIFIED
        device = f"{self.type.backend}0" if self.type.backend else None
        group = GpuGroup(self.label, self.memory_bytes if is_card else 0, count, None, None, device, reserve)
        return ClusterNode(
            name=name,
            memory_bytes=host_memory_bytes if is_card else self.memory_bytes,
            unified=is_unified,
            ceiling_bytes=None,
            reserve=Reserve(fraction=Fraction(0), floor_bytes=0) if is_card else reserve,
            bytes_per_second=None,
            fabric=None,
            cpu=False,
            free_bytes=None,
            gpus=(group,) if is_card or (is_unified and device) else (),
            address=None,
            rpc_port=None,
            head=False,
            model_path=None,
        )


@dataclass(frozen=True, slots=True)
class Seat:
    """Equal memories of one machine: how many, how many are free (None: unknown), and the number of the first."""

    kind: Kind
    count: int
    free: int | None
    first: int


@dataclass(frozen=True, slots=True)
class Machine:
    """One node: its cards or unified memory, and its host memory as a place of its own (None where nothing is left).

    `position` is its place in the cluster.
    """

    name: str
    position: int
    fabric: str
    seats: tuple[Seat, ...]
    host: Kind | None
    host_free_bytes: int | None

    @property
    def counts(self) -> Counter[Kind]:
        """Return how many memories of each kind there are."""
        found: Counter[Kind] = Counter()
        for seat in self.seats:
            found[seat.kind] += seat.count
        return found

    def free_counts(self, *, unknown: bool) -> Counter[Kind]:
        """Return how many of each kind are free; where nobody says it, all or none."""
        found: Counter[Kind] = Counter()
        for seat in self.seats:
            found[seat.kind] += seat.free if seat.free is not None else seat.count if unknown else 0
        return found

    def offers(self, kind: Kind) -> bool:
        """Return whether it has a memory of a kind."""
        return kind == self.host or any(seat.kind == kind for seat in self.seats)

    def names(self, kind: Kind) -> list[str]:
        """Return the devices of a kind by name."""
        if kind.type.family is not Family.CARD:
            return [f"{self.name}/{'unified' if kind.type.family is Family.UNIFIED else 'cpu'}"]
        return [
            f"{self.name}/gpu{number}"
            for seat in self.seats
            if seat.kind == kind
            for number in range(seat.first, seat.first + seat.count)
        ]


def machines_of(cluster: Cluster) -> tuple[Machine, ...]:
    """Return the machines of a cluster in order, without memories of which the reserve leaves nothing."""
    return tuple(_machine(node, position) for position, node in enumerate(cluster.nodes))


def _machine(node: ClusterNode, position: int) -> Machine:
    host = Kind(DeviceType(Family.HOST, ""), "CPU", node.memory_bytes, node.budget_bytes)
    return Machine(
        name=node.name,
        position=position,
        fabric=node.fabric or "",
        seats=tuple(seat for seat in _seats(node) if seat.kind.allowed_bytes > 0),
        host=host if node.budget_bytes > 0 else None,
        host_free_bytes=node.free_bytes,
    )


def _seats(node: ClusterNode) -> Iterator[Seat]:
    if node.unified:
        named = node.gpus[0] if node.gpus else None
        backend = _letters(named.device) if named is not None else ""
        label = unified_class(node.memory_bytes) if named is None else named.label
        kind = Kind(DeviceType(Family.UNIFIED, backend), label, node.memory_bytes, node.budget_bytes)
        yield Seat(kind, 1, None if named is None else named.free_count, 0)
        return
    first = 0
    for group in node.gpus:
        allowed = group.memory_bytes - group.reserve.bytes_of(group.memory_bytes)
        kind = Kind(DeviceType(Family.CARD, _letters(group.device)), group.label, group.memory_bytes, allowed)
        yield Seat(kind, group.count, group.free_count, first)
        first += group.count


def _letters(device: str | None) -> str:
    return "" if device is None else device.rstrip("0123456789")


def networks_of(cluster: Cluster, machines: tuple[Machine, ...]) -> tuple[tuple[Machine, ...], ...]:
    """Return the largest sets of machines that all reach one another; one with all where no link is barred.

    Raises:
        InputError: the barred links leave too many such sets.
    """
    names = {machine.name: machine.position for machine in machines}
    apart: dict[int, set[int]] = {machine.position: set() for machine in machines}
    for link in cluster.links:
        if link.forbidden and link.source in names and link.target in names:
            apart[names[link.source]].add(names[link.target])
            apart[names[link.target]].add(names[link.source])
    if not any(apart.values()):
        return (machines,)
    # Machines that are barred from the same others reach one another, and stand together.
    alike: dict[frozenset[int], list[int]] = {}
    for position, barred in apart.items():
        alike.setdefault(frozenset(barred), []).append(position)
    groups = [frozenset(members) for members in alike.values()]
    cliques = list(_cliques([], list(range(len(groups))), [], _joined(groups, apart)))
    return tuple(
        tuple(machine for machine in machines if any(machine.position in groups[one] for one in clique))
        for clique in cliques
    )


def _joined(groups: list[frozenset[int]], apart: dict[int, set[int]]) -> list[set[int]]:
    first = [next(iter(group)) for group in groups]
    return [
        {other for other, two in enumerate(first) if other != number and two not in apart[one]}
        for number, one in enumerate(first)
    ]


def _cliques(chosen: list[int], open_: list[int], closed: list[int], joined: list[set[int]]) -> Iterator[list[int]]:
    """Yield all maximal sets of groups that reach one another (Bron and Kerbosch 1973, with a pivot)."""
    if not open_ and not closed:
        yield chosen
        return
    pivot = max([*open_, *closed], key=lambda one: len(joined[one] & set(open_)))
    count = 0
    for one in [group for group in open_ if group not in joined[pivot]]:
        for clique in _cliques(
            [*chosen, one],
            [other for other in open_ if other in joined[one]],
            [other for other in closed if other in joined[one]],
            joined,
        ):
            count += 1
            if count > _MOST_NETWORKS:
                raise InputError(
                    "links",
                    f"barred ones leave over {_MOST_NETWORKS} sets of nodes that reach one another; expected fewer. "
                    "Bar fewer links.",
                )
            yield clique
        open_ = [other for other in open_ if other != one]
        closed = [*closed, one]


def seats_by_kind(machines: Iterable[Machine]) -> dict[Kind, list[tuple[Machine, int]]]:
    """Return, for every kind of card or unified memory, the machines that have it and how many, in order."""
    found: dict[Kind, list[tuple[Machine, int]]] = {}
    for machine in machines:
        for kind, count in machine.counts.items():
            found.setdefault(kind, []).append((machine, count))
    return dict(sorted(found.items()))
