"""A plan beside the split rules of engines: a document (`layerfit/comparison/1`) and a table."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from solver.report.plan_json import instance_sha256, objective_documents, shown, span_document
from solver.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.comparison import Entry
    from solver.limits import Value
    from solver.objectives import Objective
    from solver.planning import Plan
    from solver.problem import Problem

__all__ = ["COMPARISON_SCHEMA", "comparison_document", "comparison_table"]

COMPARISON_SCHEMA = "layerfit/comparison/1"

_ALREADY = ("nodes", "balance", "latency", "throughput")


def comparison_document(plan: Plan, objectives: Sequence[Objective], entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the document: the plan's outcome and levels, and every strategy with its figures."""
    return {
        "schema": COMPARISON_SCHEMA,
        "instance_sha256": instance_sha256(plan.problem),
        "outcome": plan.outcome.value,
        "objective": objective_documents(plan.solution),
        "reasons": list(plan.reasons),
        "strategies": [_strategy(plan.problem, entry, objectives) for entry in entries],
    }


def _strategy(problem: Problem, entry: Entry, objectives: Sequence[Objective]) -> dict[str, Any]:
    figures = entry.figures
    values = () if figures is None else zip(objectives, figures.values, strict=True)
    stages = () if entry.placement is None else entry.placement.stages
    return {
        "name": entry.name,
        "title": entry.title,
        "source": entry.source,
        "fits": entry.fits,
        "reason": entry.reason,
        "overfull": [{"node": one.node, "over_bytes": one.over_bytes} for one in entry.overfull],
        "broken": [{"rule": one.rule, "witness": one.witness} for one in entry.broken],
        "nodes": None if figures is None else figures.nodes,
        "imbalance": None if figures is None else float(figures.imbalance),
        "weighted_imbalance": None if figures is None else float(figures.weighted_imbalance),
        "fill": None if figures is None else float(figures.fill),
        "latency_ns": None if figures is None else figures.latency_ns,
        "tokens_per_second": _shown(None if figures is None else figures.tokens_per_second),
        "objective": [{"name": objective.name, "value": _shown(value)} for objective, value in values],
        "stages": [span_document(problem, stage) for stage in stages],
    }


def _shown(value: Value | None) -> float | None:
    return None if value is None else shown(value)


def comparison_table(objectives: Sequence[Objective], entries: Sequence[Entry]) -> Table:
    """Return a row a strategy; an objective that has no column of its own gets one."""
    further = [number for number, objective in enumerate(objectives) if objective.name not in _ALREADY]
    columns = (
        "strategy",
        "fits",
        "over_bytes",
        "over_node",
        "nodes",
        "imbalance",
        "weighted_imbalance",
        "fill",
        "latency_ns",
        "tokens_per_second",
        *(f"{objectives[number].name} ({objectives[number].unit})" for number in further),
        "reason",
    )
    return Table(columns, tuple(_row(entry, further) for entry in entries))


def _row(entry: Entry, further: Sequence[int]) -> tuple[str | int | None, ...]:
    worst = entry.overfull[0] if entry.overfull else None
    figures = entry.figures
    fits = None if entry.fits is None else "yes" if entry.fits else "no"
    over = (None, None) if worst is None else (worst.over_bytes, worst.node)
    reason = entry.reason or "; ".join(one.witness for one in entry.broken) or None
    if figures is None:
        return (entry.name, fits, *over, *[None] * 6, *[None] * len(further), reason)
    return (
        entry.name,
        fits,
        *over,
        figures.nodes,
        _cell(figures.imbalance),
        _cell(figures.weighted_imbalance),
        _cell(figures.fill),
        figures.latency_ns,
        _cell(figures.tokens_per_second),
        *(_cell(figures.values[number]) for number in further),
        reason,
    )


def _cell(value: Value | None) -> str | int | None:
    return f"{float(value):.6g}" if isinstance(value, Fraction) else value
