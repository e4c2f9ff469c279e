"""Limits: what earlier levels fixed, or a search for something better demands, and the integers that they mean.

Caps are integers computed in Python, so that no ratio, and no product of two byte counts, reaches a search or a solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from solver.flow.measure import pace_ns
from solver.measures import cache_tokens, latency_ns, nodes_used, offload_bytes, stage_load

if TYPE_CHECKING:
    from solver.problem import Placement, Problem

__all__ = ["NO_LIMITS", "Limits", "Value", "cap_bytes", "kept_by", "most_nodes", "token_prefix"]

Value = int | Fraction


@dataclass(frozen=True, slots=True)
class Limits:
    """What a placement must keep to beside the problem's rules; None where nothing is limited.

    `min_tokens` asks that every stage has room for so many cache tokens; `below_fill` is strict.
    """

    max_nodes: int | None
    max_load_bytes: int | None
    max_fill: Fraction | None
    below_fill: Fraction | None
    min_headroom_bytes: int | None
    min_tokens: int | None
    max_slowest_ns: int | None
    max_latency_ns: int | None
    max_offload_bytes: int | None


NO_LIMITS = Limits(
    max_nodes=None,
    max_load_bytes=None,
    max_fill=None,
    below_fill=None,
    min_headroom_bytes=None,
    min_tokens=None,
    max_slowest_ns=None,
    max_latency_ns=None,
    max_offload_bytes=None,
)


def cap_bytes(limits: Limits, budget_bytes: int, held_bytes: int = 0) -> int:
    """Return the most that the limits allow the items of a stage to take; below 0 where they allow no stage.

    It is what they allow as a load of a node with this budget, never above it, less what the node holds beside. A ratio
    p/q becomes p·budget // q (at most) or (p·budget − 1) // q (strictly below): exact, in Python's integers.
    """
    cap = budget_bytes
    if limits.max_load_bytes is not None:
        cap = min(cap, limits.max_load_bytes)
    if limits.max_fill is not None:
        cap = min(cap, limits.max_fill.numerator * budget_bytes // limits.max_fill.denominator)
    if limits.below_fill is not None:
        cap = min(cap, (limits.below_fill.numerator * budget_bytes - 1) // limits.below_fill.denominator)
    if limits.min_headroom_bytes is not None:
        cap = min(cap, budget_bytes - limits.min_headroom_bytes)
    return cap - held_bytes


def most_nodes(problem: Problem, limits: Limits) -> int:
    """Return the largest number of nodes that rules and limits leave."""
    stages = problem.stages_at_most
    return stages if limits.max_nodes is None else max(min(stages, limits.max_nodes), 0)


def token_prefix(problem: Problem, tokens: int) -> tuple[int, ...]:
    """Return what the first j items take with caches of so many tokens, to be held against budgets."""
    sums = [0]
    for item, block in zip(problem.items, problem.blocks, strict=True):
        cache = block.cache_fixed_bytes + (block.cache_bytes_per_token or 0) * tokens
        sums.append(sums[-1] + item.weight_bytes + item.other_bytes + cache)
    return tuple(sums)


def kept_by(problem: Problem, limits: Limits, placement: Placement) -> bool:
    """Return whether a placement keeps to the limits, by the same measures that people are shown."""
    if limits.max_nodes is not None and nodes_used(problem, placement) > limits.max_nodes:
        return False
    if limits.min_tokens is not None and cache_tokens(problem, placement) < limits.min_tokens:
        return False
    if limits.max_slowest_ns is not None and pace_ns(problem, placement) > limits.max_slowest_ns:
        return False
    if limits.max_latency_ns is not None and latency_ns(problem, placement) > limits.max_latency_ns:
        return False
    if limits.max_offload_bytes is not None and offload_bytes(problem, placement) > limits.max_offload_bytes:
        return False
    loads = (stage_load(problem, stage) for stage in placement.stages)
    return all(load.load_bytes <= cap_bytes(limits, load.budget_bytes) for load in loads)
