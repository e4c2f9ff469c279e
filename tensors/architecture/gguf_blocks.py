"""Which blocks of a GGUF model have windows, recurrent state or indices of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensors.architecture import gguf_families as families
from tensors.architecture.gguf_families import RecurrentBlocks, StateRule
from tensors.architecture.lookup import MissingKey, flags, whole

if TYPE_CHECKING:
    from tensors.architecture.gguf_header import Header

__all__ = ["feed_forward_blocks", "full_indexer_blocks", "recurrent_blocks", "recurrent_state", "windows"]

_DEFAULT_TOKEN_SHIFTS = 2


def windows(header: Header) -> tuple[int | None, ...]:
    """Return the window of every block in tokens, None where it attends to everything.

    Raises:
        MissingKey: the family has windows and nothing says on which blocks.
    """
    without: tuple[int | None, ...] = (None,) * header.blocks
    rule = families.WINDOWS.get(header.family)
    if rule is None or rule.only_blocks not in (None, header.trunk_blocks):
        return without
    said = header.whole("attention.sliding_window")
    tokens = rule.default_tokens if said is None else said
    if tokens and rule.loader_tokens is not None:
        tokens = rule.loader_tokens
    if not tokens:
        return without
    return tuple(tokens if windowed else None for windowed in _windowed(header, rule))


def _windowed(header: Header, rule: families.WindowRule) -> tuple[bool, ...]:
    value = header.metadata.get(header.key("attention.sliding_window_pattern"))
    pattern = flags(value)
    if pattern is not None and len(pattern) >= header.trunk_blocks:
        return (pattern + (False,) * (header.blocks - len(pattern)))[: header.blocks]
    period = whole(value) or rule.period
    if period is None:
        raise MissingKey(header.key("attention.sliding_window_pattern"))
    full_block = 0 if rule.full_first else period - 1
    return tuple(block < header.trunk_blocks and block % period != full_block for block in range(header.blocks))


def recurrent_blocks(header: Header) -> frozenset[int]:
    """Return the blocks that carry recurrent state; nextn blocks never do.

    Raises:
        MissingKey: the family has such blocks and nothing says which.
    """
    rule = families.RECURRENT.get(header.family)
    if rule is None:
        return frozenset()
    trunk = range(header.trunk_blocks)
    if rule.blocks in (RecurrentBlocks.ALL, RecurrentBlocks.BESIDE_ATTENTION):
        return frozenset(trunk)
    marked = flags(header.metadata.get(header.key("attention.recurrent_layers")))
    if marked is not None and len(marked) >= header.trunk_blocks:
        return frozenset(block for block in trunk if marked[block])
    if rule.blocks is RecurrentBlocks.KEY:
        raise MissingKey(header.key("attention.recurrent_layers"))
    if rule.blocks is RecurrentBlocks.INTERVAL:
        interval = header.positive("full_attention_interval") or rule.default_interval
        if interval is None:
            raise MissingKey(header.key("full_attention_interval"))
        return frozenset(block for block in trunk if (block + 1) % interval)
    heads = header.per_block("attention.head_count_kv")
    if heads is None:
        raise MissingKey(header.key("attention.head_count_kv"))
    return frozenset(block for block in trunk if not heads[block]) - feed_forward_blocks(header)


def feed_forward_blocks(header: Header) -> frozenset[int]:
    """Return the blocks that are a feed-forward network alone, with neither state nor attention.

    Raises:
        MissingKey: the widths that tell them apart are absent.
    """
    rule = families.RECURRENT.get(header.family)
    if rule is None or rule.blocks is not RecurrentBlocks.NO_KV_HEADS_NO_FEED_FORWARD:
        return frozenset()
    widths = header.per_block("feed_forward_length")
    if widths is None:
        raise MissingKey(header.key("feed_forward_length"))
    return frozenset(block for block in range(header.trunk_blocks) if widths[block])


def recurrent_state(header: Header) -> tuple[int, int]:
    """Return the heads and the F32 values of the state of a recurrent block.

    Raises:
        MissingKey: a width that it follows from is absent.
    """
    match families.RECURRENT[header.family].state:
        case StateRule.MAMBA:
            return _mamba(header)
        case StateRule.KDA:
            heads = max(header.per_block("attention.head_count") or (0,))
            if not heads:
                raise MissingKey(header.key("attention.head_count"))
            width = header.need("kda.head_dim")
            return heads, 3 * (header.need("ssm.conv_kernel") - 1) * heads * width + heads * width * width
        case StateRule.SHORT_CONVOLUTION:
            return 1, header.need("embedding_length") * (header.need("shortconv.l_cache") - 1)
        case StateRule.RWKV:
            shifts = header.whole("token_shift_count")
            hidden, width = header.need("embedding_length"), header.need("wkv.head_size")
            return max(hidden // width, 1), hidden * ((_DEFAULT_TOKEN_SHIFTS if shifts is None else shifts) + width)
        case StateRule.LIGHTNING:
            heads = max(header.per_block("attention.head_count") or (0,))
            if not heads:
                raise MissingKey(header.key("attention.head_count"))
            return heads, heads * header.head_width("key_length") * header.head_width("value_length")


def _mamba(header: Header) -> tuple[int, int]:
    inner, width = header.need("ssm.inner_size"), header.need("ssm.state_size")
    groups = header.whole("ssm.group_count") or 0
    convolution = (header.need("ssm.conv_kernel") - 1) * (inner + 2 * groups * width)
    # Heads of a Mamba-2 block share its inner width evenly; a Mamba block is not divided.
    heads = (header.positive("ssm.time_step_rank") or 1) if groups else 1
    return heads, convolution + width * inner


def full_indexer_blocks(header: Header) -> tuple[int, ...]:
    """Return the trunk blocks that compute indices of their own."""
    rule = families.indexer_rule(header.family)
    if rule is None:
        return ()
    trunk = range(header.trunk_blocks)
    types = header.metadata.get(header.key("attention.indexer.types"))
    marked = flags(types)
    if marked is not None and len(marked) >= header.trunk_blocks:
        return tuple(block for block in trunk if marked[block])
    shares = rule is families.IndexerRule.BY_TYPES and not whole(types)
    if shares and (header.whole("context_length") or 0) >= families.GLM_5_2_CONTEXT_TOKENS:
        return tuple(block for block in trunk if block < 2 or block % 4 == 2)  # noqa: PLR2004 (see the table's note)
    return tuple(trunk)
