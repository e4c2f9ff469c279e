"""The memories of a plan: where devices are, and what every memory holds, used or not.

What a placement puts where is recomputed by `solver.measures`; usable bytes and reserves are the cluster's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.measures import pool_loads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.cluster import ClusterNode
    from solver.problem import Node, Placement, Problem

__all__ = ["Parts", "Place", "PoolLoad", "machine_budgets", "place_of", "pools_of"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node of a problem is: its machine, what it is called there, and the memory of its loads."""

    machine: str
    device: str
    pool: str


@dataclass(frozen=True, slots=True)
class Parts:
    """The bytes of a pool by what they are."""

    weights: int
    cache: int
    other: int
    offload: int


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """One memory.

    Usable = reserve + budget, except under a ceiling. Usable and reserve are None for an abstract problem.
    """

    pool: str
    node: str
    usable_bytes: int | None
    reserve_bytes: int | None
    budget_bytes: int
    parts: Parts

    @property
    def load_bytes(self) -> int:
        """Return the bytes of all kinds together."""
        return self.parts.weights + self.parts.cache + self.parts.other + self.parts.offload


def place_of(node: Node, cluster_nodes: dict[str, ClusterNode] | None) -> Place:
    """Return where a node is: itself for an abstract problem, else a device of a machine of the cluster.

    A device of several of its machine is called MACHINE/gpuN or MACHINE/cpu; one that is its machine's only one, like
    its memory. A group is in the memory of its first card.

    Raises:
        KeyError: the cluster has no such machine, or the machine no such memory.
    """
    machine = node.machine or node.name
    if cluster_nodes is None:
        return Place(machine, node.name, node.pools[0])
    pools = node.pools if node.draws is not None else (_own_pool(node, cluster_nodes[machine]),)
    for pool in (*pools, *(() if node.host_pool is None else (node.host_pool,))):
        _usable(pool, cluster_nodes[machine])
    return Place(machine, pools[0] if node.machine is None or node.draws is None else node.name, pools[0])


def _own_pool(node: Node, machine: ClusterNode) -> str:
    """Return the memory of a node that draws on no other."""
    if machine.unified or not machine.gpus:
        return f"{machine.name}/unified" if machine.unified else f"{machine.name}/ram"
    return f"{machine.name}/gpu0" if node.machine is None else node.name


def _usable(pool: str, machine: ClusterNode) -> tuple[int, int]:
    """Return the bytes of a memory of a machine, and those of them in reserve."""
    hosts = [f"{machine.name}/unified"] if machine.unified else [f"{machine.name}/ram"]
    cards = [group for group in machine.gpus for _ in range(group.count)] if not machine.unified else []
    by_name = {f"{machine.name}/gpu{number}": group for number, group in enumerate(cards)}
    if pool in hosts:
        return machine.memory_bytes, machine.reserve_bytes
    card = by_name[pool]
    return card.memory_bytes, card.reserve.bytes_of(card.memory_bytes)


def pools_of(
    problem: Problem, placement: Placement, cluster_nodes: dict[str, ClusterNode] | None
) -> tuple[PoolLoad, ...]:
    """Return every memory of every node, used or not, in the order listed; what devices share stands once."""
    held = pool_loads(problem, placement)
    found = []
    for inner, shown, machine, budget_bytes in _listed(problem, cluster_nodes):
        usable, reserve = (None, None) if cluster_nodes is None else _usable(shown, cluster_nodes[machine])
        load = held.get(inner)
        found.append(
            PoolLoad(
                pool=shown,
                node=machine,
                usable_bytes=usable,
                reserve_bytes=reserve,
                budget_bytes=budget_bytes,
                parts=Parts(
                    weights=0 if load is None else load.weight_bytes,
                    cache=0 if load is None else load.cache_bytes,
                    other=0 if load is None else load.other_bytes,
                    offload=0 if load is None else load.offload_bytes,
                ),
            )
        )
    return tuple(found)


def _listed(problem: Problem, cluster_nodes: dict[str, ClusterNode] | None) -> Iterator[tuple[str, str, str, int]]:
    """Yield the name that the problem has for a memory, the plan's name for it, its machine and its budget."""
    seen: set[str] = set()
    for node in problem.nodes:
        machine = node.machine or node.name
        if node.draws is None:
            yield node.name, place_of(node, cluster_nodes).pool, machine, node.budget_bytes
            continue
        names = {*node.pools, node.host_pool}
        for pool in problem.pools:
            if pool.name not in seen and (pool.name in names or pool.machine == machine):
                seen.add(pool.name)
                yield pool.name, pool.name, pool.machine, pool.budget_bytes


def machine_budgets(problem: Problem) -> dict[str, int]:
    """Return what every machine could hold of a model at most, each memory once; hosts where weights may stay there."""
    budgets: dict[str, int] = {}
    caps: dict[str, int] = {}
    hosts = {node.host_pool for node in problem.nodes} if problem.may_offload else set()
    for node in problem.nodes:
        machine = node.machine or node.name
        budgets.setdefault(machine, 0)
        if node.draws is None:
            budgets[machine] += max(node.room_bytes, 0)
        for name in node.pools if node.draws is not None else ():
            caps[name] = caps.get(name, 0) + max(node.room_bytes, 0)
    for pool in problem.pools:
        room = max(pool.room_bytes, 0)
        most = room if pool.name in hosts else min(room, caps.get(pool.name, 0))
        budgets[pool.machine] = budgets.get(pool.machine, 0) + most
    return budgets
