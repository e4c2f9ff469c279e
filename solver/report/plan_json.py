"""A plan as a document (`layerfit/plan/1`): a projection of the plan's records, exact integers throughout.

Ratios are shown as floats and carry their numerator and denominator; without timings equal plans are equal bytes.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from solver.cluster_document import cluster_document
from solver.engines.servers.ranks import served_figures
from solver.planning import ASSUMED_IMBALANCE
from solver.problem_file import problem_to_document
from solver.report.emulation_json import device_document
from solver.report.model_json import model_document
from solver.report.ranks_json import ranks_document

if TYPE_CHECKING:
    from solver.closed_form import PlanCheck
    from solver.effort import Effort
    from solver.engines.llamacpp.export import Emulated
    from solver.engines.servers.ranks import ServedFigures
    from solver.limits import Value
    from solver.planning import Plan
    from solver.pool_loads import PoolLoad
    from solver.problem import Problem, Stage
    from solver.projection import PlanStage, Seam, Transfer
    from solver.solution import Level, Solution, Unreached

__all__ = [
    "PLAN_SCHEMA",
    "PROOFS",
    "PlanInputs",
    "check_document",
    "instance_sha256",
    "objective_documents",
    "plan_document",
    "pool_document",
    "ranks_of",
    "seam_document",
    "shown",
    "stage_document",
    "transfer_document",
]

PLAN_SCHEMA = "layerfit/plan/1"

PROOFS = ("closed form", "exact search", "set search", "cp-sat", "none")
"""Kinds of proof, the cheapest first."""


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """What was typed: the model and its path (None where there is none, or paths are left out), limits and options.

    `options` are (name, value) of every setting that can change the answer and stands nowhere else in the document.
    """

    model: str | None
    model_path: str | None
    effort: Effort
    options: tuple[tuple[str, str | int | float | None], ...]


def ranks_of(plan: Plan) -> ServedFigures | None:
    """Return the figures of a plan's ranks; None without a placement, and for an engine that has no ranks."""
    served = None if plan.setting is None else plan.setting.served
    if served is None or plan.solution.placement is None:
        return None
    return served_figures(served, plan.solution.placement)


def instance_sha256(problem: Problem) -> str:
    """Return the hash of a problem's document, keys sorted and without spaces."""
    text = json.dumps(problem_to_document(problem), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def plan_document(plan: Plan, inputs: PlanInputs, *, timings: bool, emulated: Emulated | None = None) -> dict[str, Any]:
    """Return the document of a plan, with what its devices hold as typed where that was emulated.

    `timings=False` leaves out wall_ms and deterministic_time and nothing else.
    """
    ranks = ranks_of(plan)
    return {
        "schema": PLAN_SCHEMA,
        "inputs": _inputs(plan, inputs),
        "model": None if plan.setting is None else model_document(plan.setting.inventory),
        "workload": _workload(plan),
        "outcome": plan.outcome.value,
        "objective": objective_documents(plan.solution),
        "proof": _weakest_proof(plan.solution),
        "stages": [stage_document(stage) for stage in plan.stages],
        "pools": [pool_document(pool) for pool in plan.pools],
        "check": check_document(plan.check),
        "seams": [seam_document(seam) for seam in plan.seams],
        "transfer": [transfer_document(transfer) for transfer in plan.transfers],
        "reasons": list(plan.reasons),
        "notes": list(plan.notes),
        **({} if ranks is None else {"ranks": ranks_document(ranks)}),
        **({} if emulated is None else {"emulated": _emulated(emulated)}),
        "solver": _solver(plan, inputs.effort, timings=timings),
    }


def _emulated(emulated: Emulated) -> list[dict[str, Any]]:
    """Return the buffers of every device by the engine's name for it, beside the plan's; of the host last."""
    return [
        {"device": None if seat is None else seat.site.device, **device_document(row)} for row, seat in emulated.rows
    ]


def _inputs(plan: Plan, inputs: PlanInputs) -> dict[str, Any]:
    setting = plan.setting
    return {
        "model": inputs.model,
        "model_path": inputs.model_path,
        "header_sha256": None if setting is None else setting.inventory.header_sha256,
        "cluster": None if setting is None else cluster_document(setting.cluster),
        "problem": problem_to_document(plan.problem),
        "instance_sha256": instance_sha256(plan.problem),
        "engine_build": None if setting is None else setting.build,
        "options": dict(inputs.options),
    }


def _workload(plan: Plan) -> dict[str, Any]:
    workload = None if plan.setting is None else plan.setting.workload
    placed = sum(item.weight_bytes for item in plan.problem.items) - plan.problem.shared_bytes
    return {
        "context_tokens": plan.problem.context_tokens,
        "sequences": None if workload is None else workload.sequences,
        "cache_type_k": None if workload is None else workload.cache_type_k,
        "cache_type_v": None if workload is None else workload.cache_type_v,
        "engine": None if plan.setting is None else plan.setting.engine,
        "resident_nextn": None if workload is None else workload.resident_nextn,
        "placed_weight_bytes": placed,
        "indexer_rule": None if workload is None else workload.indexer.value,
    }


def _weakest_proof(solution: Solution) -> str | None:
    proofs = [*(level.proof for level in solution.levels), *(PROOFS[-1] for _ in solution.unreached)]
    return max(proofs, key=PROOFS.index, default=None)


def objective_documents(solution: Solution) -> list[dict[str, Any]]:
    """Return the documents of all objectives; without an answer they have no value, and the first one its bound."""
    return [
        *(_level_document(level) for level in solution.levels),
        *(_unreached_document(unreached) for unreached in solution.unreached),
    ]


def _unreached_document(unreached: Unreached) -> dict[str, Any]:
    return {
        "name": unreached.objective.name,
        "value": None,
        "bound": None if unreached.bound is None else shown(unreached.bound),
        "gap": None,
        "unit": unreached.objective.unit,
        "proof": PROOFS[-1],
        "numerator": None,
        "denominator": None,
        "bounds": [{"name": bound.name, "value": shown(bound.value)} for bound in unreached.bounds],
    }


def _level_document(level: Level) -> dict[str, Any]:
    ratio = level.value if isinstance(level.value, Fraction) else None
    return {
        "name": level.objective.name,
        "value": shown(level.value),
        "bound": None if level.bound is None else shown(level.bound),
        "gap": None if level.bound is None else _gap(level.value, level.bound),
        "unit": level.objective.unit,
        "proof": level.proof,
        "numerator": None if ratio is None else ratio.numerator,
        "denominator": None if ratio is None else ratio.denominator,
        "bounds": [{"name": bound.name, "value": shown(bound.value)} for bound in level.bounds],
    }


def shown(value: Value) -> int | float:
    """Return a value as documents show it: a ratio as a float, all else exactly."""
    return float(value) if isinstance(value, Fraction) else value


def _gap(value: Value, bound: Value) -> float:
    return 0.0 if value == bound else float(abs(Fraction(value) - Fraction(bound)) / abs(Fraction(value)))


def span_document(problem: Problem, stage: Stage) -> dict[str, Any]:
    """Return the document of a stage by name alone."""
    start, end = problem.span(stage)
    return {"start": start, "end": end, "node": stage.node}


def stage_document(stage: PlanStage) -> dict[str, Any]:
    """Return the document of one stage."""
    return {
        "chain": stage.chain,
        "start": stage.start,
        "end": stage.end,
        "head": stage.head,
        "role": stage.role,
        "node": stage.machine,
        "device": stage.device,
        "devices": list(stage.devices),
        "pool": stage.pool,
        "weight_bytes": stage.weight_bytes,
        "cache_bytes": stage.cache_bytes,
        "other_bytes": stage.other_bytes,
        "load_bytes": stage.load_bytes,
        "budget_bytes": stage.budget_bytes,
        "slack_bytes": stage.slack_bytes,
        "offload_bytes": stage.offload_bytes,
        "offload_blocks": list(stage.offload_blocks),
    }


def pool_document(pool: PoolLoad) -> dict[str, Any]:
    """Return the document of one pool."""
    return {
        "pool": pool.pool,
        "node": pool.node,
        "usable_bytes": pool.usable_bytes,
        "reserve_bytes": pool.reserve_bytes,
        "budget_bytes": pool.budget_bytes,
        "load_bytes": pool.load_bytes,
        "parts": {
            "weights": pool.parts.weights,
            "cache": pool.parts.cache,
            "other": pool.parts.other,
            "offload": pool.parts.offload,
        },
    }


def check_document(check: PlanCheck | None) -> dict[str, Any]:
    """Return the document of the check against closed forms; scalars are null without one."""
    ceiling = None if check is None else check.imbalance_ceiling
    return {
        "minimum_nodes": None if check is None else check.minimum_nodes,
        "recommended_nodes": None if check is None else check.recommended_nodes,
        "assumed_imbalance": float(ASSUMED_IMBALANCE),
        "nodes_used": None if check is None else check.nodes_used,
        "devices_used": None if check is None else check.devices_used,
        "imbalance": None if check is None else float(check.imbalance),
        "weighted_imbalance": None if check is None else float(check.weighted_imbalance),
        "imbalance_ceiling": None if ceiling is None else float(ceiling),
        "assumption_holds": None if check is None else check.assumption_holds,
    }


def seam_document(seam: Seam) -> dict[str, Any]:
    """Return the document of one seam."""
    return {
        "from": seam.source,
        "to": seam.target,
        "bytes_per_token": seam.bytes_per_token,
        "prefill_bytes": seam.prefill_bytes,
        "sideband_bytes_per_query": seam.sideband_bytes_per_query,
        "latency_ns": seam.latency_ns,
    }


def transfer_document(transfer: Transfer) -> dict[str, Any]:
    """Return the document of one transfer."""
    return {"device": transfer.device, "bytes": transfer.bytes, "seconds": transfer.seconds}


def _solver(plan: Plan, effort: Effort, *, timings: bool) -> dict[str, Any]:
    names = [bound.name for level in plan.solution.levels for bound in level.bounds]
    names += [bound.name for unreached in plan.solution.unreached for bound in unreached.bounds]
    if plan.solution.refuted_by is not None:
        names.append(plan.solution.refuted_by)
    document: dict[str, Any] = {
        "backend": max(names, key=PROOFS.index, default="closed form"),
        "version": version("ortools"),
        "seed": effort.seed,
        "workers": effort.workers,
    }
    if timings:
        document["wall_ms"] = plan.solution.wall_ms
        document["deterministic_time"] = plan.solution.deterministic_time
    return document
