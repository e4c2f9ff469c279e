"""The compute buffer of every device: the worst-case graph is laid out as the engine lays it out, and its peak is read off.

Built for llama.cpp at 0c1e570 (October 2026). The graph of a family follows its tensors; see `compute_blocks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_allocate import buffer_sizes
from solver.engines.llamacpp.compute_blocks import build
from solver.engines.llamacpp.compute_context import context
from solver.engines.llamacpp.compute_schedule import schedule
from solver.engines.llamacpp.facts import FlashAttention

if TYPE_CHECKING:
    from solver.engines.llamacpp.facts import Assignment, Settings
    from tensors.inventory import Inventory

__all__ = ["simulate"]

_ALIGNMENT_BYTES = 32
"""Of buffers of the CPU and of remote devices."""


def simulate(
    inventory: Inventory, settings: Settings, assignment: Assignment, copies: int, *, pinned: bool = True
) -> dict[int, int]:
    """Return the bytes of the compute buffer of every place."""
    flash = _is_fused(inventory, settings, assignment)
    here = context(inventory, settings, assignment, flash=flash, pinned=pinned, probe=False)
    build(here)
    return buffer_sizes(schedule(here.graph, copies), _ALIGNMENT_BYTES)


def _is_fused(inventory: Inventory, settings: Settings, assignment: Assignment) -> bool:
    """Return whether attention is fused: as asked for, or where a small graph would run it on its block's device."""
    if settings.flash_attention is not FlashAttention.AUTO:
        return settings.flash_attention is FlashAttention.ON
    here = context(inventory, settings, assignment, flash=True, pinned=True, probe=True)
    build(here)
    places = {id(node): place for node, _, place in schedule(here.graph, 1).steps}
    return all(places[id(node)] == here.device(block) for node, block in here.fused)
