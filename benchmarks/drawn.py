"""Families of drawn instances: blocks all of different sizes on unlike nodes or on nodes of a few kinds."""

from __future__ import annotations

from functools import partial

from benchmarks.family import MEMORY, RIVALS, Family, Instance, Target
from benchmarks.instances import nodes_of_kinds, unlike

__all__ = ["DRAWN", "DRAWN_SMALL"]


def _unlike(blocks: int, nodes: int, fills: tuple[float, ...], seeds: int) -> tuple[Instance, ...]:
    return tuple(
        Instance(f"{fill:.0%} full, seed {seed}", partial(unlike, blocks, nodes, fill, seed))
        for seed in range(seeds)
        for fill in fills
    )


def _kinds(blocks: int, kinds: tuple[tuple[int, int], ...], fill: float, seeds: int) -> tuple[Instance, ...]:
    return tuple(
        Instance(f"{fill:.0%} full, seed {seed}", partial(nodes_of_kinds, blocks, kinds, fill, seed))
        for seed in range(seeds)
    )


def _all(objectives: tuple[str, ...], target: Target) -> dict[str, Target]:
    return dict.fromkeys(objectives, target)


# Blocks of 4.8 to 11.2 GiB: most nodes hold one or none, a few hold three, and at most 100 of the 1,000 are used.
_BUDGETS = (4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 24, 32)
_COUNTS = (250, 190, 150, 110, 90, 70, 50, 35, 25, 15, 10, 5)
_THOUSAND = tuple(zip(_BUDGETS, _COUNTS, strict=True))
_THOUSAND_FILL = 0.108

DRAWN = (
    Family(
        name="unlike-78x10",
        instances=_unlike(78, 10, (0.60, 0.75, 0.90, 0.97), 3),
        targets=_all(MEMORY, Target(1.0, None)) | {"latency": Target(3.0, None), "throughput": Target(None, None)},
        limit_seconds=60,
        most_mib=None,
        rivals=RIVALS,
        compared=4,
    ),
    Family(
        name="kinds-126x64",
        instances=_kinds(126, ((24, 11), (32, 11), (48, 11), (64, 11), (80, 10), (96, 10)), 0.60, 2),
        targets=_all(MEMORY, Target(15.0, None)),
        limit_seconds=120,
        most_mib=None,
        rivals=(),
        compared=0,
    ),
    Family(
        name="kinds-126x120",
        instances=_kinds(126, tuple((budget, 24) for budget in (24, 32, 48, 64, 96)), 0.50, 2),
        targets=_all(MEMORY, Target(45.0, None)),
        limit_seconds=120,
        most_mib=1024,
        rivals=(),
        compared=0,
    ),
    Family(
        name="kinds-100x1000",
        instances=_kinds(100, _THOUSAND, _THOUSAND_FILL, 2),
        targets=_all(MEMORY, Target(None, 0.02)),
        limit_seconds=60,
        most_mib=2048,
        rivals=(),
        compared=0,
    ),
    Family(
        name="unlike-126x16",
        instances=_unlike(126, 16, (0.60, 0.85), 2),
        targets={"latency": Target(None, 0.01)},
        limit_seconds=30,
        most_mib=None,
        rivals=(),
        compared=0,
    ),
)

# The same families at a size that takes seconds.
DRAWN_SMALL = (
    Family(
        name="unlike-78x10",
        instances=_unlike(12, 4, (0.90,), 1),
        targets=_all((*MEMORY, "latency", "throughput"), Target(None, None)),
        limit_seconds=20,
        most_mib=None,
        rivals=RIVALS,
        compared=1,
    ),
    Family(
        name="kinds-126x64",
        instances=_kinds(10, ((24, 2), (32, 1), (48, 1)), 0.60, 1),
        targets=_all(MEMORY, Target(None, None)),
        limit_seconds=20,
        most_mib=None,
        rivals=(),
        compared=0,
    ),
    Family(
        name="kinds-126x120",
        instances=_kinds(12, tuple((budget, 2) for budget in (24, 32, 48, 64, 96)), 0.50, 1),
        targets=_all(MEMORY, Target(None, None)),
        limit_seconds=20,
        most_mib=None,
        rivals=(),
        compared=0,
    ),
    Family(
        name="kinds-100x1000",
        instances=_kinds(12, tuple((budget, -(-count // 10)) for budget, count in _THOUSAND), _THOUSAND_FILL, 1),
        targets=_all(("nodes", "balance", "tokens"), Target(None, None)),
        limit_seconds=20,
        most_mib=None,
        rivals=(),
        compared=0,
    ),
    Family(
        name="unlike-126x16",
        instances=_unlike(14, 5, (0.85,), 1),
        targets={"latency": Target(None, None)},
        limit_seconds=20,
        most_mib=None,
        rivals=RIVALS,
        compared=1,
    ),
)
