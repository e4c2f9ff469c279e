"""What every rank of a serving engine holds and has room for, as a part of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solver.engines.servers.ranks import RankFigures, ServedFigures

__all__ = ["ranks_document"]


def ranks_document(figures: ServedFigures) -> dict[str, Any]:
    """Return the figures; bytes are of one card, and a rank that sets no limit has null in place of its amounts."""
    return {
        "engine": figures.engine.value,
        "build": figures.build,
        "width": figures.width,
        "share": {"flag": figures.share_name, "value": float(figures.share.value), "card": figures.share.card},
        "context_tokens": figures.context_tokens,
        "sequences": figures.sequences,
        "unit": figures.unit,
        "units": figures.units,
        "tokens": figures.tokens,
        "concurrency": float(figures.concurrency),
        "weakest": figures.weakest,
        "fits": figures.fits,
        "ranks": [_rank(rank) for rank in figures.ranks],
    }


def _rank(rank: RankFigures) -> dict[str, Any]:
    return {
        "rank": rank.rank,
        "device": rank.device,
        "cards": list(rank.cards),
        "start": rank.start,
        "end": rank.end,
        "requested_bytes": rank.requested_bytes,
        "weight_bytes": rank.weight_bytes,
        "other_bytes": rank.overhead_bytes,
        "available_cache_bytes": rank.available_bytes,
        "units": rank.units,
        "tokens": rank.tokens,
        "concurrency": None if rank.concurrency is None else float(rank.concurrency),
    }
