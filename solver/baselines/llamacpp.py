"""llama.cpp by free bytes: each layer and the head to the first device whose cumulative share is above its place.

No look at sizes, caches or compute buffers. The input, which the engine keeps on the host, is with the first stage as
the problem says.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from solver.baselines.offered import head_alone, in_runs, usable_nodes
from solver.baselines.strategy import NoPlacement
from solver.engines.llamacpp.float32 import LARGEST, rounded
from solver.engines.llamacpp.profile import DEFAULT_BUILD, profile_of
from solver.engines.llamacpp.slots import slot_devices

if TYPE_CHECKING:
    from solver.baselines.strategy import Answer
    from solver.problem import Problem

__all__ = ["llamacpp"]

_ALL_LAYERS = -1


def llamacpp(problem: Problem) -> Answer:
    """Split by the budgets, as the engine does by free memory where no shares are given."""
    nodes = usable_nodes(problem)
    if not nodes:
        return NoPlacement("No node has a budget.")
    if sum(node.room_bytes for node in nodes) > LARGEST:
        return NoPlacement("The budgets are beyond 32-bit floats, in which it adds them up.")
    shares = [rounded(float(node.room_bytes)) for node in nodes]
    slots = slot_devices(profile_of(DEFAULT_BUILD), problem.block_count, _ALL_LAYERS, shares, len(nodes))
    if problem.head_alone:
        return in_runs((nodes[device], len(list(run))) for device, run in groupby(slots))
    *blocks, head = slots
    if head != blocks[-1] and problem.ends.output_bytes:
        return head_alone(nodes[head])
    return in_runs((nodes[device], len(list(run))) for device, run in groupby(blocks))
