"""What is placed: blocks, what the ends hold beside them, and the items that both make."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["Block", "Ends", "Item", "Shape", "folded", "head_block", "without_head"]


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes of one block. `active_bytes` are read for every token (weights and cache).

    `cache_bytes_per_token` and `cache_fixed_bytes` say how `cache_bytes` grows with the context; None where unknown.
    `expert_bytes` of the weights may live in the host pool of a device's machine, all of a block's or none;
    `expert_active_bytes` of `active_bytes` are then read from there.
    """

    weight_bytes: int
    cache_bytes: int
    active_bytes: int
    cache_bytes_per_token: int | None
    cache_fixed_bytes: int
    expert_bytes: int = 0
    expert_active_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Ends:
    """What the first and the last stage hold beside their blocks.

    `tied_bytes` is the part of the output that is the input's own tensor: paid once when one stage holds both ends.
    `host_bytes` stay with the first node whatever the cut: in the host pool of its device, where that has one.
    """

    input_bytes: int
    output_bytes: int
    tied_bytes: int
    host_bytes: int


@dataclass(frozen=True, slots=True)
class Item:
    """One unit that moves whole, with what the ends fold into it."""

    weight_bytes: int
    cache_bytes: int
    other_bytes: int

    @property
    def load_bytes(self) -> int:
        """Return what the item takes of its node's budget."""
        return self.weight_bytes + self.cache_bytes + self.other_bytes


@dataclass(frozen=True, slots=True)
class Shape:
    """What blocks and ends take on a device of another width: loads of one rank, as many blocks as the problem has."""

    blocks: tuple[Block, ...]
    ends: Ends


def head_block(ends: Ends) -> Block:
    """Return the head as what moves by itself: the output is folded into it, and all of it is read for every token."""
    return Block(
        weight_bytes=0, cache_bytes=0, active_bytes=ends.output_bytes, cache_bytes_per_token=0, cache_fixed_bytes=0
    )


def without_head(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the blocks before a head that moved by itself; what it reads for a token is read with the last of them."""
    *others, last, head = blocks
    return (*others, replace(last, active_bytes=last.active_bytes + head.active_bytes))


def folded(blocks: tuple[Block, ...], ends: Ends) -> tuple[Item, ...]:
    """Return the blocks as items, the input folded into the first and the output into the last."""
    last = len(blocks) - 1
    return tuple(
        Item(
            weight_bytes=block.weight_bytes
            + (ends.input_bytes if index == 0 else 0)
            + (ends.output_bytes if index == last else 0),
            cache_bytes=block.cache_bytes,
            other_bytes=ends.host_bytes if index == 0 else 0,
        )
        for index, block in enumerate(blocks)
    )
