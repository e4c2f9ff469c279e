"""cake: layers by speed to the workers, fastest first and capped by memory; the master keeps the tail.

The first node listed is the master. Tokens pass the workers and end with it, so the input, which the engine has on the
master, is with the first worker here.
"""

from __future__ import annotations

from functools import reduce
from math import floor
from operator import add
from typing import TYPE_CHECKING

from solver.baselines.offered import first_bytes, in_runs, layers_in, rates, usable_nodes
from solver.baselines.strategy import NoPlacement

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from solver.baselines.strategy import Answer
    from solver.problem import Problem

__all__ = ["cake", "worker_layers"]

_HALF = 0.5


def cake(problem: Problem) -> Answer:
    """Assign layers to workers and give back what the master has no room for."""
    nodes = usable_nodes(problem)
    if not nodes:
        return NoPlacement("No node has a budget.")
    speeds = rates(problem, nodes)
    if isinstance(speeds, NoPlacement):
        return speeds
    master, *workers = nodes
    layers = len(problem.blocks)
    fastest = sorted(range(len(workers)), key=lambda number: -speeds[number + 1])
    order = [workers[number] for number in fastest]
    rooms = [layers_in(problem, worker.room_bytes) for worker in order]
    together = _in_doubles(speeds[1:])
    counts = worker_layers(layers, float(speeds[0]), together, [float(speeds[number + 1]) for number in fastest], rooms)
    own = max(layers_in(problem, master.room_bytes - first_bytes(problem) - problem.ends.output_bytes), 0)
    spare = max(layers - sum(counts) - own, 0)
    taken = []
    for count, room in zip(counts, rooms, strict=True):
        # A worker that came too late for a share is not asked again; one with a share of none has no room.
        taken.append(min(room - count, spare) if count else 0)
        spare -= taken[-1]
    holders = [number for number, count in enumerate(counts) if count]
    for number, more in enumerate(taken):
        if more and number != holders[-1]:
            return NoPlacement(f"It gives {order[number].name} a second run of blocks, behind those of other workers.")
    held = [count + more for count, more in zip(counts, taken, strict=True)]
    return in_runs(zip((*order, master), (*held, layers - sum(held)), strict=True))


def worker_layers(
    layers: int, master: float, together: float, speeds: Sequence[float], rooms: Sequence[int]
) -> list[int]:
    """Return layers by worker, the fastest first: its share of what is left, rounded, at least one, within its room.

    `together` is the sum of the speeds in the order in which the engine adds them, that of its list: shares that are
    half a layer over depend on its last digit.

    >>> worker_layers(24, 10.0, 40.0, [30.0, 10.0], [99, 99])
    [14, 5]
    """
    left = min(_round(together / (together + master) * layers), layers)
    counts = []
    for number, (speed, room) in enumerate(zip(speeds, rooms, strict=True)):
        share = left if number == len(speeds) - 1 else min(max(_round(speed / together * left), 1), left)
        counts.append(min(share, room))
        left -= counts[-1]
        together -= speed
    return counts


def _in_doubles(speeds: Sequence[Fraction]) -> float:
    """Add up one after the other, each sum rounded, which `sum` does only in older versions of Python."""
    return reduce(add, map(float, speeds), 0.0)


def _round(number: float) -> int:
    """Round as Rust does: halves away from zero, and what is next to a half below it down."""
    whole = floor(number)
    return whole + (number - whole >= _HALF)
