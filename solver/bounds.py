"""Closed-form lower bounds: arithmetic on sums and sizes, valid for every placement within given limits.

They treat the items as divisible, so they can be below what is possible and never above it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from solver.objectives import cap_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.objectives import Limits, Value
    from solver.problem import Problem

__all__ = ["BOUNDS", "fewest_nodes", "largest_item_bytes"]


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
    caps = _caps(problem, limits)
    if fewest_nodes(problem, limits) is None:
        return None
    apart = max(_water_level(caps, problem.prefix_bytes[-1]), largest_item_bytes(problem))
    return min(apart, problem.total_bytes) if caps[0] >= problem.total_bytes else apart


def least_fill(problem: Problem, limits: Limits) -> Fraction | None:
    """Return a load/budget that some node reaches at least: all bytes over all budgets, or the heaviest item's."""
    if fewest_nodes(problem, limits) is None:
        return None
    budgets = _largest(problem, limits, [member.budget_bytes for group in problem.classes for member in group.members])
    apart = max(
        Fraction(problem.prefix_bytes[-1], sum(budgets)),
        Fraction(largest_item_bytes(problem), budgets[0]),
    )
    return min(apart, Fraction(problem.total_bytes, budgets[0]))


BOUNDS: dict[str, Callable[[Problem, Limits], Value | None]] = {
    "nodes": fewest_nodes,
    "balance": least_fill,
    "load": least_load,
}


def _caps(problem: Problem, limits: Limits) -> list[int]:
    """Return the largest loads of the nodes that may be used, largest first."""
    caps = [cap_bytes(limits, member.budget_bytes) for group in problem.classes for member in group.members]
    return _largest(problem, limits, [cap for cap in caps if cap >= 0])


def _largest(problem: Problem, limits: Limits, amounts: list[int]) -> list[int]:
    most = problem.stages_at_most if limits.max_nodes is None else min(problem.stages_at_most, limits.max_nodes)
    return sorted(amounts, reverse=True)[: max(most, 0)]


def _water_level(caps: list[int], total: int) -> int:
    """Return the least T with the sum of min(cap, T) at or above the total, which the caps together hold."""
    low, high = 0, max(caps)
    if sum(caps) < total:
        return high
    while low < high:
        middle = (low + high) // 2
        if sum(min(cap, middle) for cap in caps) >= total:
            high = middle
        else:
            low = middle + 1
    return low
