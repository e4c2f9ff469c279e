"""What a plan's own cut holds beside its stages: emulated, and set aside where that is more than the problem has.

A problem is made before there is a cut, with upper ends over some cuts. Those of the cut that was found may be higher:
its problem then has more set aside, and is to be solved again. What is set aside only grows, so that this ends.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from solver.engines.seating import host_pool_of
from solver.measures import pool_loads

if TYPE_CHECKING:
    from solver.cluster import ClusterNode
    from solver.engines.llamacpp.export import Emulated
    from solver.engines.llamacpp.facts import DeviceBytes
    from solver.problem import Placement, Problem

__all__ = ["beside_of", "with_more_held"]


def with_more_held(problem: Problem, placement: Placement, emulated: Emulated) -> Problem | None:
    """Return the problem with as much set aside as the cut holds; None where it has that already.

    Devices of which as much was set aside as of one that needs more are raised with it, so that equal ones stay equal.
    """
    loads = pool_loads(problem, placement)
    nodes, pools = list(problem.nodes), list(problem.pools)
    shared = {pool.name for pool in pools if _is_shared(problem, pool.name)}
    for pool, size in _beside_caches(problem, emulated).items():
        load = loads.get(pool)
        more = size - (0 if load is None else load.load_bytes - load.cache_bytes)
        if more <= 0:
            continue
        if pool in shared:
            pools = [
                replace(one, held_bytes=min(one.held_bytes + more, one.budget_bytes)) if one.name == pool else one
                for one in pools
            ]
            continue
        known = {node.held_bytes for node in problem.nodes if pool in node.pools}
        nodes = [
            replace(node, held_bytes=max(node.held_bytes, old.held_bytes + more)) if old.held_bytes in known else node
            for node, old in zip(nodes, problem.nodes, strict=True)
        ]
    raised = replace(problem, nodes=tuple(nodes), pools=tuple(pools))
    return None if raised == problem else raised


def beside_of(row: DeviceBytes, driver_bytes: int) -> int:
    """Return the most that a device takes beside its caches."""
    high = 0 if row.compute_bytes is None else row.compute_bytes[1]
    return row.model_bytes + row.output_bytes + high + driver_bytes


def _beside_caches(problem: Problem, emulated: Emulated) -> dict[str, int]:
    """Return what every memory of the problem takes beside caches, under the problem's name for it."""
    found: dict[str, int] = {}
    for row, seat in emulated.rows:
        if seat is None:
            pool = _pool_of_host(problem, emulated.head)
        elif seat.node in problem.nodes_by_name:
            pool = problem.nodes_by_name[seat.node].pools[0]
        else:
            # A processor that is served for its memory alone, and that no rule lets blocks go to.
            pool = seat.site.pool if seat.site.pool in problem.pools_by_name else None
        if pool is not None:
            driver_bytes = 0 if seat is None else seat.backend.context_bytes[1]
            found[pool] = found.get(pool, 0) + beside_of(row, driver_bytes)
    return found


def _pool_of_host(problem: Problem, head: ClusterNode) -> str | None:
    """Return the memory of the head's host; None where no device of the problem draws on it or leaves anything."""
    name = f"{head.name}/unified" if head.unified else host_pool_of(head)
    if name in problem.pools_by_name:
        return name
    own = problem.nodes_by_name.get(head.name)
    return head.name if own is not None and own.draws is None and (head.unified or not head.gpus) else None


def _is_shared(problem: Problem, pool: str) -> bool:
    """Return whether more than one device has something in a memory, so that no one of them answers for it."""
    return sum(pool in node.pools for node in problem.nodes) != 1 or any(pool == n.host_pool for n in problem.nodes)
