"""What one card of a rank holds of a model's weights when w cards share every block.

Matrices are cut into w parts; what has one dimension, routers, indexers, the first factors of low-rank projections and
towers for images and sound are held whole by every card. K and V are cut by heads, and a head is never cut: with more
cards than heads, several cards hold the same head. Embedding and output matrix are cut by rows, padded before.
Where an engine cuts more than this, a card holds less than is said here, never more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.errors import InputError
from tensors.inventory import Part, Role

if TYPE_CHECKING:
    from tensors.inventory import Inventory, Tensor

__all__ = ["BlockWeights", "CardWeights", "card_weights", "check_width", "is_token_table", "tied_bytes"]

_WHOLE_ROLES = frozenset({Role.NORM, Role.ROUTER, Role.INDEXER, Role.VISION, Role.AUDIO, Role.NEXTN})
# The down projections of latent attention (`ReplicatedLinear` in deepseek_v2.py of both engines).
_LOW_RANK = re.compile(r"(q_a_proj|kv_a_proj\w*|qkv_a_proj\w*|attn_q_a|attn_kv_a\w*)(\.|$)")
_KEY_OR_VALUE = re.compile(r"(k_proj|v_proj|attn_k|attn_v|key|value)(\.|$)")


@dataclass(frozen=True, slots=True)
class BlockWeights:
    """Bytes of one block on one card; `expert_bytes` counts its routed experts, `feed_forward_bytes` dense networks."""

    weight_bytes: int
    expert_bytes: int
    feed_forward_bytes: int


@dataclass(frozen=True, slots=True)
class CardWeights:
    """Bytes on one card of a rank: by block, and what the first and the last rank hold beside blocks.

    `tied_bytes` is the copy of the embedding that the last rank's head uses, paid once where one rank holds both ends.
    """

    blocks: tuple[BlockWeights, ...]
    input_bytes: int
    head_bytes: int
    tied_bytes: int


def check_width(inventory: Inventory, width: int) -> None:
    """Refuse a width that the engines refuse.

    Raises:
        InputError: the attention heads do not divide among so many cards.
    """
    heads = inventory.architecture.heads
    if heads is not None and heads % width:
        raise InputError(
            inventory.name,
            f"its {heads} attention heads do not divide among {width} cards; expected a width that divides them. "
            "Change the width.",
        )
    kv_heads = inventory.architecture.kv_heads
    if kv_heads and kv_heads % width and width % kv_heads:
        raise InputError(
            inventory.name,
            f"its {kv_heads} heads of keys and values do not divide among {width} cards; expected a width that divides "
            "them or is a multiple of them. Change the width.",
        )


def card_weights(inventory: Inventory, placed_blocks: int, width: int, row_multiple: int) -> CardWeights:
    """Return what one of `width` cards holds; rows of embedding and head are padded to `row_multiple`."""
    weight, expert, feed_forward = ([0] * placed_blocks for _ in range(3))
    kv_heads = inventory.architecture.kv_heads
    inputs = head = tied = 0
    for tensor in inventory.tensors:
        if tensor.block is not None:
            if tensor.block < placed_blocks:
                size = _block_tensor_bytes(tensor, width, kv_heads)
                weight[tensor.block] += size
                expert[tensor.block] += size if tensor.role is Role.ROUTED_EXPERT else 0
                feed_forward[tensor.block] += size if tensor.role is Role.FEED_FORWARD else 0
        elif tensor.part is Part.HEAD:
            head += _end_tensor_bytes(tensor, width, row_multiple)
        else:
            size = _end_tensor_bytes(tensor, width, row_multiple)
            inputs += size
            tied += size if inventory.tied and _is_tied(tensor) else 0
    return CardWeights(
        blocks=tuple(BlockWeights(*pair) for pair in zip(weight, expert, feed_forward, strict=True)),
        input_bytes=inputs,
        head_bytes=head + tied,
        tied_bytes=tied,
    )


def tied_bytes(inventory: Inventory) -> int:
    """Return the bytes of the token embedding, which a tied head uses as its matrix."""
    return sum(
        tensor.size_bytes
        for tensor in inventory.tensors
        if tensor.part is Part.INPUT and tensor.role is Role.EMBEDDING and is_token_table(tensor.name)
    )


def is_token_table(name: str) -> bool:
    """Return whether an embedding of this name has a row for every token, not for positions, layers or kinds."""
    others = ("per_layer", "position", "token_type", "norm", "wpe")
    return not any(word in name.lower() for word in others)


def _is_tied(tensor: Tensor) -> bool:
    return tensor.part is Part.INPUT and tensor.role is Role.EMBEDDING and is_token_table(tensor.name)


def _block_tensor_bytes(tensor: Tensor, width: int, kv_heads: int | None) -> int:
    whole = len(tensor.shape) < 2 or tensor.role in _WHOLE_ROLES or _LOW_RANK.search(tensor.name) is not None  # noqa: PLR2004 - a matrix
    if whole:
        return tensor.size_bytes
    if tensor.role is Role.ATTENTION and kv_heads and width > kv_heads and _KEY_OR_VALUE.search(tensor.name):
        return -(-tensor.size_bytes // kv_heads)
    return -(-tensor.size_bytes // width)


def _end_tensor_bytes(tensor: Tensor, width: int, row_multiple: int) -> int:
    by_rows = _is_tied(tensor) or (tensor.part is Part.HEAD and tensor.role is Role.OUTPUT)
    if not by_rows or len(tensor.shape) < 2:  # noqa: PLR2004 - a matrix
        return tensor.size_bytes
    rows = tensor.shape[0]
    padded = -(-rows // row_multiple) * row_multiple
    return -(-tensor.size_bytes * padded // (rows * width)) if rows else tensor.size_bytes
