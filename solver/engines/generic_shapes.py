"""What blocks and ends take without the rules of any engine: on one device, or on one card of several that share them.

On one device every byte of the files is counted once. Cards that share every block hold what `servers.sharding` says,
and of the caches whole heads, at least one each; latents and indexer keys are kept by every card.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.blocks import Block, Ends, Shape
from solver.engines.servers.sharding import card_weights, tied_bytes
from solver.workload import IndexerRule, Offload
from tensors.architecture import MissingFact
from tensors.cache import BlockCache, CacheKind, block_caches, cache_type, generic_settings, with_indexers
from tensors.errors import ArchitectureError
from tensors.inventory import Part, Role

if TYPE_CHECKING:
    from solver.workload import Workload
    from tensors.cache import CacheTerm
    from tensors.inventory import Inventory

__all__ = ["active_weight_bytes", "placed_blocks", "shape_of", "without_offload"]


@dataclass(frozen=True, slots=True)
class _Weights:
    """Bytes of one block: of all its tensors, of its routed experts, and of its other feed-forward networks."""

    weight_bytes: int
    expert_bytes: int
    feed_forward_bytes: int


def placed_blocks(inventory: Inventory, workload: Workload) -> int:
    """Return how many blocks are placed."""
    return inventory.trunk_blocks + (inventory.nextn_blocks if workload.resident_nextn else 0)


def shape_of(inventory: Inventory, workload: Workload, width: int, offload: Offload) -> Shape:
    """Return what blocks and ends take of one of `width` cards.

    Raises:
        ArchitectureError: the cache cannot be sized, and the workload does not give its bytes.
    """
    placed = placed_blocks(inventory, workload)
    caches = _caches(inventory, workload, placed, width)
    weights, ends = _whole(inventory, placed) if width == 1 else _shared(inventory, placed, width)
    last = placed - 1
    return Shape(
        blocks=tuple(
            _block(inventory, weight, cache, offload, ends.output_bytes if number == last else 0)
            for number, (weight, cache) in enumerate(zip(weights, caches, strict=True))
        ),
        ends=ends,
    )


def without_offload(shape: Shape) -> Shape:
    """Return the same with nothing that could stay with a host."""
    return replace(shape, blocks=tuple(replace(block, expert_bytes=0, expert_active_bytes=0) for block in shape.blocks))


def _block(inventory: Inventory, weights: _Weights, cache: BlockCache, offload: Offload, head_bytes: int) -> Block:
    read = active_weight_bytes(inventory, weights.weight_bytes, weights.expert_bytes)
    # What is read of the experts is what is read of the block beyond all else.
    of_experts = read - (weights.weight_bytes - weights.expert_bytes)
    movable, movable_read = {
        Offload.NONE: (0, 0),
        Offload.EXPERTS: (weights.expert_bytes, of_experts),
        Offload.FFN: (weights.expert_bytes + weights.feed_forward_bytes, of_experts + weights.feed_forward_bytes),
    }[offload]
    return Block(
        weight_bytes=weights.weight_bytes,
        cache_bytes=cache.cache_bytes,
        active_bytes=read + cache.cache_bytes + head_bytes,
        cache_bytes_per_token=cache.bytes_per_token,
        cache_fixed_bytes=cache.fixed_bytes,
        expert_bytes=movable,
        expert_active_bytes=movable_read,
    )


def _whole(inventory: Inventory, placed: int) -> tuple[tuple[_Weights, ...], Ends]:
    feed_forward = [0] * placed
    for tensor in inventory.tensors:
        if tensor.block is not None and tensor.block < placed and tensor.role is Role.FEED_FORWARD:
            feed_forward[tensor.block] += tensor.size_bytes
    blocks = inventory.blocks()[:placed]
    weights = tuple(
        _Weights(block.weight_bytes, block.expert_bytes, extra)
        for block, extra in zip(blocks, feed_forward, strict=True)
    )
    tied = tied_bytes(inventory) if inventory.tied else 0
    inputs = inventory.part_bytes(Part.INPUT) + inventory.part_bytes(Part.OTHER)
    return weights, Ends(inputs, inventory.part_bytes(Part.HEAD) + tied, tied, 0)


def _shared(inventory: Inventory, placed: int, width: int) -> tuple[tuple[_Weights, ...], Ends]:
    of_card = card_weights(inventory, placed, width, 1)
    weights = tuple(
        _Weights(block.weight_bytes, block.expert_bytes, block.feed_forward_bytes) for block in of_card.blocks
    )
    return weights, Ends(of_card.input_bytes, of_card.head_bytes, of_card.tied_bytes, 0)


def _caches(inventory: Inventory, workload: Workload, placed: int, width: int) -> tuple[BlockCache, ...]:
    if workload.cache_bytes_per_token is not None:
        return _given_caches(workload, workload.cache_bytes_per_token, inventory.trunk_blocks, placed, width)
    terms = inventory.architecture.cache
    if isinstance(terms, MissingFact):
        raise ArchitectureError(inventory.name, terms.problem)
    settings = generic_settings(
        workload.context_tokens,
        workload.sequences,
        cache_type(workload.cache_type_k),
        cache_type(workload.cache_type_v),
    )
    # A multi-token prediction block attends to everything: it keeps no indexer keys.
    of_trunk = (term for term in terms if term.kind is not CacheKind.INDEXER or term.block < inventory.trunk_blocks)
    kept = with_indexers(
        of_trunk,
        own=workload.indexer is not IndexerRule.NONE,
        shared=workload.indexer is IndexerRule.CONSERVATIVE,
    )
    return block_caches((_of_card(term, width) for term in kept), placed, settings)


def _of_card(term: CacheTerm, width: int) -> CacheTerm:
    """Return what one of several cards keeps of a term: whole heads, at least one."""
    heads = -(-term.heads // width)

    def share(values: int) -> int:
        return -(-values * heads // term.heads)

    return replace(
        term,
        heads=heads,
        key_values=share(term.key_values),
        value_values=share(term.value_values),
        state_values=share(term.state_values),
    )


def _given_caches(
    workload: Workload, bytes_per_token: int, trunk: int, placed: int, width: int
) -> tuple[BlockCache, ...]:
    """Spread a given number of bytes a token evenly over the trunk blocks, to the byte, and over the cards."""

    def share(total: int, index: int) -> int:
        whole = (index + 1) * total // trunk - index * total // trunk if index < trunk else 0
        return -(-whole // width)

    per_token = bytes_per_token * workload.sequences
    return tuple(
        BlockCache(
            cache_bytes=share(per_token * workload.context_tokens, index),
            bytes_per_token=-(-per_token // (trunk * width)) if index < trunk else 0,
            fixed_bytes=0,
        )
        for index in range(placed)
    )


def active_weight_bytes(inventory: Inventory, weight_bytes: int, expert_bytes: int) -> int:
    """Return the weights of a block that one token reads: all but the routed experts it does not use."""
    experts = inventory.architecture.experts
    if experts is None or experts.routed <= 0 or expert_bytes == 0:
        return weight_bytes
    return weight_bytes - expert_bytes + -(-expert_bytes * experts.used // experts.routed)
