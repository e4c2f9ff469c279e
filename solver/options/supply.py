"""What a set of machines that reach one another offers: how many have so many equal memories, and which to take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from solver.options.kinds import Family, Kind, Machine, seats_by_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["KindSupply", "Supply", "supply_of"]


@dataclass(frozen=True)
class KindSupply:
    """The machines that have memories of one kind, in the cluster's order, with how many and how many are free."""

    kind: Kind
    machines: tuple[Machine, ...]
    counts: tuple[int, ...]

    @property
    def widest(self) -> int:
        """Return the most that one machine has."""
        return max(self.counts)

    @cached_property
    def total(self) -> int:
        """Return how many there are."""
        return sum(self.counts)

    @cached_property
    def _by_width(self) -> dict[int, tuple[Machine, ...]]:
        return {}

    def having(self, width: int) -> tuple[Machine, ...]:
        """Return the machines with so many of them."""
        if width not in self._by_width:
            found = zip(self.machines, self.counts, strict=True)
            self._by_width[width] = tuple(machine for machine, count in found if count >= width)
        return self._by_width[width]

    @cached_property
    def _free(self) -> dict[int, tuple[int, int]]:
        return {}

    def free_now(self, width: int, nodes: int) -> bool | None:
        """Return whether so many machines have so many free; None where what nobody says decides it."""
        if width not in self._free:
            having = self.having(width)
            sure = sum(machine.free_counts(unknown=False)[self.kind] >= width for machine in having)
            perhaps = sum(machine.free_counts(unknown=True)[self.kind] >= width for machine in having)
            self._free[width] = (sure, perhaps)
        sure, perhaps = self._free[width]
        return True if sure >= nodes else None if perhaps >= nodes else False

    def by_fabric(self) -> Iterator[tuple[str, KindSupply]]:
        """Yield every fabric in order of sight with its part; the machines of none are one more, called ""."""
        found: dict[str, list[tuple[Machine, int]]] = {}
        for machine, count in zip(self.machines, self.counts, strict=True):
            found.setdefault(machine.fabric, []).append((machine, count))
        for fabric, members in found.items():
            yield fabric, KindSupply(self.kind, tuple(one for one, _ in members), tuple(count for _, count in members))

    def taken(self, width: int, nodes: int, head_bytes: int) -> tuple[Machine, ...] | None:
        """Return the machines to take: free ones first, the first with room for the head; None if none has.

        Their host memory counts only where they have memories of their own.
        """
        if self.kind.type.family is not Family.CARD:
            return self.having(width)[:nodes]
        having = sorted(self.having(width), key=lambda machine: machine.free_counts(unknown=False)[self.kind] < width)
        head = next((one for one in having if (one.host.allowed_bytes if one.host else 0) >= head_bytes), None)
        if head is None:
            return None
        return (head, *[machine for machine in having if machine is not head][: nodes - 1])


@dataclass(frozen=True)
class Supply:
    """Machines that all reach one another: by kind of card and unified memory, and the hosts of those without cards."""

    machines: tuple[Machine, ...]
    kinds: tuple[KindSupply, ...]
    hosts: tuple[KindSupply, ...]

    @cached_property
    def free_mixes(self) -> dict[tuple[tuple[tuple[Kind, int], ...], int], bool | None]:
        """Return the mixes that were asked about, with the number of nodes, and whether they are free."""
        return {}

    @cached_property
    def surely_free(self) -> tuple[tuple[Machine, Mapping[Kind, int]], ...]:
        """Return how many of each kind every machine has free for certain."""
        return tuple((machine, machine.free_counts(unknown=False)) for machine in self.machines if machine.seats)

    @cached_property
    def perhaps_free(self) -> tuple[tuple[Machine, Mapping[Kind, int]], ...]:
        """Return the same where all that nobody speaks of is free."""
        return tuple((machine, machine.free_counts(unknown=True)) for machine in self.machines if machine.seats)


def supply_of(machines: Iterable[Machine]) -> Supply:
    """Return what machines offer."""
    all_machines = tuple(machines)
    return Supply(
        machines=all_machines,
        kinds=tuple(
            KindSupply(kind, tuple(one for one, _ in found), tuple(count for _, count in found))
            for kind, found in seats_by_kind(all_machines).items()
        ),
        hosts=_hosts(all_machines),
    )


def _hosts(machines: tuple[Machine, ...]) -> tuple[KindSupply, ...]:
    found: dict[Kind, list[Machine]] = {}
    for machine in machines:
        if machine.host is not None and not machine.seats:
            found.setdefault(machine.host, []).append(machine)
    return tuple(KindSupply(kind, tuple(members), (1,) * len(members)) for kind, members in sorted(found.items()))
