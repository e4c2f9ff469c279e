"""distilp's own objective over all devices, as distilp has it, and over the best choice of them: side by side.

    python -m benchmarks.public.distilp_subset [--drawn N] [--as-coded]

Public rows pool the five published devices, or take the two that were profiled together, for every published model. A
machine that was profiled alone has a hop of 0 seconds in its file; "with hops" gives it the larger of the two measured
ones. Drawn rows are N seeded pools each of 4 and 8 Macs between the extremes of the published ones, with 8 to 96 GiB.

Both sides are proved by HiGHS in one run, and each answer is recomputed by arithmetic. `--as-coded` asks instead for
the objective as the published code builds it (see distilp_objective), on the public rows, trying every subset.
"""

from __future__ import annotations

import argparse
import sys
import time
from math import exp, log
from random import Random
from statistics import median
from typing import TYPE_CHECKING

import msgspec

from benchmarks.public.distilp import DEVICES, MODELS, read_device, read_model
from benchmarks.public.distilp_objective import best_of_all, best_of_choice, best_of_subsets, seconds_of
from benchmarks.public.folder import AbsentDataError, instances_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.public.distilp import DistilpDevice, DistilpModel

__all__ = ["drawn_pool", "main", "public_pools"]

_GIB = 2**30
_HEAD = "m1"
_DRAWN_MODEL = "Llama-3-70B 4-bit"
_SAME = 1e-6


def main() -> int:
    """Print the rows and return the exit code: 1 if an answer is not what arithmetic says, or a choice is worse."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.public.distilp_subset", description="All or some.")
    parser.add_argument("--drawn", type=int, default=10, help="pools of each size")
    parser.add_argument("--as-coded", action="store_true", help="with the hop in every coefficient, as published")
    chosen = parser.parse_args()
    folder = instances_folder()
    if folder is None:
        print("No public instances: name the folder that holds `instances` in LAYERFIT_DATA.", file=sys.stderr)
        return 0
    try:
        good = _compared(folder / "distilp", chosen.drawn, as_coded=chosen.as_coded)
    except AbsentDataError as absent:
        print(f"The comparison is left out: {absent}", file=sys.stderr)
        return 0
    return 0 if good else 1


def _compared(folder: Path, drawn: int, *, as_coded: bool) -> bool:
    """Print every row and return whether all stand."""
    print(f"{'model':<20}{'devices':<22}{'all, s':>9}{'k':>3}{'chosen, s':>11}{'k':>3}{'ratio':>7}  chosen")
    good = True
    for model in (read_model(folder, name) for name in MODELS):
        for pool, devices in public_pools(folder).items():
            good &= _row(model, pool, devices, as_coded=as_coded)[0]
    if not as_coded:
        model = read_model(folder, _DRAWN_MODEL)
        for count in (4, 8):
            good &= _drawn_row(model, [drawn_pool(folder, count, seed) for seed in range(drawn)], count)
    return good


def public_pools(folder: Path) -> dict[str, tuple[DistilpDevice, ...]]:
    """Return the pools of published devices; m1 is the head."""
    devices = {name: read_device(folder, name, is_head=name == _HEAD) for name in DEVICES}
    hop = max(device.hop_seconds for device in devices.values())
    together = tuple(device for device in devices.values() if device.hop_seconds)
    with_hops = tuple(
        device if device.hop_seconds else msgspec.structs.replace(device, hop_seconds=hop)
        for device in devices.values()
    )
    return {"m1, m2": together, "all five": tuple(devices.values()), "all five, with hops": with_hops}


def drawn_pool(folder: Path, count: int, seed: int) -> tuple[DistilpDevice, ...]:
    """Draw Macs like a published one in all but speed, disk, memory and hop; the first is the head."""
    random = Random(f"distilp {count} {seed}")  # noqa: S311 - instances need no secrecy
    known = [read_device(folder, name, is_head=False) for name in DEVICES]

    def between(low: float, high: float) -> float:
        return exp(random.uniform(log(low), log(high)))

    def extremes(field: str) -> tuple[float, float]:
        found = [getattr(device, field) for device in known]
        return min(found), max(found)

    return tuple(
        msgspec.structs.replace(
            random.choice(known),
            name=f"drawn {number}",
            is_head=number == 0,
            cpu_bytes_per_second=between(*extremes("cpu_bytes_per_second")),
            gpu_bytes_per_second=between(*extremes("gpu_bytes_per_second")),
            disk_bytes_per_second=between(*extremes("disk_bytes_per_second")),
            metal_bytes=int(between(8 * _GIB, 96 * _GIB)),
            hop_seconds=between(0.001, 0.0636),
        )
        for number in range(count)
    )


def _row(model: DistilpModel, pool: str, devices: Sequence[DistilpDevice], *, as_coded: bool) -> tuple[bool, float]:
    """Print one comparison; return whether it stands and the ratio of all to chosen."""
    everyone = best_of_all(model, devices, as_coded=as_coded)
    choice = best_of_subsets(model, devices, as_coded=True) if as_coded else best_of_choice(model, devices)
    assert everyone is not None
    ratio = everyone.seconds / choice.seconds
    used = ", ".join(
        f"{device.name}: {layers * choice.rounds}"
        for device, layers in zip(devices, choice.layers, strict=True)
        if layers
    )
    print(
        f"{model.name:<20}{pool:<22}{everyone.seconds:>9.4f}{everyone.rounds:>3}"
        f"{choice.seconds:>11.4f}{choice.rounds:>3}{ratio:>7.2f}  {used}"
    )
    right = as_coded or all(
        abs(seconds_of(model, devices, placed) - placed.seconds) <= _SAME * placed.seconds
        for placed in (everyone, choice)
    )
    return right and ratio >= 1 - _SAME, ratio


def _drawn_row(model: DistilpModel, pools: Sequence[Sequence[DistilpDevice]], count: int) -> bool:
    began = time.perf_counter()
    rows = [_row(model, f"{count} drawn, seed {seed}", pool, as_coded=False) for seed, pool in enumerate(pools)]
    if not rows:
        return True
    ratios = [ratio for _, ratio in rows]
    print(
        f"{count} drawn devices, {len(rows)} pools: all over chosen {median(ratios):.2f} in the middle, "
        f"{max(ratios):.2f} at most, {time.perf_counter() - began:.1f} s"
    )
    return all(right for right, _ in rows)


if __name__ == "__main__":
    sys.exit(main())
