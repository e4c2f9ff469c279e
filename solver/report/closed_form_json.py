"""The closed forms as JSON: tiers, route and seams, with sizes in GiB beside their exact bytes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from tensors.units import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solver.closed_form.memory import ReservePolicy
    from solver.closed_form.proven import MeasuredBalance, ProvenRoute, ProvenTier
    from solver.closed_form.route import RouteNode, RoutePlan
    from solver.closed_form.seams import SeamsPlan
    from solver.closed_form.target import Target
    from solver.closed_form.topology import TopologyPlan

__all__ = ["route_document", "seams_document", "tiers_document"]

_GIB_DECIMALS = 3
_DECODE_DECIMALS = 4
_PREFILL_DECIMALS = 3
_NS_PER_MS = 10**6
_BITS_PER_GBIT = 10**9


def tiers_document(
    plans: Mapping[str, TopologyPlan], target: Target, reserve: ReservePolicy, notes: Sequence[str]
) -> dict[str, object]:
    """Return the document layerfit/tiers/1, tiers in the order of the plans."""
    return {
        "schema": "layerfit/tiers/1",
        "target": _target(target),
        "reserve": _reserve(reserve),
        "tiers": [_tier(name, plan) for name, plan in plans.items()],
        "notes": list(notes),
    }


def route_document(plan: RoutePlan, target: Target, notes: Sequence[str]) -> dict[str, object]:
    """Return the document layerfit/route/1; `notes` stand after those of the plan."""
    return {
        "schema": "layerfit/route/1",
        "target": _target(target),
        "view": plan.view.value,
        "node_count": plan.node_count,
        **_sized("aggregate_usable", plan.aggregate_usable_bytes),
        **_sized("aggregate_placement_budget", plan.aggregate_placement_budget_bytes),
        **_sized("weight", plan.weight_bytes),
        **_sized("kv", plan.kv_bytes),
        **_sized("required_placement", plan.required_placement_bytes),
        **_sized("headroom", plan.headroom_bytes),
        "fits": plan.fits,
        **_sized("hard_fit_floor", plan.floor_bytes),
        "meets_hard_fit_floor": plan.meets_hard_fit_floor,
        "no_single_node_can_admit_target": plan.no_single_node_can_admit_target,
        "arithmetic_minimum_nodes": plan.arithmetic_minimum_nodes,
        "recommended_nodes": plan.recommended_nodes,
        **_ratio("imbalance_factor", plan.imbalance_factor),
        "reasons": list(plan.reasons),
        "notes": [*plan.notes, *notes],
        "nodes": [_route_node(node) for node in plan.nodes],
        "proven": None if plan.proven is None else _proven_route(plan.proven),
    }


def seams_document(plan: SeamsPlan, architecture: str, notes: Sequence[str]) -> dict[str, object]:
    """Return the document layerfit/seams/1; `architecture` names what the widths come from."""
    decode = _ms(plan.decode_serialization_ns(plan.seam_count), _DECODE_DECIMALS)
    return {
        "schema": "layerfit/seams/1",
        "architecture": architecture,
        "node_count": plan.node_count,
        "seam_count": plan.seam_count,
        "hidden_size": plan.hidden_size,
        "context_tokens": plan.context_tokens,
        "bytes_per_token_per_seam": plan.bytes_per_token_per_seam,
        "prefill_bytes_per_seam": plan.prefill_bytes_per_seam,
        "decode_bytes_per_seam_per_token": plan.bytes_per_token_per_seam,
        "dsa_sideband_bytes_per_query": plan.dsa_sideband_bytes_per_query,
        "link_rate_gbps": float(plan.link_rate_bits_per_second / _BITS_PER_GBIT),
        "hop_latency_ms": plan.hop_latency_ns / _NS_PER_MS,
        "meets_alpha_minimum": plan.meets_minimum_rate,
        "is_recommended_link": plan.meets_recommended_rate,
        "decode_serialization_ms_per_token": decode,
        "decode_latency_ms_per_token": _ms(plan.decode_latency_ns, _DECODE_DECIMALS),
        "decode_bandwidth_share_ms_per_token": decode,
        "prefill_serialization_ms": _ms(plan.prefill_serialization_ns(plan.seam_count), _PREFILL_DECIMALS),
        "decode_serialization_ms_per_token_per_seam": _ms(plan.decode_serialization_ns(1), _DECODE_DECIMALS),
        "prefill_serialization_ms_per_seam": _ms(plan.prefill_serialization_ns(1), _PREFILL_DECIMALS),
        "decode_serialization_ns_per_token": plan.decode_serialization_ns(plan.seam_count),
        "decode_latency_ns_per_token": plan.decode_latency_ns,
        "prefill_serialization_ns": plan.prefill_serialization_ns(plan.seam_count),
        "notes": list(notes),
    }


def _target(target: Target) -> dict[str, object]:
    request = target.request
    return {
        "name": target.name,
        **_sized("weight", target.weight_bytes),
        "weight_rule": target.weight_rule,
        **_sized("kv", target.kv_bytes),
        "kv_rule": target.kv_rule,
        "context_tokens": request.context_tokens,
        "sequences": request.sequences,
        "cache_type_k": request.type_k,
        "cache_type_v": request.type_v,
        "indexer_rule": target.indexer,
        "cache_bytes_per_token": request.bytes_per_token,
        "notes": list(target.notes),
    }


def _reserve(reserve: ReservePolicy) -> dict[str, object]:
    return {**_ratio("fraction", reserve.fraction), **_sized("floor", reserve.floor_bytes)}


def _tier(name: str, plan: TopologyPlan) -> dict[str, object]:
    return {
        "tier": name,
        **_sized("physical_usable", plan.physical_usable_bytes),
        **_sized("reserve", plan.reserve_bytes),
        **_sized("placement_budget", plan.placement_budget_bytes),
        **_sized("weight", plan.weight_bytes),
        **_sized("kv", plan.kv_bytes),
        **_sized("total_placement", plan.total_placement_bytes),
        "arithmetic_minimum_nodes": plan.arithmetic_minimum_nodes,
        "recommended_nodes": plan.recommended_nodes,
        **_ratio("imbalance_factor", plan.imbalance_factor),
        "counts_agree": plan.counts_agree,
        "proven": None if plan.proven is None else _proven_tier(plan.proven),
    }


def _route_node(node: RouteNode) -> dict[str, object]:
    return {
        "name": node.name,
        **_sized("physical_usable", node.physical_usable_bytes),
        **_sized("reserve", node.reserve_bytes),
        **_sized("placement_budget", node.placement_budget_bytes),
    }


def _proven_tier(proven: ProvenTier) -> dict[str, object]:
    return {
        "outcome": proven.outcome,
        "proof": proven.proof,
        "fewest_nodes": proven.fewest_nodes,
        "at_fewest": _balance(proven.at_fewest),
        "at_recommended": _balance(proven.at_recommended),
        "assumption_holds": proven.assumption_holds,
        "indivisible_blocks": list(proven.indivisible_blocks),
    }


def _balance(balance: MeasuredBalance | None) -> dict[str, object] | None:
    if balance is None:
        return None
    return {
        "nodes": balance.nodes,
        "devices_used": balance.devices_used,
        "largest_load_bytes": balance.largest_load_bytes,
        **_ratio("imbalance", balance.imbalance),
        "proof": balance.proof,
    }


def _proven_route(proven: ProvenRoute) -> dict[str, object]:
    return {
        "outcome": proven.outcome,
        "proof": proven.proof,
        "sufficient": proven.sufficient,
        "nodes_used": proven.nodes_used,
        "reasons": list(proven.reasons),
    }


def _sized(name: str, size_bytes: int | None) -> dict[str, float | int | None]:
    rounded = None if size_bytes is None else float(round(Fraction(size_bytes, GIB), _GIB_DECIMALS))
    return {f"{name}_gib": rounded, f"{name}_bytes": size_bytes}


def _ratio(name: str, ratio: Fraction) -> dict[str, float | int]:
    """Return a ratio to be read, and the integers that it is exactly."""
    return {
        name: float(ratio),
        f"{name}_numerator": ratio.numerator,
        f"{name}_denominator": ratio.denominator,
    }


def _ms(duration_ns: int, decimals: int) -> float:
    return float(round(Fraction(duration_ns, _NS_PER_MS), decimals))
