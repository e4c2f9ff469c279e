"""What a placement gives every rank: weights, room for cache, and how many tokens and sequences that is.

All figures are of one card of a rank, as the engines print them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.engines.servers.pool import Room
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from fractions import Fraction

    from solver.engines.servers.build import ServedProblem
    from solver.engines.servers.cards import Share
    from solver.workload import EngineName

__all__ = ["RankFigures", "ServedFigures", "default_placement", "served_figures"]


@dataclass(frozen=True, slots=True)
class RankFigures:
    """One rank of the pipeline. Bytes are of one of its cards.

    `requested_bytes` is the engine's share of a card, and `available_bytes` what weights and overhead leave of it for
    cache, below 0 where they do not fit. `units`, `tokens` and `concurrency` are what the rank has room for by itself,
    None where its blocks keep nothing.
    """

    rank: int
    device: str
    machine: str
    cards: tuple[str, ...]
    start: int
    end: int
    requested_bytes: int
    weight_bytes: int
    overhead_bytes: int
    available_bytes: int
    units: int | None
    tokens: int | None
    concurrency: Fraction | None


@dataclass(frozen=True, slots=True)
class ServedFigures:
    """A placement as the engine would run it: every rank, and the `units` of cache that all ranks end up with.

    `weakest` is the first rank that has room for the fewest units; `fits` says that the request's sequences fit.
    """

    engine: EngineName
    build: str
    share: Share
    share_name: str
    width: int
    unit: str
    context_tokens: int
    sequences: int
    ranks: tuple[RankFigures, ...]
    units: int
    tokens: int
    concurrency: Fraction
    weakest: int
    fits: bool


def served_figures(served: ServedProblem, placement: Placement) -> ServedFigures:
    """Return the figures of a placement of a served problem; every node of it is a device of the problem."""
    ranks = tuple(_rank(served, number, stage) for number, stage in enumerate(placement.stages))
    pool = served.pool
    units = pool.shared_units([Room(rank.start, rank.end, rank.available_bytes) for rank in ranks])
    enough = units >= pool.request_units * pool.request.sequences
    limited = [rank for rank in ranks if rank.units is not None] or list(ranks)
    return ServedFigures(
        engine=served.profile.engine,
        build=served.profile.build,
        share=served.share,
        share_name=served.profile.share_name,
        width=served.settings.width,
        unit=pool.unit,
        context_tokens=pool.request.context_tokens,
        sequences=pool.request.sequences,
        ranks=ranks,
        units=units,
        tokens=pool.tokens(units),
        concurrency=pool.concurrency(units),
        weakest=min(limited, key=lambda rank: rank.units or 0).rank,
        fits=enough and all(rank.available_bytes >= 0 for rank in ranks),
    )


def default_placement(served: ServedProblem, devices: tuple[str, ...]) -> Placement:
    """Return the cut that the engine makes on these devices, in this order, where nobody tells it one."""
    counts = served.profile.default_partition(len(served.problem.blocks), len(devices))
    stages = []
    start = 0
    for device, count in zip(devices, counts, strict=True):
        stages.append(Stage(start, start + count, device))
        start += count
    return Placement(tuple(stages))


def _rank(served: ServedProblem, number: int, stage: Stage) -> RankFigures:
    device = served.devices_by_name[stage.node]
    requested = served.share.bytes_of(device.card_bytes)
    weight = _weight_bytes(served, stage)
    available = requested - weight - served.overhead_bytes
    pool = served.pool
    units = pool.units(stage.start, stage.end, available)
    return RankFigures(
        rank=number,
        device=device.name,
        machine=device.machine,
        cards=device.cards,
        start=stage.start,
        end=stage.end,
        requested_bytes=requested,
        weight_bytes=weight,
        overhead_bytes=served.overhead_bytes,
        available_bytes=available,
        units=units,
        tokens=None if units is None else pool.tokens(units),
        concurrency=None if units is None else pool.concurrency(units),
    )


def _weight_bytes(served: ServedProblem, stage: Stage) -> int:
    weights = served.weights
    total = sum(block.weight_bytes for block in weights.blocks[stage.start : stage.end])
    first, last = stage.start == 0, stage.end == len(weights.blocks)
    ends = (weights.input_bytes if first else 0) + (weights.head_bytes if last else 0)
    return total + ends - (weights.tied_bytes if first and last else 0)
