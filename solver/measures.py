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
    from solver.problem import Block, Node, Placement, Problem, Stage

__all__ = [
    "PoolLoad",
    "StageLoad",
    "block_ns",
    "cache_tokens",
    "hop_ns",
    "hosting_pools",
    "imbalance",
    "largest_fill",
    "largest_load",
    "latency_ns",
    "least_headroom",
    "nodes_used",
    "offload_bytes",
    "offloaded_block_ns",
    "offloaded_expert_bytes",
    "pool_loads",
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
    """Return the load of a stage on its device: its items, what is shared counted once where it holds all of them.

    What the device holds beside any stage counts as other.

    What stays with the host (experts left there, and what the first stage keeps on its host) is no load of a device
    that has a host pool.
    """
    node = problem.nodes_by_name[stage.node]
    shape = problem.shape_of(node)
    items = problem.items_of_shapes[0 if node.draws is None else node.draws.shape][stage.start : stage.end]
    whole = len(items) == len(problem.items)
    return StageLoad(
        weight_bytes=sum(item.weight_bytes for item in items)
        - (shape.ends.tied_bytes if whole else 0)
        - sum(shape.blocks[index].expert_bytes for index in stage.offloaded),
        cache_bytes=sum(item.cache_bytes for item in items),
        other_bytes=node.held_bytes + (0 if node.host_pool is not None else sum(item.other_bytes for item in items)),
        budget_bytes=node.budget_bytes,
    )


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """What a placement puts into one pool, by what it is. `offload_bytes` are experts left with the host."""

    weight_bytes: int
    cache_bytes: int
    other_bytes: int
    offload_bytes: int

    @property
    def load_bytes(self) -> int:
        """Return the bytes of all kinds together."""
        return self.weight_bytes + self.cache_bytes + self.other_bytes + self.offload_bytes


def pool_loads(problem: Problem, placement: Placement) -> dict[str, PoolLoad]:
    """Return the load of every pool that the placement touches or that holds something anyway, under its name."""
    loads = {pool.name: [0, 0, pool.held_bytes, 0] for pool in problem.pools if pool.held_bytes}
    for stage in placement.stages:
        node = problem.nodes_by_name[stage.node]
        load = stage_load(problem, stage)
        for pool in node.pools:
            _add(loads, pool, (load.weight_bytes, load.cache_bytes, load.other_bytes, 0))
        if node.host_pool is not None:
            kept = problem.shape_of(node).ends.host_bytes if stage.start == 0 else 0
            _add(loads, node.host_pool, (0, 0, kept, offloaded_expert_bytes(problem, stage)))
    return {pool: PoolLoad(*parts) for pool, parts in loads.items()}


def _add(loads: dict[str, list[int]], pool: str, parts: tuple[int, int, int, int]) -> None:
    held = loads.setdefault(pool, [0, 0, 0, 0])
    for number, amount in enumerate(parts):
        held[number] += amount


def offloaded_expert_bytes(problem: Problem, stage: Stage) -> int:
    """Return the bytes of experts that a stage leaves in its host pool: those of every rank of a group."""
    node = problem.nodes_by_name[stage.node]
    blocks = problem.shape_of(node).blocks
    return sum(blocks[index].expert_bytes for index in stage.offloaded) * len(node.pools)


def hosting_pools(problem: Problem) -> frozenset[str]:
    """Return the memories that some device may leave experts in."""
    return frozenset(node.host_pool for node in problem.nodes if node.host_pool is not None)


def offload_bytes(problem: Problem, placement: Placement) -> int:
    """Return the weights of blocks in host pools that devices leave experts in: those experts, and whole blocks there.

    Whole blocks are those of a stage on a device that draws on such a pool itself, a processor beside cards.
    """
    hosts = hosting_pools(problem)
    total = 0
    for stage in placement.stages:
        total += offloaded_expert_bytes(problem, stage)
        node = problem.nodes_by_name[stage.node]
        if not hosts.isdisjoint(node.pools):
            total += sum(block.weight_bytes for block in problem.shape_of(node).blocks[stage.start : stage.end])
    return total


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

    A stage whose cache does not grow sets no limit; some stage must have one that grows. Where stages share a pool, all
    of them together must find room in it.
    """
    rooms = []
    shared: dict[str, tuple[int, int]] = {}
    for stage, load in zip(placement.stages, _loads(problem, placement), strict=True):
        node = problem.nodes_by_name[stage.node]
        blocks = problem.shape_of(node).blocks[stage.start : stage.end]
        growth = sum(block.cache_bytes_per_token or 0 for block in blocks)
        fixed = sum(block.cache_fixed_bytes for block in blocks)
        if growth:
            rooms.append((load.budget_bytes - load.weight_bytes - load.other_bytes - fixed) // growth)
        for pool in node.pools if problem.pools else ():
            other_growth, other_excess = shared.get(pool, (0, 0))
            shared[pool] = (other_growth + growth, other_excess + fixed - load.cache_bytes)
    loads = pool_loads(problem, placement) if shared else {}
    for pool, (growth, excess) in shared.items():
        if growth:
            rooms.append((problem.pools_by_name[pool].budget_bytes - loads[pool].load_bytes - excess) // growth)
    return max(min(rooms), 0)


def block_ns(active_bytes: int, bytes_per_second: int) -> int:
    """Return the time to read the bytes that a block needs for one token, rounded up to a nanosecond."""
    return -(-active_bytes * _NS // bytes_per_second)


def stage_ns(problem: Problem, stage: Stage) -> int:
    """Return the time of one token in a stage: as measured for so many blocks, else the sum over its blocks.

    Experts that stay with the host are read at the host's rate, after what the device reads.

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
    blocks = problem.shape_of(node).blocks
    away = set(stage.offloaded)
    near = sum(
        block_ns(blocks[index].active_bytes, rate) for index in range(stage.start, stage.end) if index not in away
    )
    return near + sum(offloaded_block_ns(blocks[index], node) for index in stage.offloaded)


def offloaded_block_ns(block: Block, node: Node) -> int:
    """Return the time of a block whose experts stay with the host of its device.

    Raises:
        InputError: the device's rate or that of its host memory is not known.
    """
    host_rate = None if node.draws is None else node.draws.host_bytes_per_second
    if node.bytes_per_second is None or host_rate is None:
        raise InputError(
            f"node {node.name}", "the rate of its host memory is not known; expected one, to price experts. Give it."
        )
    near = block_ns(block.active_bytes - block.expert_active_bytes, node.bytes_per_second)
    return near + block_ns(block.expert_active_bytes, host_rate)


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
