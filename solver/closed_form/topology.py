"""How many equal nodes a tier of memory needs: the arithmetic minimum, and what an assumed imbalance asks for."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from solver.closed_form.memory import REFERENCE_RESERVE, NodeMemory, ReservePolicy
from solver.closed_form.numbers import ExactNumber, gib, printable, ratio_at_least_one, whole
from solver.errors import InputError
from tensors.units import GIB

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from solver.closed_form.proven import ProvenTier

__all__ = ["REFERENCE_FACTOR", "TIERS_BYTES", "TopologyPlan", "plan_all_tiers", "plan_topology", "tier_name"]

TIERS_BYTES = tuple(size * GIB for size in (32, 48, 64, 96, 128))
REFERENCE_FACTOR = "1.10"


@dataclass(frozen=True, slots=True)
class TopologyPlan:
    """Node counts of one tier, with the bytes that they follow from.

    `proven` is what a solver found for the real blocks, None where none was asked.
    """

    name: str
    physical_usable_bytes: int
    reserve_bytes: int
    placement_budget_bytes: int
    weight_bytes: int
    kv_bytes: int
    arithmetic_minimum_nodes: int
    recommended_nodes: int
    imbalance_factor: Fraction
    proven: ProvenTier | None = None

    @property
    def total_placement_bytes(self) -> int:
        """Return what the nodes hold together: weights and cache."""
        return self.weight_bytes + self.kv_bytes

    @property
    def counts_agree(self) -> bool:
        """Return whether the minimum leaves no headroom at the factor: admissible only if placement is proven."""
        return self.arithmetic_minimum_nodes == self.recommended_nodes


def plan_topology(
    node: NodeMemory, weight_bytes: int, cache_bytes: int, *, imbalance_factor: ExactNumber = REFERENCE_FACTOR
) -> TopologyPlan:
    """Return how many nodes like this one hold weights and cache, as if they could be divided at will.

    The minimum is ceil(total / budget), the recommended count ceil(total · factor / budget).

    Raises:
        InputError: the node's reserve leaves no budget, or a number is out of its range.
    """
    total = whole(weight_bytes, "weights in bytes", least=1) + whole(cache_bytes, "cache in bytes", least=0)
    factor = ratio_at_least_one(imbalance_factor, "imbalance factor")
    budget = node.placement_budget_bytes
    if budget <= 0:
        raise InputError(
            printable(node.name),
            f"its reserve of {gib(node.reserve_bytes, 1)} leaves a placement budget of {gib(budget, 1)}; "
            "expected a budget above 0. Take more memory or a smaller reserve.",
        )
    return TopologyPlan(
        name=node.name,
        physical_usable_bytes=node.physical_usable_bytes,
        reserve_bytes=node.reserve_bytes,
        placement_budget_bytes=budget,
        weight_bytes=weight_bytes,
        kv_bytes=cache_bytes,
        arithmetic_minimum_nodes=-(-total // budget),
        recommended_nodes=ceil(total * factor / budget),
        imbalance_factor=factor,
    )


def plan_all_tiers(
    weight_bytes: int,
    cache_bytes: int,
    *,
    imbalance_factor: ExactNumber = REFERENCE_FACTOR,
    reserve: ReservePolicy = REFERENCE_RESERVE,
    tiers_bytes: Sequence[int] = TIERS_BYTES,
) -> dict[str, TopologyPlan]:
    """Return the plan of every tier under its name, in the order given: "32", "48", "64", "96", "128" unless told.

    Raises:
        InputError: no tier, a tier given twice, one without a budget, or a number out of its range.
    """
    plans: dict[str, TopologyPlan] = {}
    for usable_bytes in tiers_bytes:
        name = tier_name(whole(usable_bytes, "tier in bytes", least=1))
        label = f"tier of {name} GiB" if usable_bytes % GIB == 0 else f"tier of {name}"
        if name in plans:
            raise InputError(label, "it is listed twice; expected every tier once. Leave one out.")
        node = NodeMemory(label, usable_bytes, reserve=reserve)
        plans[name] = plan_topology(node, weight_bytes, cache_bytes, imbalance_factor=imbalance_factor)
    if not plans:
        raise InputError("tiers", "none is listed; expected one or more.")
    return plans


def tier_name(usable_bytes: int) -> str:
    """Return a tier's name: its number of GiB where that is whole, else its bytes with their unit."""
    return str(usable_bytes // GIB) if usable_bytes % GIB == 0 else f"{usable_bytes} B"
