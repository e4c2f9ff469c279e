"""The registry of objectives: what each is called, how it is measured, and how its value becomes a limit.

Inside, every objective is a cost to make small: an integer or an exact ratio; `value` turns a cost into what people
read. Lexicographic search fixes the cost of one level and goes on: a fixed cost is a limit on placements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from solver.errors import InputError
from solver.flow.measure import pace_ns
from solver.measures import (
    cache_tokens,
    largest_fill,
    largest_load,
    latency_ns,
    least_headroom,
    nodes_used,
    offload_bytes,
)
from solver.needs import CONTEXT_STEP_TOKENS, flow, growth, hosts, nothing, times

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.limits import Limits, Value
    from solver.problem import Placement, Problem

__all__ = ["CONTEXT_STEP_TOKENS", "OBJECTIVES", "Objective", "Sense", "objectives_named"]

_NS = 10**9


class Sense(StrEnum):
    """Which way is better."""

    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Objective:
    """One figure to make as small, or as large, as it goes.

    `cost` is what searches make small; `value` shows a cost in the objective's unit. `at_most(limits, cost)` adds "no
    worse than cost" to limits, `below(limits, cost)` adds "better than cost". `needs` refuses a problem that lacks
    facts.
    """

    name: str
    sense: Sense
    unit: str
    formula: str
    cost: Callable[[Problem, Placement], Value]
    value: Callable[[Value], Value]
    at_most: Callable[[Limits, Value], Limits]
    below: Callable[[Limits, Value], Limits]
    needs: Callable[[Problem, str], None]

    def better(self, one: float | Value, other: float | Value) -> bool:
        """Return whether one value, as people read it, is better than another."""
        return one < other if self.sense is Sense.MIN else one > other


def objectives_named(text: str) -> tuple[Objective, ...]:
    """Return the objectives of a list such as "nodes,balance", most important first.

    Raises:
        InputError: a name is unknown or stands twice, or the list is empty.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in OBJECTIVES:
            known = ", ".join(sorted(OBJECTIVES))
            raise InputError("objective", f'"{name[:40]}" is not one; expected some of {known}. Correct the list.')
    if len(set(names)) < len(names):
        raise InputError("objective", f'"{text}" names one twice; expected each once. Remove the second.')
    return tuple(OBJECTIVES[name] for name in names)


def _same(cost: Value) -> Value:
    return cost


def _negated(cost: Value) -> Value:
    return -cost


def _least(value: Value, limit: int | None) -> int:
    return int(value) if limit is None else min(int(value), limit)


def _most(value: Value, limit: int | None) -> int:
    return int(value) if limit is None else max(int(value), limit)


def _nodes_at_most(limits: Limits, cost: Value) -> Limits:
    return replace(limits, max_nodes=_least(cost, limits.max_nodes))


def _load_at_most(limits: Limits, cost: Value) -> Limits:
    return replace(limits, max_load_bytes=_least(cost, limits.max_load_bytes))


def _fill_at_most(limits: Limits, cost: Value) -> Limits:
    fill = Fraction(cost)
    return replace(limits, max_fill=fill if limits.max_fill is None else min(fill, limits.max_fill))


def _fill_below(limits: Limits, cost: Value) -> Limits:
    fill = Fraction(cost)
    return replace(limits, below_fill=fill if limits.below_fill is None else min(fill, limits.below_fill))


def _headroom_at_most(limits: Limits, cost: Value) -> Limits:
    return replace(limits, min_headroom_bytes=_most(-cost, limits.min_headroom_bytes))


def _tokens_at_most(limits: Limits, cost: Value) -> Limits:
    if cost >= 0:
        # Every placement counts as having room for no tokens, also one that empty caches would overfill.
        return limits
    return replace(limits, min_tokens=_most(-cost, limits.min_tokens))


def _context_at_most(limits: Limits, cost: Value) -> Limits:
    steps = -(int(cost) // CONTEXT_STEP_TOKENS)
    return _tokens_at_most(limits, -steps * CONTEXT_STEP_TOKENS)


def _slowest_at_most(limits: Limits, cost: Value) -> Limits:
    # What replicas share need not be a whole number of nanoseconds.
    return replace(limits, max_slowest_ns=_least(ceil(cost), limits.max_slowest_ns))


def _latency_at_most(limits: Limits, cost: Value) -> Limits:
    return replace(limits, max_latency_ns=_least(cost, limits.max_latency_ns))


def _offload_at_most(limits: Limits, cost: Value) -> Limits:
    return replace(limits, max_offload_bytes=_least(cost, limits.max_offload_bytes))


def _context_cost(problem: Problem, placement: Placement) -> int:
    return -(cache_tokens(problem, placement) // CONTEXT_STEP_TOKENS * CONTEXT_STEP_TOKENS)


def _one_better(at_most: Callable[[Limits, Value], Limits]) -> Callable[[Limits, Value], Limits]:
    """Return the limit "better than cost" of an integer cost: at most the next smaller."""
    return lambda limits, cost: at_most(limits, cost - 1)


_REGISTRY = (
    Objective(
        name="nodes",
        sense=Sense.MIN,
        unit="count",
        formula="nodes that hold a stage",
        cost=nodes_used,
        value=_same,
        at_most=_nodes_at_most,
        below=_one_better(_nodes_at_most),
        needs=nothing,
    ),
    Objective(
        name="balance",
        sense=Sense.MIN,
        unit="ratio",
        formula="largest load / budget",
        cost=largest_fill,
        value=_same,
        at_most=_fill_at_most,
        below=_fill_below,
        needs=nothing,
    ),
    Objective(
        name="load",
        sense=Sense.MIN,
        unit="bytes",
        formula="largest load",
        cost=largest_load,
        value=_same,
        at_most=_load_at_most,
        below=_one_better(_load_at_most),
        needs=nothing,
    ),
    Objective(
        name="latency",
        sense=Sense.MIN,
        unit="ns/token",
        formula="stage times + hops of one token",
        cost=latency_ns,
        value=_same,
        at_most=_latency_at_most,
        below=_one_better(_latency_at_most),
        needs=times,
    ),
    Objective(
        name="throughput",
        sense=Sense.MAX,
        unit="tokens/s",
        formula="1 / the slowest stage or transfer",
        cost=pace_ns,
        value=lambda cost: _NS / Fraction(cost),
        at_most=_slowest_at_most,
        below=_one_better(_slowest_at_most),
        needs=flow,
    ),
    Objective(
        name="headroom",
        sense=Sense.MAX,
        unit="bytes",
        formula="least budget - load over the nodes used",
        cost=lambda problem, placement: -least_headroom(problem, placement),
        value=_negated,
        at_most=_headroom_at_most,
        below=_one_better(_headroom_at_most),
        needs=nothing,
    ),
    Objective(
        name="context",
        sense=Sense.MAX,
        unit="tokens",
        formula="longest context that fits, in steps of 256",
        cost=_context_cost,
        value=_negated,
        at_most=_context_at_most,
        below=_one_better(_context_at_most),
        needs=growth,
    ),
    Objective(
        name="tokens",
        sense=Sense.MAX,
        unit="tokens",
        formula="cache tokens on the weakest stage",
        cost=lambda problem, placement: -cache_tokens(problem, placement),
        value=_negated,
        at_most=_tokens_at_most,
        below=_one_better(_tokens_at_most),
        needs=growth,
    ),
    Objective(
        name="offload",
        sense=Sense.MIN,
        unit="bytes",
        formula="weights that cards leave in host memory",
        cost=offload_bytes,
        value=_same,
        at_most=_offload_at_most,
        below=_one_better(_offload_at_most),
        needs=hosts,
    ),
)

OBJECTIVES = {objective.name: objective for objective in _REGISTRY}
