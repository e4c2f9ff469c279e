"""prima.cpp and distilp: one round (k = 1), every device at least a layer.

Both may stream layers from disk, at a speed that a problem does not say; here memory is hard, and what would be
streamed is the reason why nothing is placed. With hard memory their programmes have a greedy optimum: a layer each, and
the rest where a layer takes least time.
"""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

from solver.baselines.offered import first_bytes, in_runs, layers_in, not_enough_blocks, rates, usable_nodes
from solver.baselines.strategy import NoPlacement
from solver.engines.llamacpp.float32 import rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from solver.baselines.strategy import Answer
    from solver.problem import Node, Problem

__all__ = ["distilp", "fastest_first", "memory_windows", "prima", "prima_memory"]

# What a layer on the head's device counts less there (`master_priority`, 1.01).
_PRIORITY = 1 / 1.01
_GIB = 2.0**30


def prima(problem: Problem) -> Answer:
    """Solve, drop every device but the first that got one layer, and solve again until none is dropped."""
    return _selected(problem, lambda nodes: _window(problem, nodes, priority=_PRIORITY))


def prima_memory(problem: Problem) -> Answer:
    """Share out by memory, as a build without HiGHS does, and drop devices in the same way."""
    return _selected(
        problem, lambda nodes: memory_windows(len(problem.blocks), [node.room_bytes / _GIB for node in nodes])
    )


def distilp(problem: Problem) -> Answer:
    """Solve once: every device has a layer, whatever it costs."""
    nodes = usable_nodes(problem)
    none = not_enough_blocks(problem, nodes)
    if none is not None:
        return none
    counts = _window(problem, nodes, priority=1.0)
    return counts if isinstance(counts, NoPlacement) else in_runs(zip(nodes, counts, strict=True))


def _selected(problem: Problem, solved: Callable[[Sequence[Node]], tuple[int, ...] | NoPlacement]) -> Answer:
    nodes: Sequence[Node] = usable_nodes(problem)
    none = not_enough_blocks(problem, nodes)
    if none is not None:
        return none
    while True:
        counts = solved(nodes)
        if isinstance(counts, NoPlacement):
            return counts
        kept = [node for number, node in enumerate(nodes) if number == 0 or counts[number] > 1]
        if len(kept) == len(nodes):
            return in_runs(zip(nodes, counts, strict=True))
        nodes = kept


def _window(problem: Problem, nodes: Sequence[Node], *, priority: float) -> tuple[int, ...] | NoPlacement:
    speeds = rates(problem, nodes)
    if isinstance(speeds, NoPlacement):
        return speeds
    # The device of the head has the input and the output.
    ends = first_bytes(problem) + problem.ends.output_bytes - problem.ends.tied_bytes
    rooms = [layers_in(problem, node.room_bytes - (ends if number == 0 else 0)) for number, node in enumerate(nodes)]
    return fastest_first(len(problem.blocks), rooms, _times(speeds, priority))


def _times(speeds: Sequence[Fraction], priority: float) -> list[float]:
    times = [float(1 / speed) for speed in speeds]
    return [times[0] * priority, *times[1:]]


def fastest_first(layers: int, rooms: Sequence[int], times: Sequence[float]) -> tuple[int, ...] | NoPlacement:
    """Return layers by device: one each, the rest to the device of least time a layer that has room.

    >>> fastest_first(32, (40, 40, 29, 40), (2.0, 3.0, 1.0, 4.0))
    (1, 1, 29, 1)
    """
    if min(rooms) < 1 or sum(rooms) < layers:
        return NoPlacement("A part of the model would be streamed from disk; nothing is known of its speed.")
    counts = [1] * len(rooms)
    for number in sorted(range(len(rooms)), key=times.__getitem__):
        counts[number] += min(layers - sum(counts), rooms[number] - 1)
    return tuple(counts)


def memory_windows(layers: int, memories: Sequence[float]) -> tuple[int, ...] | NoPlacement:
    """Return layers by device in proportion to memory, in 32-bit floats, at least one each.

    What rounding adds or lacks is put on the largest, or taken off the smallest.

    >>> memory_windows(32, (2.4, 8.0, 11.0, 1.9))
    (3, 11, 15, 3)
    """
    sizes = [rounded(memory) for memory in memories]
    total = 0.0
    for size in sizes:
        total = rounded(total + size)
    counts = [floor(rounded(rounded(size / total) * layers) + 0.5) for size in sizes]
    for number, count in enumerate(counts):
        if count == 0:
            counts[number] = 1
            largest = max(range(len(counts)), key=counts.__getitem__)
            counts[largest] -= counts[largest] > 1
    rest = layers - sum(counts)
    counts[sizes.index(max(sizes) if rest > 0 else min(sizes))] += rest
    if min(counts) < 1:
        return NoPlacement("Rounding leaves a device without a layer, which it does not allow.")
    return tuple(counts)
