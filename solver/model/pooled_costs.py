"""What is made small in the model of shared memories, each as an integer sum and the unit that it is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.measures import hosting_pools, largest_load
from solver.model.pooled import left, load, nodes
from solver.model.times import latency

if TYPE_CHECKING:
    from solver.model.pooled_variables import Built, Taken
    from solver.model.times import Times

__all__ = ["Cost", "cost_of", "offloaded"]

_Sum = cp_model.LinearExpr


@dataclass(frozen=True, eq=False)
class Cost:
    """A sum in units of `unit`: bytes, nodes or nanoseconds."""

    total: cp_model.LinearExprT
    unit: int


def cost_of(name: str, built: Built, taken: Taken, times: Times | None) -> Cost:
    """Return the cost of an objective that the solver minimises itself.

    Raises:
        ValueError: the objective is another, or needs times that the model does not have.
    """
    if name == "nodes":
        return Cost(nodes(built), 1)
    if name == "load":
        return Cost(_fullest(built, taken), taken.memories.unit_bytes)
    if name == "offload":
        return offloaded(built, taken)
    if name == "latency" and times is not None:
        return Cost(latency(times), 1)
    if name == "throughput" and times is not None and times.slowest is not None:
        return Cost(times.slowest, 1)
    raise ValueError(name)


def offloaded(built: Built, taken: Taken) -> Cost:
    """Return the weights of blocks in host memories: experts left there, blocks of devices that draw on one."""
    hosts = hosting_pools(built.problem)
    stages, groups = range(built.sizes.stages), built.sizes.groups
    experts = _experts(built, taken)
    whole = [
        taken.weights[k][c] for k in stages for c, group in enumerate(groups) if not hosts.isdisjoint(group.node.pools)
    ]
    return Cost(_Sum.sum([*experts, *whole]), taken.memories.unit_bytes)


def _experts(built: Built, taken: Taken) -> list[cp_model.LinearExpr]:
    """Return the experts left with hosts by stage: over all classes at once where they leave the same bytes."""
    sizes, loads = built.sizes, taken.memories.loads
    stages, classes = range(sizes.stages), range(len(sizes.groups))
    bytes_left = {
        tuple(sizes.width(c) * amount for amount in loads[c].experts) for c in classes if sizes.groups[c].can_leave
    }
    if len(bytes_left) == 1:
        return [_Sum.weighted_sum(list(built.v.all_n[k]), list(next(iter(bytes_left)))) for k in stages]
    return [left(built, taken.memories, k, c) for k in stages for c in classes]


def _fullest(built: Built, taken: Taken) -> cp_model.IntVar:
    """Declare the load of the fullest device."""
    unit = taken.memories.unit_bytes
    caps, held = taken.memories.caps, [loads.held for loads in taken.memories.loads]
    most = built.draft.integer(
        max(cap + beside for cap, beside in zip(caps, held, strict=True)),
        "fullest",
        lambda placed: largest_load(built.problem, placed.placement) // unit,
    )
    for k in range(built.sizes.stages):
        loads = [load(built, taken, k, c) for c in range(len(built.sizes.groups))]
        built.draft.model.add(_Sum.sum(loads) + _Sum.weighted_sum(list(built.v.use[k]), held) <= most)
    return most
