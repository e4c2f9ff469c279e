"""Whether a concrete set of unlike nodes can hold a model at all, as if its blocks could be divided at will."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING

from solver.closed_form.numbers import ExactNumber, gib, printable, ratio_at_least_one, whole
from solver.closed_form.topology import REFERENCE_FACTOR
from solver.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from solver.closed_form.memory import Memory
    from solver.closed_form.proven import ProvenRoute

__all__ = ["LEAST_ROUTE_NODES", "MemoryView", "RouteNode", "RoutePlan", "fewest_largest", "plan_route"]

LEAST_ROUTE_NODES = 2


class MemoryView(StrEnum):
    """How a node with several memories was counted: each pool with its own reserve, or all as one."""

    SEPARATE = "separate"
    COMBINED = "combined"


@dataclass(frozen=True, slots=True)
class RouteNode:
    """One node's share of a route; the budget is below 0 where the reserve exceeds the memory."""

    name: str
    physical_usable_bytes: int
    reserve_bytes: int
    placement_budget_bytes: int


@dataclass(frozen=True, slots=True)
class RoutePlan:
    """Sums over the nodes of a route beside what they must hold.

    `arithmetic_minimum_nodes` is the least m whose m largest budgets hold what is required, `recommended_nodes` the
    same for required · factor; None where all nodes do not. `floor_bytes` is a wish for the usable sum, None where
    there is none. `reasons` name what speaks against the route, whether or not it fits: budget, single host, floor.
    """

    nodes: tuple[RouteNode, ...]
    view: MemoryView
    weight_bytes: int
    kv_bytes: int
    imbalance_factor: Fraction
    arithmetic_minimum_nodes: int | None
    recommended_nodes: int | None
    floor_bytes: int | None
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    proven: ProvenRoute | None = None

    @property
    def node_count(self) -> int:
        """Return how many nodes the route has."""
        return len(self.nodes)

    @property
    def aggregate_usable_bytes(self) -> int:
        """Return the physically usable memory of all nodes."""
        return sum(node.physical_usable_bytes for node in self.nodes)

    @property
    def aggregate_placement_budget_bytes(self) -> int:
        """Return the sum of all budgets, also of those below 0."""
        return sum(node.placement_budget_bytes for node in self.nodes)

    @property
    def required_placement_bytes(self) -> int:
        """Return weights and cache."""
        return self.weight_bytes + self.kv_bytes

    @property
    def headroom_bytes(self) -> int:
        """Return what the budgets leave over; below 0 where they fall short."""
        return self.aggregate_placement_budget_bytes - self.required_placement_bytes

    @property
    def fits(self) -> bool:
        """Return whether the sum of the budgets suffices: necessary for a placement, not sufficient."""
        return self.headroom_bytes >= 0

    @property
    def no_single_node_can_admit_target(self) -> bool:
        """Return whether even the largest budget is too small for the whole model."""
        return _largest(self.nodes).placement_budget_bytes < self.required_placement_bytes

    @property
    def meets_hard_fit_floor(self) -> bool | None:
        """Return whether the usable sum reaches the floor, None without one."""
        return None if self.floor_bytes is None else self.aggregate_usable_bytes >= self.floor_bytes


def plan_route(
    nodes: Sequence[Memory],
    weight_bytes: int,
    cache_bytes: int,
    *,
    floor_bytes: int | None = None,
    imbalance_factor: ExactNumber = REFERENCE_FACTOR,
    view: MemoryView = MemoryView.SEPARATE,
) -> RoutePlan:
    """Return whether these nodes together have room for weights and cache.

    `view` says how the memories of the nodes were counted; it changes no figure here.

    Raises:
        InputError: fewer than two nodes, two of one name, or a number out of its range.
    """
    required = whole(weight_bytes, "weights in bytes", least=1) + whole(cache_bytes, "cache in bytes", least=0)
    factor = ratio_at_least_one(imbalance_factor, "imbalance factor")
    if floor_bytes is not None:
        whole(floor_bytes, "floor in bytes", least=1)
    _check_nodes(nodes)
    members = tuple(
        RouteNode(node.name, node.physical_usable_bytes, node.reserve_bytes, node.placement_budget_bytes)
        for node in nodes
    )
    budgets = [node.placement_budget_bytes for node in members]
    return RoutePlan(
        nodes=members,
        view=view,
        weight_bytes=weight_bytes,
        kv_bytes=cache_bytes,
        imbalance_factor=factor,
        arithmetic_minimum_nodes=fewest_largest(budgets, required),
        recommended_nodes=fewest_largest(budgets, required * factor),
        floor_bytes=floor_bytes,
        reasons=_reasons(members, required, floor_bytes),
        notes=tuple(_overdrawn(node) for node in members if node.placement_budget_bytes < 0),
    )


def fewest_largest(budgets_bytes: Sequence[int], required: int | Fraction) -> int | None:
    """Return the least m whose m largest budgets sum to what is required, None if no m does."""
    sums = accumulate(sorted(budgets_bytes, reverse=True))
    return next((count for count, held in enumerate(sums, start=1) if held >= required), None)


def _check_nodes(nodes: Sequence[Memory]) -> None:
    if len(nodes) < LEAST_ROUTE_NODES:
        raise InputError("route", f"its nodes number {len(nodes)}; expected {LEAST_ROUTE_NODES} or more. Add a node.")
    seen: set[str] = set()
    for node in nodes:
        name = node.name.strip()
        if name in seen:
            raise InputError(
                printable(name), "the name is given twice; expected every machine once. Rename one or leave it out."
            )
        seen.add(name)


def _reasons(nodes: Sequence[RouteNode], required: int, floor_bytes: int | None) -> tuple[str, ...]:
    budget = sum(node.placement_budget_bytes for node in nodes)
    usable = sum(node.physical_usable_bytes for node in nodes)
    largest = _largest(nodes)
    reasons = []
    if budget < required:
        reasons.append(
            f"budget: {gib(budget, 3)} of {gib(required, 3)} that are required; {gib(required - budget, 3)} are missing"
        )
    if largest.placement_budget_bytes >= required:
        reasons.append(
            f"single host: {printable(largest.name)} alone has a budget of {gib(largest.placement_budget_bytes, 3)} "
            f"for {gib(required, 3)}"
        )
    if floor_bytes is not None and usable < floor_bytes:
        reasons.append(f"floor: {gib(usable, 3)} usable in all, below the floor of {gib(floor_bytes, 3)}")
    return tuple(reasons)


def _overdrawn(node: RouteNode) -> str:
    excess = gib(-node.placement_budget_bytes, 1)
    return f"{printable(node.name)}: reserve exceeds memory by {excess}; leaving it out gains that much"


def _largest(nodes: Sequence[RouteNode]) -> RouteNode:
    return max(nodes, key=lambda node: node.placement_budget_bytes)
