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


def simulate(
    inventory: Inventory, settings: Settings, assignment: Assignment, copies: int, *, pinned: bool = True
) -> dict[int, int]:
    """Return the bytes of the compute buffer of every place."""
    flash = settings.flash_attention is not FlashAttention.OFF
    here = context(inventory, settings, assignment, flash=flash, pinned=pinned)
    build(here)
    return buffer_sizes(schedule(here.graph, copies), 32)
