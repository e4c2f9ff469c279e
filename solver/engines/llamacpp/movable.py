"""Which tensors of a block may stay with a host, and the words that say so.

An override sends tensors whose name it finds to a buffer (`-ot`, common/arg.cpp): here the routed experts of blocks, or
all feed-forward networks with them. What `--n-cpu-moe N` finds are the experts of the first N blocks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from solver.engines.llamacpp.flag_values import EXPERTS
from solver.engines.llamacpp.placement import allocated_bytes
from solver.engines.llamacpp.profile import CPU
from solver.workload import Offload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensors.inventory import Inventory

__all__ = ["all_blocks_pattern", "movable_bytes", "pattern_of"]

_NETWORKS: Final = r"\.ffn_(up|down|gate|gate_up)(_(ch|)exps)?\."

_STEMS: Final = {Offload.EXPERTS: EXPERTS, Offload.FFN: _NETWORKS}


def pattern_of(offload: Offload, blocks: Sequence[int]) -> str:
    """Return an expression that finds what may stay with a host of these blocks, from the start of a name."""
    return rf"^blk\.({'|'.join(map(str, blocks))}){_STEMS[offload]}"


def all_blocks_pattern(offload: Offload) -> str:
    """Return an expression that finds it of every block."""
    return rf"^blk\.[0-9]+{_STEMS[offload]}"


def movable_bytes(inventory: Inventory, offload: Offload) -> tuple[tuple[int, int], ...]:
    """Return what of every trunk block may stay with a host, and what of that a token reads.

    Sizes are those on the host, where they are rounded up no further than on any device.
    """
    found = [[0, 0] for _ in range(inventory.trunk_blocks)]
    if offload is Offload.NONE:
        return tuple((0, 0) for _ in found)
    pattern, experts = re.compile(all_blocks_pattern(offload)), re.compile(EXPERTS)
    for tensor in inventory.tensors:
        if tensor.block is not None and tensor.block < len(found) and pattern.search(tensor.name):
            size = allocated_bytes(tensor, CPU)
            found[tensor.block][0] += size
            found[tensor.block][1] += _read(inventory, size) if experts.search(tensor.name) else size
    return tuple((size, read) for size, read in found)


def _read(inventory: Inventory, expert_bytes: int) -> int:
    experts = inventory.architecture.experts
    if experts is None or experts.routed <= 0:
        return expert_bytes
    return -(-expert_bytes * experts.used // experts.routed)
