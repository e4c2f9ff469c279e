"""Closed-form lower bounds on costs: arithmetic on sums and sizes, valid for every placement within given limits.

They treat the items as divisible, so they can be below what is possible and never above it. A cost is what an
objective makes small; None says that the limits leave no placement at all.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from solver.limits import cap_bytes, most_nodes, token_prefix
from solver.measures import block_ns
from solver.objectives import CONTEXT_STEP_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solver.limits import Limits, Value
    from solver.problem import Node, Problem

__all__ = ["BOUNDS", "fewest_nodes", "largest_item_bytes"]

_NS = 10**9


def largest_item_bytes(problem: Problem) -> int:
    """Return the load of the heaviest item."""
    return max(item.load_bytes for item in problem.items)


def fewest_nodes(problem: Problem, limits: Limits) -> int | None:
    """Return a number of nodes that no placement can do without, or None if the limits leave no placement at all.

    One node needs to hold everything with what is shared counted once; m of them need the m largest caps to hold the
    plain sum.
    """
    caps = _caps(problem, limits)
    if not caps:
        return None
    if caps[0] >= problem.total_bytes:
        return 1
    if largest_item_bytes(problem) > caps[0]:
        return None
    for count, held in enumerate(accumulate(caps), start=1):
        if held >= problem.prefix_bytes[-1]:
            return count
    return None


def least_load(problem: Problem, limits: Limits) -> int | None:
    """Return bytes that the fullest node holds at least: the share that would fill the largest nodes evenly."""
    if fewest_nodes(problem, limits) is None:
        return None
    nodes, least_held = _members(problem), _least_held(problem)
    caps = [(cap, node.held_bytes) for node in nodes if (cap := _cap(limits, node)) >= 0]
    level = _water_level(caps, problem.prefix_bytes[-1], most_nodes(problem, limits))
    apart = max(level, largest_item_bytes(problem) + least_held)
    whole = [problem.total_bytes + held for cap, held in caps if cap >= problem.total_bytes]
    return min([apart, *whole])


def least_fill(problem: Problem, limits: Limits) -> Fraction | None:
    """Return a load/budget that some node reaches at least: all bytes over all budgets, or the heaviest item's."""
    if fewest_nodes(problem, limits) is None:
        return None
    nodes, total = _members(problem), problem.prefix_bytes[-1]
    budgets = accumulate(sorted((node.budget_bytes for node in nodes), reverse=True)[: most_nodes(problem, limits)])
    held = accumulate(sorted(node.held_bytes for node in nodes))
    # Of so many nodes, none have more budgets together nor less beside their stages.
    share = min(Fraction(total + beside, budget) for budget, beside in zip(budgets, held, strict=False))
    apart = max(share, _least_fill_of(nodes, largest_item_bytes(problem)))
    return min(apart, _least_fill_of(nodes, problem.total_bytes))


def least_cost_of_headroom(problem: Problem, limits: Limits) -> int | None:
    """Return minus the most room that the fullest node can have left: the budgets' surplus shared out evenly."""
    if fewest_nodes(problem, limits) is None:
        return None
    budgets = _rooms(problem, limits)
    alone = budgets[0] - problem.total_bytes
    apart = max(
        ((held - problem.prefix_bytes[-1]) // count for count, held in enumerate(accumulate(budgets), start=1)),
        default=alone,
    )
    return -max(alone, min(apart, budgets[0] - largest_item_bytes(problem)))


def least_cost_of_tokens(problem: Problem, limits: Limits) -> int | None:
    """Return minus the most cache tokens for which everything fits into the largest budgets, blocks divided at will."""
    if fewest_nodes(problem, limits) is None:
        return None
    held = sum(_rooms(problem, limits))
    empty, one = token_prefix(problem, 0)[-1], token_prefix(problem, 1)[-1]
    return -max((held - empty + problem.shared_bytes) // (one - empty), 0)


def least_cost_of_context(problem: Problem, limits: Limits) -> int | None:
    """Return minus the longest context of whole steps within the bound on tokens."""
    cost = least_cost_of_tokens(problem, limits)
    return None if cost is None else -(-cost // CONTEXT_STEP_TOKENS * CONTEXT_STEP_TOKENS)


def least_slowest_ns(problem: Problem, limits: Limits) -> Value | None:
    """Return a time that the slowest stage takes at least, by what each node could hold within a time.

    Within a time a node with a bandwidth reads so many bytes, one with measured times holds so many blocks (each block
    counted with the fewest bytes); together the nodes must reach all blocks and all bytes.
    """
    if fewest_nodes(problem, limits) is None:
        return None
    if problem.rules.replicas:
        from solver.flow.ceiling import least_pace_ns  # noqa: PLC0415 - other plans never need it

        return least_pace_ns(problem)
    nodes = [member for group in problem.classes for member in group.members]
    active = sorted(block.active_bytes for block in problem.blocks)
    quickest = max(min(_one_block_ns(node, size) for node in nodes) for size in (active[0], active[-1]))
    low, high = max(quickest, 1), 2**60
    while low < high:
        middle = (low + high) // 2
        if _within(nodes, active, middle):
            high = middle
        else:
            low = middle + 1
    return low


def least_latency_ns(problem: Problem, limits: Limits) -> int | None:
    """Return a time that one token takes at least.

    Every block where it is quickest, and the hops between the fewest nodes.
    """
    fewest = fewest_nodes(problem, limits)
    if fewest is None:
        return None
    nodes = [group.members[0] for group in problem.classes]
    best = max((node.bytes_per_second or 0 for node in nodes if node.stage_ns is None), default=0)
    measured = min(
        (Fraction(time, count) for node in nodes for count, time in enumerate(node.stage_ns or (), start=1)),
        default=None,
    )
    stages = Fraction(0)
    for block in problem.blocks:
        times = [Fraction(block_ns(block.active_bytes, best))] if best else []
        stages += min([*times, *([measured] if measured is not None else [])])
    return -(-stages.numerator // stages.denominator) + (fewest - 1) * _cheapest_hop_ns(problem)


def nothing_left(problem: Problem, limits: Limits) -> int | None:
    """Return 0: nodes of one memory leave nothing with a host."""
    return None if fewest_nodes(problem, limits) is None else 0


BOUNDS: dict[str, Callable[[Problem, Limits], Value | None]] = {
    "nodes": fewest_nodes,
    "balance": least_fill,
    "load": least_load,
    "latency": least_latency_ns,
    "throughput": least_slowest_ns,
    "headroom": least_cost_of_headroom,
    "context": least_cost_of_context,
    "tokens": least_cost_of_tokens,
    "offload": nothing_left,
}


def _caps(problem: Problem, limits: Limits) -> list[int]:
    """Return the largest loads of the nodes that may be used, largest first."""
    caps = [_cap(limits, member) for member in _members(problem)]
    return sorted((cap for cap in caps if cap >= 0), reverse=True)[: most_nodes(problem, limits)]


def _cap(limits: Limits, node: Node) -> int:
    return cap_bytes(limits, node.budget_bytes, node.held_bytes)


def _members(problem: Problem) -> list[Node]:
    return [member for group in problem.classes for member in group.members]


def _rooms(problem: Problem, limits: Limits) -> list[int]:
    rooms = [member.room_bytes for member in _members(problem)]
    return sorted(rooms, reverse=True)[: most_nodes(problem, limits)]


def _least_held(problem: Problem) -> int:
    return min(member.held_bytes for member in _members(problem))


def _least_fill_of(nodes: Sequence[Node], size_bytes: int) -> Fraction:
    """Return the least load/budget of a node that holds so many bytes."""
    return min(Fraction(size_bytes + node.held_bytes, node.budget_bytes) for node in nodes)


def _water_level(caps: list[tuple[int, int]], total: int, nodes: int) -> int:
    """Return the least T for which so many nodes, filled up to T, hold the total.

    `caps` are pairs of what a node may take of the total and what it holds beside; the largest T where none is enough.
    """

    def holds(level: int) -> bool:
        most = sorted((min(cap, max(level - held, 0)) for cap, held in caps), reverse=True)
        return sum(most[:nodes]) >= total

    low, high = 0, max(cap + held for cap, held in caps)
    if not holds(high):
        return high
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _one_block_ns(node: Node, active_bytes: int) -> int:
    """Return the least time of a stage that holds a block: a measured time need not rise with the blocks."""
    if node.stage_ns is not None:
        return min(node.stage_ns, default=2**60)
    return block_ns(active_bytes, node.bytes_per_second or 1)


def _within(nodes: Sequence[Node], active: Sequence[int], time_ns: int) -> bool:
    """Return whether the nodes together could hold all blocks, each stage within a time."""
    sums = [0, *accumulate(active)]
    blocks, rest = 0, 0
    for node in nodes:
        if node.stage_ns is not None:
            held = max((count for count, time in enumerate(node.stage_ns, start=1) if time <= time_ns), default=0)
            blocks += held
        else:
            rest += (node.bytes_per_second or 0) * time_ns
    return sums[max(len(active) - blocks, 0)] * _NS <= rest


def _cheapest_hop_ns(problem: Problem) -> int:
    links = [problem.links.default, *(pair.link for pair in problem.links.pairs if not pair.link.forbidden)]
    return min(
        link.latency_ns
        + (0 if link.bytes_per_second is None else block_ns(problem.activation_bytes, link.bytes_per_second))
        for link in links
    )
