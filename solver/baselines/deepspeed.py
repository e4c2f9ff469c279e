"""DeepSpeed `parameters`: cut so that the largest and the smallest stage differ least, memory and speed unseen.

The engine's dynamic programme keeps one best split a state, which does not always lead to the best cut. Its sums are
64-bit floats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.baselines.offered import in_runs, not_enough_blocks, usable_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.baselines.strategy import Answer
    from solver.problem import Problem

__all__ = ["deepspeed", "partition_balanced"]


def deepspeed(problem: Problem) -> Answer:
    """Cut the blocks, the ends with the first and the last, into as many stages as there are nodes."""
    nodes = usable_nodes(problem)
    none = not_enough_blocks(problem, nodes)
    if none is not None:
        return none
    return in_runs(zip(nodes, partition_balanced([item.load_bytes for item in problem.items], len(nodes)), strict=True))


def partition_balanced(weights: Sequence[int], parts: int) -> tuple[int, ...]:
    """Return items by part; of equal cuts the last that is tried stays.

    >>> partition_balanced([1, 1, 1, 1, 4], 3)
    (2, 2, 1)
    """
    import numpy as np  # noqa: PLC0415 - a tenth of a second that few runs need

    count = len(weights)
    if count <= parts:
        return tuple(int(part < count) for part in range(parts))
    sums = np.concatenate(([0.0], np.cumsum(np.asarray(weights, dtype=np.float64))))
    runs = sums[:, None] - sums[None, :]
    ahead = np.arange(count + 1)[None, :] >= np.arange(count + 1)[:, None]
    largest, smallest = np.full(count + 1, np.inf), np.full(count + 1, np.inf)
    largest[0] = 0.0
    cut_before = []
    for _ in range(parts):
        upper, lower = np.maximum(runs, largest[None, :]), np.minimum(runs, smallest[None, :])
        cost = np.where(ahead, np.inf, upper - lower)
        place = count - np.argmin(cost[:, ::-1], axis=1)
        rows = np.arange(count + 1)
        reached = np.isfinite(cost[rows, place])
        largest = np.where(reached, upper[rows, place], np.inf)
        smallest = np.where(reached, lower[rows, place], np.inf)
        cut_before.append(place)
    cuts = [count]
    for places in reversed(cut_before):
        cuts.append(int(places[cuts[-1]]))
    return tuple(end - start for end, start in zip(cuts[-2::-1], cuts[:0:-1], strict=True))
