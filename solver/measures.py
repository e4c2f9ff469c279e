"""What a placement amounts to: the loads of its stages and the figures that objectives are about.

Every number that a person sees is computed here, from the problem and the names in a placement alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from solver.errors import InputError

if TYPE_CHECKING:
    from solver.problem import Placement, Problem, Stage

__all__ = [
    "StageLoad",
    "block_ns",
    "cache_tokens",
    "hop_ns",
    "imbalance",
    "largest_fill",
    "largest_load",
    "latency_ns",
    "least_headroom",
    "nodes_used",
    "slowest_ns",
    "stage_load",
    "stage_ns",
    "transfer_ns",
    "weighted_imbalance",
]

_NS = 10**9


@dataclass(frozen=True, slots=True)
class StageLoad:
    """What one stage puts on its node, and what the node allows."""

    weight_bytes: int
    cache_bytes: int
    other_bytes: int
    budget_bytes: int

    @property
    def load_bytes(self) -> int:
        """Return the bytes of all kinds together."""
        return self.weight_bytes + self.cache_bytes + self.other_bytes


def stage_load(problem: Problem, stage: Stage) -> StageLoad:
    """Return the load of a stage: its items, what is shared counted once where the stage holds all of them."""
    items = problem.items[stage.start : stage.end]
    whole = len(items) == len(problem.items)
    return StageLoad(
        weight_bytes=sum(item.weight_bytes for item in items) - (problem.shared_bytes if whole else 0),
        cache_bytes=sum(item.cache_bytes for item in items),
        other_bytes=sum(item.other_bytes for item in items),
        budget_bytes=problem.nodes_by_name[stage.node].budget_bytes,
    )


def nodes_used(problem: Problem, placement: Placement) -> int:
    """Return how many nodes hold a stage; devices of one machine are one node."""
    used = (problem.nodes_by_name[stage.node] for stage in placement.stages)
    return len({(node.machine is None, node.machine or node.name) for node in used})


def largest_load(problem: Problem, placement: Placement) -> int:
    """Return the load of the fullest stage in bytes."""
    return max(load.load_bytes for load in _loads(problem, placement))


def largest_fill(problem: Problem, placement: Placement) -> Fraction:
    """Return the largest load/budget."""
    return max(Fraction(load.load_bytes, load.budget_bytes) for load in _loads(problem, placement))


def imbalance(problem: Problem, placement: Placement) -> Fraction:
    """Return the largest load over the share, Σ loads / nodes used; 1 where nothing is loaded."""
    loads = [load.load_bytes for load in _loads(problem, placement)]
    return Fraction(max(loads) * len(loads), sum(loads)) if sum(loads) else Fraction(1)


def weighted_imbalance(problem: Problem, placement: Placement) -> Fraction:
    """Return the largest load/budget over Σ loads / Σ budgets of the nodes used; 1 where nothing is loaded."""
    loads = _loads(problem, placement)
    total = sum(load.load_bytes for load in loads)
    budget = sum(load.budget_bytes for load in loads)
    return largest_fill(problem, placement) * Fraction(budget, total) if total else Fraction(1)


def least_headroom(problem: Problem, placement: Placement) -> int:
    """Return the least budget - load of a stage in bytes."""
    return min(load.budget_bytes - load.load_bytes for load in _loads(problem, placement))


def cache_tokens(problem: Problem, placement: Placement) -> int:
    """Return the cache tokens that the weakest stage has room for, weights and fixed cache taken off; not below 0.

    A stage whose cache does not grow sets no limit; some stage must have one that grows.
    """
    rooms = []
    for stage, load in zip(placement.stages, _loads(problem, placement), strict=True):
        blocks = problem.blocks[stage.start : stage.end]
        growth = sum(block.cache_bytes_per_token or 0 for block in blocks)
        fixed = sum(block.cache_fixed_bytes for block in blocks)
        if growth:
            rooms.append((load.budget_bytes - load.weight_bytes - load.other_bytes - fixed) // growth)
    return max(min(rooms), 0)


def block_ns(active_bytes: int, bytes_per_second: int) -> int:
    """Return the time to read the bytes that a block needs for one token, rounded up to a nanosecond."""
    return -(-active_bytes * _NS // bytes_per_second)


def stage_ns(problem: Problem, stage: Stage) -> int:
    """Return the time of one token in a stage: as measured for so many blocks, else the sum over its blocks.

    Raises:
        InputError: the node has neither a bandwidth nor measured times for so many blocks.
    """
    node = problem.nodes_by_name[stage.node]
    count = stage.end - stage.start
    if node.stage_ns is not None and count <= len(node.stage_ns):
        return node.stage_ns[count - 1]
    if node.bytes_per_second is None or node.stage_ns is not None:
        raise InputError(f"node {node.name}", f"no time of a stage of {count} blocks is known; expected one. Give it.")
    rate = node.bytes_per_second
    return sum(block_ns(block.active_bytes, rate) for block in problem.blocks[stage.start : stage.end])


def transfer_ns(problem: Problem, source: str, target: str) -> int:
    """Return the time that the activations of one token take on a link, without its latency.

    0 where no rate is known.
    """
    rate = problem.link(source, target).bytes_per_second
    return 0 if rate is None else block_ns(problem.activation_bytes, rate)


def hop_ns(problem: Problem, source: str, target: str) -> int:
    """Return the time of a hop for one token: the link's latency and the transfer."""
    return problem.link(source, target).latency_ns + transfer_ns(problem, source, target)


def latency_ns(problem: Problem, placement: Placement) -> int:
    """Return the time of one token through all stages and hops."""
    hops = sum(hop_ns(problem, stage.node, following.node) for stage, following in pairwise(placement.stages))
    return sum(stage_ns(problem, stage) for stage in placement.stages) + hops


def slowest_ns(problem: Problem, placement: Placement) -> int:
    """Return the time of the slowest stage or transfer, at least 1: where tokens queue when many are under way."""
    stages = [stage_ns(problem, stage) for stage in placement.stages]
    hops = [transfer_ns(problem, stage.node, following.node) for stage, following in pairwise(placement.stages)]
    return max(1, *stages, *hops)


def _loads(problem: Problem, placement: Placement) -> tuple[StageLoad, ...]:
    return tuple(stage_load(problem, stage) for stage in placement.stages)
