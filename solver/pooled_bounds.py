"""Closed-form lower bounds on costs where devices share machines and memories, or leave experts with a host.

Arithmetic on sums, valid for every placement within given limits, as in `solver.bounds`. Items are taken at the least
that they put on a device of any shape. None says that the limits leave no placement at all.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import gcd
from typing import TYPE_CHECKING

from solver.limits import cap_bytes
from solver.measures import block_ns, hop_ns, offloaded_block_ns
from solver.objectives import CONTEXT_STEP_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solver.blocks import Block
    from solver.limits import Limits, Value
    from solver.problem import Node, Problem

__all__ = ["POOLED_BOUNDS"]

# Fewer tokens than any budget holds: a bound where the least that caches grow by is nothing.
_NO_BOUND = -(2**61)


def fewest_machines(problem: Problem, limits: Limits) -> int | None:
    """Return a number of machines that no placement can do without, by what their memories can take together.

    A device takes its cap, a host memory its budget; a machine takes what both together do.
    """
    total = sum(_least_loads(problem, resident=False)) - _saved(problem)
    resident = sum(_least_loads(problem, resident=True)) - _saved(problem)
    counts = []
    for needed, hosts in ((total, True), (resident, False)):
        held = sorted(_rooms(problem, limits, hosts=hosts).values(), reverse=True)[: _most_machines(problem, limits)]
        count = next((count for count, sum_ in enumerate(accumulate(held), start=1) if sum_ >= needed), None)
        if count is None:
            return None
        counts.append(count)
    return max(counts)


def least_load(problem: Problem, limits: Limits) -> int | None:
    """Return bytes that the fullest device holds at least: an even share, or the heaviest item without experts."""
    if fewest_machines(problem, limits) is None:
        return None
    resident = _least_loads(problem, resident=True)
    share = -(-(sum(resident) - _saved(problem)) // _most_stages(problem))
    return max(share, max(resident) - _saved(problem), 0) + min(node.held_bytes for node in _usable(problem))


def least_fill(problem: Problem, limits: Limits) -> Fraction | None:
    """Return a load/budget that some device reaches at least."""
    if fewest_machines(problem, limits) is None:
        return None
    resident, usable = _least_loads(problem, resident=True), _usable(problem)
    whole = Fraction(sum(resident) - _saved(problem), sum(node.budget_bytes for node in usable))
    heaviest = max(max(resident) - _saved(problem), 0)
    return max(whole, min(Fraction(heaviest + node.held_bytes, node.budget_bytes) for node in usable))


def least_cost_of_headroom(problem: Problem, limits: Limits) -> int | None:
    """Return minus the most room that any device can have left: what holds the heaviest item, at the largest budget."""
    if fewest_machines(problem, limits) is None:
        return None
    heaviest = max(_least_loads(problem, resident=True)) - _saved(problem)
    return max(heaviest, 0) - max(node.room_bytes for node in _usable(problem))


def least_cost_of_tokens(problem: Problem, limits: Limits) -> int | None:
    """Return minus the most cache tokens for which all that grows fits into the budgets together."""
    if fewest_machines(problem, limits) is None:
        return None
    growth, empty = 0, 0
    for index in range(len(problem.items)):
        blocks = [shape[index] for shape in _shapes(problem)]
        grown = min(block.cache_bytes_per_token or 0 for block in blocks)
        if grown:
            growth += grown
            empty += min(
                block.weight_bytes + block.cache_fixed_bytes - (block.expert_bytes if _hosted(problem) else 0)
                for block in blocks
            )
    if not growth:
        return _NO_BOUND
    rooms = sum(_room(problem, node) for node in _usable(problem))
    return -max((rooms - empty + _saved(problem)) // growth, 0)


def least_cost_of_context(problem: Problem, limits: Limits) -> int | None:
    """Return minus the longest context of whole steps within the bound on tokens."""
    cost = least_cost_of_tokens(problem, limits)
    return None if cost is None else -(-cost // CONTEXT_STEP_TOKENS * CONTEXT_STEP_TOKENS)


def least_slowest_ns(problem: Problem, limits: Limits) -> int | Fraction | None:
    """Return a time that the slowest stage takes at least: the slowest block where it is quickest, or an even share."""
    if fewest_machines(problem, limits) is None:
        return None
    if problem.rules.replicas:
        from solver.flow.ceiling import least_pace_ns  # noqa: PLC0415 - other plans never need it

        return least_pace_ns(problem)
    times = _least_times(problem)
    share = sum(times, Fraction(0)) / _most_stages(problem)
    measured = [min(node.stage_ns) for node in _usable(problem) if node.stage_ns]
    single = max(min([time, *(Fraction(least) for least in measured)]) for time in _alone_ns(problem))
    return max(1, _rounded_up(share), _rounded_up(single))


def least_latency_ns(problem: Problem, limits: Limits) -> int | None:
    """Return a time that one token takes at least: every block where it is quickest, hops between fewest machines."""
    fewest = fewest_machines(problem, limits)
    if fewest is None:
        return None
    stages = sum(_least_times(problem), Fraction(0))
    ways = [("", ""), *((pair.source, pair.target) for pair in problem.links.pairs if not pair.link.forbidden)]
    hop = min(hop_ns(problem, source, target) for source, target in ways)
    return _rounded_up(stages) + (fewest - 1) * hop


def least_offload(problem: Problem, limits: Limits) -> int | None:
    """Return bytes that hosts take at least: what the caps of all devices cannot, rounded up to whole blocks' experts.

    On a device that is itself the host's, the weights of blocks count and the rest does not.
    """
    if fewest_machines(problem, limits) is None:
        return None
    usable = _usable(problem)
    hosts = {node.host_pool for node in problem.nodes}
    whole = [node for node in usable if not hosts.isdisjoint(node.pools)]
    rooms = _rooms(problem, limits, hosts=False, without={node.name for node in whole})
    held = sum(sorted(rooms.values(), reverse=True)[: _most_machines(problem, limits)])
    if whole:
        needed = sum(
            min(shape[index].weight_bytes for shape in _shapes(problem)) for index in range(len(problem.items))
        )
    else:
        needed = sum(_least_loads(problem, resident=False)) - _saved(problem)
    grain = gcd(
        *(
            amount
            for node in usable
            for block in problem.shape_of(node).blocks
            for amount in (
                block.expert_bytes * len(node.pools) if node.host_pool is not None else 0,
                block.weight_bytes if node in whole else 0,
            )
        )
    )
    excess = max(needed - held, 0)
    return -(-excess // grain) * grain if grain else excess


POOLED_BOUNDS: dict[str, Callable[[Problem, Limits], Value | None]] = {
    "nodes": fewest_machines,
    "balance": least_fill,
    "load": least_load,
    "latency": least_latency_ns,
    "throughput": least_slowest_ns,
    "headroom": least_cost_of_headroom,
    "context": least_cost_of_context,
    "tokens": least_cost_of_tokens,
    "offload": least_offload,
}


def _rounded_up(time: Fraction) -> int:
    return -(-time.numerator // time.denominator)


def _usable(problem: Problem) -> list[Node]:
    return [member for group in problem.classes for member in group.members]


def _shapes(problem: Problem) -> list[tuple[Block, ...]]:
    """Return the blocks in every shape that a usable device has."""
    numbers = {0 if node.draws is None else node.draws.shape for node in _usable(problem)}
    return [problem.blocks if number == 0 else problem.shapes[number - 1].blocks for number in sorted(numbers)]


def _room(problem: Problem, node: Node) -> int:
    """Return what items may take on a device at most, by its budget and by its memories."""
    pools = (problem.pools_by_name[name].room_bytes for name in node.pools)
    return max(min(node.budget_bytes, *pools) - node.held_bytes, 0)


def _hosted(problem: Problem) -> bool:
    return any(node.host_pool is not None for node in _usable(problem))


def _saved(problem: Problem) -> int:
    """Return the most that one stage of everything saves."""
    return max((problem.shape_of(node).ends.tied_bytes for node in _usable(problem)), default=0)


def _least_loads(problem: Problem, *, resident: bool) -> list[int]:
    """Return the least that each item puts on a device and its host, or on the device alone (`resident`)."""
    least: list[int] = []
    nodes = {(node.draws.shape if node.draws else 0, node.host_pool is not None): node for node in _usable(problem)}
    for index in range(len(problem.items)):
        loads = []
        for (number, hosted), node in nodes.items():
            item, block = problem.items_of_shapes[number][index], problem.shape_of(node).blocks[index]
            load = item.weight_bytes + item.cache_bytes + (0 if hosted else item.other_bytes)
            loads.append(load - (block.expert_bytes if resident and hosted else 0))
        least.append(min(loads, default=0))
    return least


def _rooms(
    problem: Problem, limits: Limits, *, hosts: bool, without: set[str] | frozenset[str] = frozenset()
) -> dict[tuple[bool, str], int]:
    """Return what the devices of each machine can take at most, with `hosts` beside what hosts take for them.

    Of devices that occupy one card one counts; devices that draw on one memory take its budget together.
    """
    devices: dict[tuple[bool, str], dict[str, dict[str, int]]] = {}
    host_rooms: dict[tuple[bool, str], dict[str, int]] = {}
    for node in _usable(problem):
        machine = (node.machine is None, node.machine or node.name)
        cap = min(
            cap_bytes(limits, node.budget_bytes, node.held_bytes),
            *(problem.pools_by_name[name].room_bytes - node.held_bytes for name in node.pools),
        )
        pools = devices.setdefault(machine, {})
        if cap >= 0 and node.name not in without:
            cards = pools.setdefault(node.pools[0], {})
            card = min(node.cards, default=node.name)
            cards[card] = max(cards.get(card, 0), cap)
        if hosts and node.host_pool is not None:
            room = problem.pools_by_name[node.host_pool].room_bytes
            host_rooms.setdefault(machine, {})[node.host_pool] = max(room, 0)
    return {
        machine: sum(min(sum(cards.values()), problem.pools_by_name[pool].room_bytes) for pool, cards in pools.items())
        + sum(host_rooms.get(machine, {}).values())
        for machine, pools in devices.items()
        if pools
    }


def _most_machines(problem: Problem, limits: Limits) -> int:
    counts = [count for count in (limits.max_nodes, problem.rules.max_nodes) if count is not None]
    return max(min([len(problem.items), *counts]), 0)


def _most_stages(problem: Problem) -> int:
    return max(min(len(_usable(problem)), len(problem.items)), 1)


def _least_times(problem: Problem) -> list[Fraction]:
    """Return the least that each block adds to the time of any stage."""
    measured = [
        Fraction(time, count) for node in _usable(problem) for count, time in enumerate(node.stage_ns or (), start=1)
    ]
    return [min([*measured, time]) for time in _alone_ns(problem)] if measured else _alone_ns(problem)


def _alone_ns(problem: Problem) -> list[Fraction]:
    """Return the least time of each block on devices with a rate; without such a device a time beyond all others."""
    kinds = {}
    for node in _usable(problem):
        if node.stage_ns is None and node.bytes_per_second is not None:
            draws = node.draws
            kinds[node.bytes_per_second, draws and (draws.shape, draws.host_bytes_per_second)] = node
    return [
        Fraction(min((time for node in kinds.values() for time in _block_times(problem, node, index)), default=2**60))
        for index in range(len(problem.items))
    ]


def _block_times(problem: Problem, node: Node, index: int) -> Sequence[int]:
    block = problem.shape_of(node).blocks[index]
    near = block_ns(block.active_bytes, node.bytes_per_second or 1)
    if node.draws is None or node.draws.host_bytes_per_second is None or not block.expert_bytes:
        return (near,)
    return near, offloaded_block_ns(block, node)
