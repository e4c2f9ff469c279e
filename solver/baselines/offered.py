"""What a problem offers to the rule of an engine, in the engine's terms.

An engine sees nodes with a memory and a speed, and a model of equal layers. Here a node's memory is its budget, and a
layer takes the mean over the blocks of weights and cache together. Cache is counted for every rule that looks at sizes,
also where its engine forgets it: so no rule fails because of that. Speeds are blocks a second, and stand for what
engines call TFLOPS.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from solver.baselines.strategy import NoPlacement
from solver.problem import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from solver.problem import Node, Problem

__all__ = [
    "first_bytes",
    "head_alone",
    "in_runs",
    "layers_in",
    "not_enough_blocks",
    "rates",
    "usable_nodes",
]

_NS = 10**9


def usable_nodes(problem: Problem) -> tuple[Node, ...]:
    """Return the nodes that may take something, in the order listed."""
    return tuple(node for node in problem.nodes if node.name not in problem.rules.exclude and node.room_bytes > 0)


def layers_in(problem: Problem, room_bytes: int) -> int:
    """Return how many layers of mean size a room holds, rounded down, also below 0."""
    total = sum(block.weight_bytes + block.cache_bytes for block in problem.blocks)
    return room_bytes * len(problem.blocks) // max(total, 1)


def first_bytes(problem: Problem) -> int:
    """Return what the first stage holds beside its blocks."""
    return problem.ends.input_bytes + problem.ends.host_bytes


def rates(problem: Problem, nodes: Sequence[Node]) -> tuple[Fraction, ...] | NoPlacement:
    """Return the blocks of mean size that each node works through in a second, or which node has no known speed."""
    mean = Fraction(max(sum(block.active_bytes for block in problem.blocks), 1), len(problem.blocks))
    found = []
    for node in nodes:
        if node.stage_ns:
            found.append(Fraction(_NS, max(node.stage_ns[0], 1)))
        elif node.bytes_per_second is not None:
            found.append(node.bytes_per_second / mean)
        else:
            return NoPlacement(f"It shares blocks out by speed, and none is known of {node.name}.")
    return tuple(found)


def in_runs(shares: Iterable[tuple[Node, int]]) -> tuple[Stage, ...]:
    """Return stages of so many blocks one behind the other; a node without any has no stage."""
    stages = []
    reached = 0
    for node, count in shares:
        if count:
            stages.append(Stage(reached, reached + count, node.name))
            reached += count
    return tuple(stages)


def not_enough_blocks(problem: Problem, nodes: Sequence[Node]) -> NoPlacement | None:
    """Return why nothing is placed where there is no node, or not a block for each."""
    if not nodes:
        return NoPlacement("No node has a budget.")
    if len(problem.blocks) < len(nodes):
        return NoPlacement(f"It wants a block on every node; {len(problem.blocks)} cannot be on {len(nodes)}.")
    return None


def head_alone(node: Node) -> NoPlacement:
    """Return why a placement cannot be shown that gives a node the head and no block."""
    return NoPlacement(f"It puts the head on {node.name} without a block; a stage holds one at least.")
