"""What is made small in the model of shared memories, each as an integer sum and the unit that it is in."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.measures import hosting_pools, largest_load
from solver.model.pooled import load

if TYPE_CHECKING:
    from solver.model.pooled import Built
    from solver.model.pooled_times import Times

__all__ = ["Cost", "cost_of", "offloaded"]

_Sum = cp_model.LinearExpr


@dataclass(frozen=True, eq=False)
class Cost:
    """A sum in units of `unit`: bytes, nodes or nanoseconds."""

    total: cp_model.LinearExprT
    unit: int


def cost_of(name: str, built: Built, times: Times | None) -> Cost:
    """Return the cost of an objective that the solver minimises itself.

    Raises:
        ValueError: the objective is another, or needs times that the model does not have.
    """
    if name == "nodes":
        return Cost(_Sum.sum(list(built.v.on)), 1)
    if name == "load":
        return Cost(_fullest(built), built.sizes.memory.unit_bytes)
    if name == "offload":
        return offloaded(built)
    if name == "latency" and times is not None:
        return Cost(times.latency, 1)
    if name == "throughput" and times is not None and times.slowest is not None:
        return Cost(times.slowest, 1)
    raise ValueError(name)


def offloaded(built: Built) -> Cost:
    """Return the weights of blocks in host memories: experts left there, and blocks of devices that draw on one."""
    hosts = hosting_pools(built.problem)
    terms: list[cp_model.IntVar] = []
    weights: list[int] = []
    for d, device in enumerate(built.sizes.devices):
        blocks = built.problem.shape_of(device.node).blocks
        for q, amount in built.v.n[d].items():
            terms.append(amount)
            weights.append(blocks[built.sizes.kinds[q][0]].expert_bytes * len(device.node.pools))
        if not hosts.isdisjoint(device.node.pools):
            terms += built.v.x[d]
            weights += [block.weight_bytes for block in blocks]
    unit = gcd(*weights) or 1
    return Cost(_Sum.weighted_sum(terms, [weight // unit for weight in weights]), unit)


def _fullest(built: Built) -> cp_model.IntVar:
    """Declare the load of the fullest device."""
    memory, draft = built.sizes.memory, built.draft
    most = draft.integer(
        max(memory.caps),
        "fullest",
        lambda placed: largest_load(built.problem, placed.placement) // memory.unit_bytes,
    )
    for d in range(len(built.sizes.devices)):
        draft.model.add(load(built.v, memory, d) <= most)
    return most
