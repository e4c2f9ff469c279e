"""Petals and SWARM: servers hold what they have room for, and a client's chain passes some of them.

What such a layout holds twice serves other requests; the chain of one request is placed here, and a server counts what
that chain uses of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.baselines.offered import in_runs, layers_in, rates, usable_nodes
from solver.baselines.strategy import NoPlacement
from solver.problem import Stage
from solver.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.baselines.strategy import Answer
    from solver.problem import Problem

__all__ = ["best_start", "petals", "swarm"]


def petals(problem: Problem) -> Answer:
    """Let servers join as listed, each where the swarm is slowest; then pass as few of them as possible.

    A server takes as many blocks of mean size as it has room for. Its throughput is counted as the engine counts it: a
    request uses half of a server's blocks and half of one more on average.
    """
    nodes = usable_nodes(problem)
    speeds = rates(problem, nodes)
    if isinstance(speeds, NoPlacement):
        return speeds
    blocks = len(problem.blocks)
    throughputs = [0.0] * blocks
    spans = []
    for node, speed in zip(nodes, speeds, strict=True):
        count = min(layers_in(problem, node.room_bytes), blocks)
        if count:
            start = best_start(throughputs, count)
            for block in range(start, start + count):
                throughputs[block] += float(speed) / ((count + 1) / 2)
            spans.append((start, start + count, node.name))
    return _route(spans, blocks)


def best_start(throughputs: Sequence[float], count: int) -> int:
    """Return the first window of so many blocks whose sorted throughputs are the least, compared one by one.

    >>> best_start([2.0, 2.0, 0.0, 0.0, 1.0], 2)
    2
    """
    return min((sorted(throughputs[start : start + count]), start) for start in range(len(throughputs) - count + 1))[1]


def _route(spans: Sequence[tuple[int, int, str]], blocks: int) -> Answer:
    """Return the chain through the fewest servers: from each block on with the one that reaches farthest."""
    stages: list[Stage] = []
    reached = 0
    while reached < blocks:
        holders = [(end, -number) for number, (start, end, _) in enumerate(spans) if start <= reached < end]
        if not holders:
            return NoPlacement(f"No server holds block {reached}.")
        end, number = max(holders)
        stages.append(Stage(reached, end, spans[-number][2]))
        reached = end
    return tuple(stages)


def swarm(problem: Problem) -> Answer:
    """Cut equal stages that every node has room for, as few as possible; pass the fastest node of each.

    Nodes go to the slowest stage, the fastest first; so the first of each stage is its fastest.
    """
    nodes = usable_nodes(problem)
    speeds = rates(problem, nodes)
    if isinstance(speeds, NoPlacement):
        return speeds
    if not nodes:
        return NoPlacement("No node has a budget.")
    blocks = len(problem.blocks)
    room = layers_in(problem, min(node.room_bytes for node in nodes))
    stages = next((count for count in range(1, blocks + 1) if blocks % count == 0 and blocks // count <= room), None)
    if stages is None:
        return NoPlacement("Its smallest node has no room for a block of mean size.")
    if stages > len(nodes):
        return NoPlacement(
            f"Its smallest node asks for {stages} equal stages; there are {counted(len(nodes), 'node')}."
        )
    fastest = sorted(zip(speeds, range(len(nodes)), strict=True), reverse=True)[:stages]
    return in_runs((nodes[number], blocks // stages) for _, number in fastest)
