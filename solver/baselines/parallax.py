"""Parallax: the largest nodes until the layers are covered, then shared out by speed within what each can hold.

The engine goes on to build further pipelines of the nodes that are left; one is placed here, the first. Its shares of
memory for weights and cache (0.5 and 0.3) are replaced by the budget, which counts both.
"""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

from solver.baselines.offered import first_bytes, in_runs, layers_in, rates, usable_nodes
from solver.baselines.strategy import NoPlacement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.baselines.strategy import Answer
    from solver.problem import Node, Problem

__all__ = ["parallax", "water_filled"]

_BISECTIONS = 40


def parallax(problem: Problem) -> Answer:
    """Build one pipeline greedily and fill it by speed (GreedyLayerAllocator, adjust_pipeline_layers)."""
    nodes = usable_nodes(problem)
    speeds = rates(problem, nodes)
    if isinstance(speeds, NoPlacement):
        return speeds
    chosen = _pipeline(problem, sorted(nodes, key=lambda node: -_capacity(problem, node)))
    if chosen is None:
        return NoPlacement("The nodes do not hold enough layers of mean size.")
    chosen.sort(key=lambda node: -_capacity(problem, node))
    last = len(chosen) - 1
    # A node that is alone never pays for the head there.
    capacities = [
        _capacity(problem, node, first=number == 0, head=0 < number == last) for number, node in enumerate(chosen)
    ]
    speed_of = dict(zip((node.name for node in nodes), speeds, strict=True))
    counts = water_filled(len(problem.blocks), capacities, [float(speed_of[node.name]) for node in chosen])
    if isinstance(counts, NoPlacement):
        return counts
    return in_runs(zip(chosen, counts, strict=True))


def _capacity(problem: Problem, node: Node, *, first: bool = False, head: bool = False) -> int:
    """Return how many layers of mean size a node holds beside the ends that it pays for."""
    ends = problem.ends
    room = node.room_bytes - (first_bytes(problem) if first else 0)
    if head:
        room -= ends.output_bytes - (ends.tied_bytes if first else 0)
    return layers_in(problem, room)


def _pipeline(problem: Problem, left: list[Node]) -> list[Node] | None:
    """Return the nodes of the first pipeline; None where what is left does not cover the layers."""
    layers = len(problem.blocks)
    together = sum(_capacity(problem, node) for node in left)
    if together < layers:
        return None
    chosen: list[Node] = []
    while layers > 0 and left:
        first = not chosen
        best = 0
        if first and together - layers > layers:
            # Enough for another pipeline: the smallest node that finishes this one alone spares the large ones.
            alone = [number for number, node in enumerate(left) if _finishes(problem, node, together)]
            best = alone[-1] if alone else 0
        node = left.pop(best)
        chosen.append(node)
        held = _capacity(problem, node, first=first)
        if held >= layers:
            held = _capacity(problem, node, first=first, head=True)
        layers -= held
    return chosen if layers <= 0 else None


def _finishes(problem: Problem, node: Node, together: int) -> bool:
    held = _capacity(problem, node, head=True)
    return held >= len(problem.blocks) and together - held >= len(problem.blocks)


def water_filled(layers: int, capacities: Sequence[int], speeds: Sequence[float]) -> tuple[int, ...] | NoPlacement:
    """Return layers by node: in proportion to speed under capacities, floors, the rest to the largest remainders.

    >>> water_filled(14, (13, 5), (312.0, 104.8))
    (10, 4)
    """
    if min(capacities) <= 0:
        return NoPlacement("A node that it chose holds no layer beside the ends that it pays for.")
    if sum(capacities) < layers:
        return NoPlacement(f"The nodes that it chose hold {sum(capacities)} layers of mean size; there are {layers}.")
    low, high = 0.0, max(capacity / speed for capacity, speed in zip(capacities, speeds, strict=True))
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        held = sum(min(capacity, middle * speed) for capacity, speed in zip(capacities, speeds, strict=True))
        low, high = (low, middle) if held >= layers else (middle, high)
    targets = [min(capacity, high * speed) for capacity, speed in zip(capacities, speeds, strict=True)]
    counts = [floor(target) for target in targets]
    for _, number in sorted(((target - floor(target), -number) for number, target in enumerate(targets)), reverse=True):
        if sum(counts) < layers and counts[-number] < capacities[-number]:
            counts[-number] += 1
    return tuple(counts) if sum(counts) == layers else NoPlacement("Rounding leaves layers on no node.")
