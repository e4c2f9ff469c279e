"""Proven figures beside the closed forms: the same totals, cut only where blocks end, and placed by the solver."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from solver.closed_form import MeasuredBalance, ProvenRoute, ProvenTier, indivisible_blocks
from solver.cluster import Cluster
from solver.engines.generic import generic
from solver.planning import plan
from solver.problem import Node, Problem, Rules
from solver.solution import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solver.closed_form import RoutePlan, TopologyPlan
    from solver.effort import Effort
    from solver.planning import Plan
    from solver.workload import Workload
    from tensors.inventory import Inventory

__all__ = ["prove_route", "prove_tiers"]

_NO_RULES = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)
_NO_NODES = Cluster(nodes=(), latency_ns=0, bytes_per_second=None, links=())


def prove_tiers(
    inventory: Inventory, workload: Workload, plans: Mapping[str, TopologyPlan], effort: Effort
) -> dict[str, TopologyPlan]:
    """Return the plans with what the solver proves for the blocks of the model; each search has the whole effort.

    Raises:
        ArchitectureError: the cache cannot be sized.
        InputError: the model has no blocks.
    """
    problem = _closed_form_problem(inventory, _NO_NODES, workload)
    return {name: replace(tier, proven=_proven_tier(problem, tier, effort)) for name, tier in plans.items()}


def prove_route(
    inventory: Inventory, cluster: Cluster, workload: Workload, route: RoutePlan, effort: Effort
) -> RoutePlan:
    """Return the route with the solver's answer: whether the blocks can be placed, and on how few nodes.

    Raises:
        ArchitectureError: the cache cannot be sized.
        InputError: the model has no blocks, or a node has cards of its own.
    """
    found = plan(_closed_form_problem(inventory, cluster, workload), "nodes", effort)
    proven = ProvenRoute(
        outcome=found.outcome.value,
        proof=_proof(found),
        sufficient=None if found.outcome is Outcome.UNKNOWN else found.outcome is not Outcome.INFEASIBLE,
        nodes_used=None if found.check is None else found.check.nodes_used,
        reasons=found.reasons,
    )
    return replace(route, proven=proven)


def _closed_form_problem(inventory: Inventory, cluster: Cluster, workload: Workload) -> Problem:
    """Return the blocks with exactly the bytes that the closed forms sum: no cache on nextn blocks."""
    problem = generic(inventory, cluster, workload, _NO_RULES).problem
    trunk = inventory.trunk_blocks
    nextn = tuple(
        replace(block, cache_bytes=0, cache_bytes_per_token=0, cache_fixed_bytes=0) for block in problem.blocks[trunk:]
    )
    return replace(problem, blocks=problem.blocks[:trunk] + nextn)


def _proven_tier(problem: Problem, tier: TopologyPlan, effort: Effort) -> ProvenTier:
    budget = tier.placement_budget_bytes
    fewest = plan(_on_equal_nodes(problem, len(problem.items), budget), "nodes", effort)
    count = None if fewest.check is None else fewest.check.nodes_used
    at_fewest = None if count is None else _measured(problem, count, budget, effort)
    at_recommended = None
    if count == tier.recommended_nodes:
        at_recommended = at_fewest
    elif count is not None and (count < tier.recommended_nodes or fewest.outcome is not Outcome.OPTIMAL):
        at_recommended = _measured(problem, tier.recommended_nodes, budget, effort)
    return ProvenTier(
        outcome=fewest.outcome.value,
        proof=_proof(fewest),
        fewest_nodes=count,
        at_fewest=at_fewest,
        at_recommended=at_recommended,
        assumption_holds=_assumption(tier, fewest.outcome, at_recommended),
        indivisible_blocks=(
            indivisible_blocks([item.load_bytes for item in problem.items], budget)
            if count is not None and count > tier.arithmetic_minimum_nodes
            else ()
        ),
    )


def _on_equal_nodes(problem: Problem, count: int, budget_bytes: int) -> Problem:
    nodes = tuple(Node(f"node-{number}", budget_bytes, None, None) for number in range(1, count + 1))
    return replace(problem, nodes=nodes)


def _measured(problem: Problem, count: int, budget_bytes: int, effort: Effort) -> MeasuredBalance | None:
    found = plan(_on_equal_nodes(problem, count, budget_bytes), "load", effort)
    if found.check is None:
        return None
    return MeasuredBalance(
        nodes=count,
        devices_used=found.check.devices_used,
        largest_load_bytes=max(stage.load_bytes for stage in found.stages),
        imbalance=found.check.imbalance,
        proof=_proof(found),
    )


def _assumption(tier: TopologyPlan, outcome: Outcome, measured: MeasuredBalance | None) -> bool | None:
    """Say whether the recommended count keeps the assumed imbalance; None where no proof settles it."""
    if measured is not None and measured.imbalance <= tier.imbalance_factor:
        return True
    settled = outcome in (Outcome.OPTIMAL, Outcome.INFEASIBLE) if measured is None else measured.proof != "none"
    return False if settled else None


def _proof(found: Plan) -> str:
    """Return the proof of the only objective, "none" where there is no placement to measure."""
    return found.solution.levels[0].proof if found.solution.levels else "none"
