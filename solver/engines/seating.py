"""The devices of a cluster and the memories that they draw on: where stages may sit, whatever the engine.

A machine is its cards, each with a memory of its own; or one device in a unified memory; or the host alone. Where the
cluster says so (`cpu = true`), its processor is a device beside them, and draws on the host's memory, or on the one
that it shares with a unified GPU: the memory is counted once, and a ceiling is the GPU's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from solver.pools import Draws, Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from solver.cluster import Cluster, ClusterNode, GpuGroup

__all__ = [
    "Kind",
    "Site",
    "draws_of",
    "host_pool_of",
    "pools_of",
    "shares_memory",
    "sites_of",
]


class Kind(StrEnum):
    """What a device is."""

    HOST = "host"
    UNIFIED = "unified"
    CARD = "card"
    PROCESSOR = "processor"


@dataclass(frozen=True, slots=True)
class Site:
    """A device of a machine, and the memory that it draws on.

    `node` is its name in a problem: its machine's, where that has no other device. `number` counts the devices of the
    machine, cards first. `budget_bytes` is the most that it may take of `pool`, reserve and ceiling taken off, never
    below 0. `group` is that of a card.
    """

    node: str
    machine: ClusterNode
    kind: Kind
    number: int
    pool: str
    budget_bytes: int
    bytes_per_second: int | None
    group: GpuGroup | None

    @property
    def alone(self) -> bool:
        """Return whether its machine has no other device."""
        return self.node == self.machine.name

    @property
    def device(self) -> str:
        """Return what a plan calls it: one that is alone, like its memory."""
        return self.pool if self.alone else self.node


def sites_of(cluster: Cluster, excluded: frozenset[str]) -> tuple[Site, ...]:
    """Return the devices of a cluster in the order listed, without those in `excluded` (machines or devices)."""
    return tuple(
        site
        for node in cluster.nodes
        if node.name not in excluded
        for site in _of_machine(node)
        if site.node not in excluded
    )


def _of_machine(node: ClusterNode) -> Iterator[Site]:
    pool = f"{node.name}/unified" if node.unified else f"{node.name}/ram"
    whole, rate = max(node.pool_budget_bytes, 0), node.bytes_per_second
    if node.unified:
        name = f"{node.name}/gpu0" if node.cpu else node.name
        yield Site(name, node, Kind.UNIFIED, 0, pool, max(node.budget_bytes, 0), rate, None)
        number = 1
    elif not node.gpus:
        yield Site(node.name, node, Kind.HOST, 0, pool, max(node.budget_bytes, 0), rate, None)
        return
    else:
        cards = [group for group in node.gpus for _ in range(group.count)]
        for number, group in enumerate(cards):
            card = f"{node.name}/gpu{number}"
            budget = max(group.memory_bytes - group.reserve.bytes_of(group.memory_bytes), 0)
            alone = len(cards) == 1 and not node.cpu
            yield Site(
                node.name if alone else card, node, Kind.CARD, number, card, budget, group.bytes_per_second, group
            )
        number = len(cards)
    if node.cpu:
        yield Site(f"{node.name}/cpu", node, Kind.PROCESSOR, number, pool, whole, rate, None)


def host_pool_of(machine: ClusterNode) -> str:
    """Return the name of the host memory beside the cards of a machine."""
    return f"{machine.name}/ram"


def shares_memory(sites: Sequence[Site], hosts: frozenset[str]) -> frozenset[str]:
    """Return the machines whose devices draw on memories beside their own.

    They are those of `hosts`, where something may stay with the host, and those whose processor is a device.
    """
    return hosts | {site.machine.name for site in sites if site.kind is Kind.PROCESSOR}


def pools_of(
    sites: Sequence[Site], sharing: frozenset[str], hosts: frozenset[str], aside: Callable[[str], int]
) -> tuple[Pool, ...]:
    """Return the memories of machines that share some, each once, with what is set aside in each whatever is placed.

    A ceiling lowers no memory: it is the GPU's alone.
    """
    budgets: dict[str, tuple[int, str]] = {}
    for machine in {site.machine.name: site.machine for site in sites if site.machine.name in sharing}.values():
        own = [site for site in sites if site.machine.name == machine.name]
        for site in own:
            whole = site.budget_bytes if site.kind is Kind.CARD else machine.pool_budget_bytes
            budgets[site.pool] = (whole, machine.name)
        if machine.name in hosts:
            budgets[host_pool_of(machine)] = (machine.pool_budget_bytes, machine.name)
    known = ((name, max(whole, 0), machine) for name, (whole, machine) in budgets.items())
    # A memory that what is set aside would overfill has room for nothing.
    return tuple(Pool(name, whole, machine, min(aside(name), whole)) for name, whole, machine in known)


def draws_of(site: Site, hosts: frozenset[str], *, shape: int = 0) -> Draws:
    """Return what a device of a machine that shares memories draws on: cards may leave something with the host."""
    leaves = site.kind is Kind.CARD and site.machine.name in hosts
    return Draws(
        pools=(site.pool,),
        cards=(site.pool if site.kind is Kind.CARD else site.node,),
        host_pool=host_pool_of(site.machine) if leaves else None,
        host_bytes_per_second=site.machine.bytes_per_second if leaves else None,
        shape=shape,
    )
