"""Whether the weights of a plan's blocks are those that its engine makes of a model: cut for cards, rows filled up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.placement import allocated_bytes
from solver.engines.llamacpp.profile import BACKENDS
from solver.engines.servers.sharding import card_weights
from solver.workload import EngineName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.engines.llamacpp.facts import Backend
    from tensors.inventory import Inventory

__all__ = ["are_weights_of"]

_SERVERS = (EngineName.VLLM, EngineName.SGLANG)
_MOST_CARDS = 64


def are_weights_of(inventory: Inventory, weights: tuple[int, ...], engine: str | None, width: int) -> bool:
    """Return whether these bytes, one for each placed block, are a model's as an engine holds them.

    `width` is how many cards take a stage together, 0 where that was left open.
    """
    count = len(weights)
    proper = tuple(block.weight_bytes for block in inventory.blocks()[:count])
    if len(proper) != count:
        return False
    if engine in _SERVERS:
        widths = (width,) if width else range(1, _MOST_CARDS + 1)
        return any(weights == _cut(inventory, count, each) for each in widths)
    return weights == proper or (engine == EngineName.LLAMACPP and weights in _largest(inventory, weights))


def _cut(inventory: Inventory, count: int, width: int) -> tuple[int, ...]:
    """Return what `width` cards hold of every block together; what is not cut each of them holds."""
    if width > _MOST_CARDS:
        return ()
    return tuple(block.weight_bytes * width for block in card_weights(inventory, count, width, 1).blocks)


def _largest(inventory: Inventory, weights: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the most that any kind of device sets aside for every block, of those kinds that need no more than these.

    llama.cpp is planned for the most of the kinds at hand. Kinds that need more are not among them; if no set of
    the others comes to these weights, neither do all of the others.
    """
    needs = [_allocated(inventory, len(weights), backend) for backend in BACKENDS]
    within = [need for need in needs if all(size <= most for size, most in zip(need, weights, strict=True))]
    if within:
        yield tuple(max(sizes) for sizes in zip(*within, strict=True))


def _allocated(inventory: Inventory, count: int, backend: Backend) -> tuple[int, ...]:
    sizes = [0] * count
    for tensor in inventory.tensors:
        if tensor.block is not None and tensor.block < count:
            sizes[tensor.block] += allocated_bytes(tensor, backend)
    return tuple(sizes)
