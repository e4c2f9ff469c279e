"""accelerate: modules in order, each to the current device while it fits, then to the next for good."""

from __future__ import annotations

from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from solver.baselines.offered import first_bytes, head_alone, in_runs, usable_nodes
from solver.baselines.strategy import NoPlacement
from solver.wording import exact_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.baselines.strategy import Answer
    from solver.problem import Node, Problem

__all__ = ["accelerate", "accelerate_balanced"]


def accelerate(problem: Problem) -> Answer:
    """Fill the nodes as listed; the first keeps room for the largest module that is still to come."""
    nodes = usable_nodes(problem)
    return _walked(problem, nodes, [node.room_bytes for node in nodes])


def accelerate_balanced(problem: Problem) -> Answer:
    """Fill as before, each node but the last to an even share and 1.25 blocks at most."""
    nodes = usable_nodes(problem)
    if len(nodes) <= 1:
        return accelerate(problem)
    modules = _modules(problem)
    share = sum(modules) // len(nodes) + int(1.25 * modules[1])
    limits = [min(share, node.room_bytes) for node in nodes[:-1]]
    return _walked(problem, nodes, [*limits, nodes[-1].room_bytes])


def _modules(problem: Problem) -> list[int]:
    """Return the bytes of the input, of every block, and of the head, of which a tied part is the input's."""
    blocks = [block.weight_bytes + block.cache_bytes for block in problem.blocks]
    return [first_bytes(problem), *blocks, problem.ends.output_bytes - problem.ends.tied_bytes]


def _walked(problem: Problem, nodes: Sequence[Node], limits: Sequence[int]) -> Answer:
    modules = _modules(problem)
    largest_after = [*list(accumulate(reversed(modules), max))[-2::-1], 0]
    places: list[int] = []
    current = used = 0
    for module, still in zip(modules, largest_after, strict=True):
        while current < len(nodes) and used + module > limits[current] - (still if current == 0 else 0):
            current, used = current + 1, 0
        if current == len(nodes):
            left = sum(modules[len(places) :])
            return NoPlacement(f"It leaves {exact_size(left)} to the processor and the disk, from {_named(places)} on.")
        places.append(current)
        used += module
    first, *blocks, head = places
    if head != blocks[-1] and problem.ends.output_bytes > problem.ends.tied_bytes:
        return head_alone(nodes[head])
    if first != blocks[0] and modules[0]:
        return NoPlacement(f"It puts the input on {nodes[first].name} without a block; a stage holds one at least.")
    return in_runs((nodes[place], len(list(run))) for place, run in groupby(blocks))


def _named(places: Sequence[int]) -> str:
    """Return the name of the module that comes after so many."""
    return f"block {len(places) - 1}" if places else "the input"
