"""Options as a document: `layerfit/options/1`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solver.options.lines import reason_of
from solver.options.option import Method
from solver.options.pool import GB
from solver.options.ranking import quality

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.options.lines import Line
    from solver.options.option import Option

__all__ = ["OPTIONS_SCHEMA", "options_document"]

OPTIONS_SCHEMA = "layerfit/options/1"


def options_document(
    lines: Sequence[Line], context_tokens: int, notes: Sequence[str], *, only: Sequence[Line]
) -> dict[str, Any]:
    """Return the document of some of the lines in their order; the two answers about one place have one rank."""
    return {
        "schema": OPTIONS_SCHEMA,
        "context_tokens": context_tokens,
        "options": [
            _option(option, line.rank, reason_of(lines, line.rank)) for line in only for option in line.options
        ],
        "notes": list(notes),
    }


def _option(option: Option, rank: int, reason: str) -> dict[str, Any]:
    artifact, place, bits = option.artifact, option.place, option.bits_per_weight
    is_exact = option.method is Method.EXACT
    return {
        "rank": rank,
        "artifact": artifact.name,
        "format": artifact.format,
        "quant": artifact.quant or None,
        "bytes": artifact.size_bytes,
        "shards": artifact.shards,
        "engine": option.engine,
        "label": place.label,
        "cpu": place.cpu,
        "gpu_class": place.gpu_class,
        "fabric": place.fabric,
        "gpus_per_node": place.gpus_per_node,
        "nodes": place.nodes,
        "cards": place.cards,
        "need_gb": option.need_bytes / GB,
        "have_gb": option.have_bytes / GB,
        "need_bytes": option.need_bytes,
        "have_bytes": option.have_bytes,
        "hosts": option.hosts,
        "free_now": option.free_now,
        "bits_per_weight": None if bits is None else float(bits),
        "quality": float(quality(bits, cpu=place.cpu)),
        "method": option.method.value,
        "refuted": option.refuted,
        "verdict": None if is_exact else option.verdict.value,
        "stages": _stages(option) if is_exact else None,
        "longest_context": option.longest_context if is_exact else None,
        "arithmetic_context": None if is_exact else option.longest_context,
        "proof": option.proof or None,
        "reason": reason,
        "note": option.note or None,
    }


def _stages(option: Option) -> list[dict[str, Any]]:
    return [
        {
            "node": stage.node,
            "device": stage.device,
            "start": stage.start,
            "end": stage.end,
            "need_bytes": stage.need_bytes,
            "have_bytes": stage.have_bytes,
        }
        for stage in option.stages
    ]
