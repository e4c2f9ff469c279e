"""What each block of a model with a config.json mixes tokens with.

Functions here answer for one kind of key each; `config_families` says which family is described by which.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from tensors.architecture.lookup import MissingKey

if TYPE_CHECKING:
    from tensors.architecture.config_header import TextConfig

__all__ = [
    "BlockKind",
    "all_both",
    "all_full",
    "all_recurrent",
    "all_windowed",
    "by_attention_period",
    "by_attention_types",
    "by_block_configs",
    "by_interval",
    "by_layer_types",
    "by_linear_lists",
    "by_pattern",
    "by_window_flags",
    "chunked_by_four",
    "windowed_from_block",
    "windowed_with_period",
]


class BlockKind(Enum):
    """What a block mixes tokens with, and so what it keeps."""

    FULL = auto()
    WINDOW = auto()
    RECURRENT = auto()
    BOTH = auto()
    NOTHING = auto()


Kinds = tuple[BlockKind, ...]

_LAYER_TYPES = {
    # configuration_utils.py of transformers (ALLOWED_LAYER_TYPES), and older names of single families.
    "attention": BlockKind.FULL,
    "chunked_attention": BlockKind.WINDOW,
    "conv": BlockKind.RECURRENT,
    "full_attention": BlockKind.FULL,
    "hybrid": BlockKind.BOTH,
    "linear_attention": BlockKind.RECURRENT,
    "mamba": BlockKind.RECURRENT,
    "mlp": BlockKind.NOTHING,
    "moe": BlockKind.NOTHING,
    "sliding_attention": BlockKind.WINDOW,
}

_PATTERN_LETTERS = {
    # configuration_nemotron_h.py (hybrid_override_pattern).
    "*": BlockKind.FULL,
    "-": BlockKind.NOTHING,
    "E": BlockKind.NOTHING,
    "M": BlockKind.RECURRENT,
}

_LLAMA_4_PERIOD = 4


def all_full(config: TextConfig) -> Kinds:
    """Every block attends to everything, unless `layer_types` says otherwise."""
    return _layer_types(config) or (BlockKind.FULL,) * config.trunk_blocks


def all_windowed(config: TextConfig) -> Kinds:
    """Every block has the window of `sliding_window` where that is set."""
    default = BlockKind.WINDOW if config.whole("sliding_window") else BlockKind.FULL
    return _layer_types(config) or (default,) * config.trunk_blocks


def windowed_from_block(config: TextConfig) -> Kinds:
    """Blocks from `max_window_layers` on have a window where `use_sliding_window` is true."""
    layer_types = _layer_types(config)
    if layer_types is not None:
        return layer_types
    first = config.trunk_blocks
    if config.values.get("use_sliding_window") is True and config.whole("sliding_window"):
        first = config.whole("max_window_layers") or 0
    return tuple(BlockKind.FULL if block < first else BlockKind.WINDOW for block in range(config.trunk_blocks))


def windowed_with_period(config: TextConfig) -> Kinds:
    """All but the last of every `sliding_window_pattern` blocks have a window; every other block without that key."""
    layer_types = _layer_types(config)
    if layer_types is not None:
        return layer_types
    period = config.whole("sliding_window_pattern", "_sliding_window_pattern") or 2
    return tuple(BlockKind.WINDOW if (block + 1) % period else BlockKind.FULL for block in range(config.trunk_blocks))


def chunked_by_four(config: TextConfig) -> Kinds:
    """All but the last of every four blocks attend inside a chunk of `attention_chunk_size` tokens."""
    return _layer_types(config) or tuple(
        BlockKind.WINDOW if (block + 1) % _LLAMA_4_PERIOD else BlockKind.FULL for block in range(config.trunk_blocks)
    )


def by_window_flags(config: TextConfig) -> Kinds:
    """`hybrid_layer_pattern` marks the blocks with a window."""
    marks = config.flags("hybrid_layer_pattern")
    if marks is None:
        return by_layer_types(config)
    return tuple(BlockKind.WINDOW if mark else BlockKind.FULL for mark in marks)


def by_layer_types(config: TextConfig) -> Kinds:
    """`layer_types` names what each block does.

    Raises:
        MissingKey: it does not, for every block.
    """
    layer_types = _layer_types(config)
    if layer_types is None:
        raise MissingKey("layer_types")
    return layer_types


def by_interval(config: TextConfig) -> Kinds:
    """All but the last of every `full_attention_interval` blocks are recurrent.

    Raises:
        MissingKey: neither that key nor `layer_types` is there.
    """
    layer_types = _layer_types(config)
    if layer_types is not None:
        return layer_types
    interval = config.need("full_attention_interval")
    return tuple(
        BlockKind.RECURRENT if (block + 1) % interval else BlockKind.FULL for block in range(config.trunk_blocks)
    )


def by_attention_period(config: TextConfig) -> Kinds:
    """Blocks attend where number % attn_layer_period = attn_layer_offset, and are recurrent elsewhere.

    Raises:
        MissingKey: one of the two is absent.
    """
    layer_types = _layer_types(config)
    if layer_types is not None:
        return layer_types
    period, offset = config.need("attn_layer_period"), config.whole("attn_layer_offset")
    if offset is None:
        raise MissingKey("attn_layer_offset")
    return tuple(
        BlockKind.FULL if block % period == offset else BlockKind.RECURRENT for block in range(config.trunk_blocks)
    )


def by_pattern(config: TextConfig) -> Kinds:
    """Letters of `hybrid_override_pattern` or names in `layers_block_type` say what each block does.

    Nextn blocks repeat `mtp_hybrid_override_pattern` or `mtp_layers_block_type`.
    """
    trunk = _letters(config, "hybrid_override_pattern") or _names(config, "layers_block_type")
    if trunk is None or len(trunk) < config.trunk_blocks:
        return by_layer_types(config)
    nextn = _letters(config, "mtp_hybrid_override_pattern") or _names(config, "mtp_layers_block_type")
    count = config.blocks - config.trunk_blocks
    return trunk[: config.trunk_blocks] + ((nextn or (BlockKind.FULL,)) * count)[:count]


def by_linear_lists(config: TextConfig) -> Kinds:
    """`linear_attn_config.full_attn_layers` numbers, from 1, the blocks that attend; the others are recurrent.

    Raises:
        MissingKey: there is no such list.
    """
    linear = config.nested("linear_attn_config")
    numbers = linear.values.get("full_attn_layers") if linear is not None else None
    if not isinstance(numbers, list):
        raise MissingKey("linear_attn_config.full_attn_layers")
    attending = {number for number in numbers if isinstance(number, int)}
    return tuple(
        BlockKind.FULL if block + 1 in attending else BlockKind.RECURRENT for block in range(config.trunk_blocks)
    )


def by_attention_types(config: TextConfig) -> Kinds:
    """`attn_type_list` marks the blocks that attend; the others are recurrent."""
    marks = config.flags("attn_type_list")
    if marks is None:
        return by_layer_types(config)
    return tuple(BlockKind.FULL if mark else BlockKind.RECURRENT for mark in marks)


def by_block_configs(config: TextConfig) -> Kinds:
    """`block_configs` says of each block whether it attends at all."""
    return tuple(BlockKind.FULL if heads else BlockKind.NOTHING for heads in block_config_heads(config))


def block_config_heads(config: TextConfig) -> tuple[int, ...]:
    """Return the heads of K and V of every block by `block_configs`, 0 where it does not attend.

    Raises:
        MissingKey: a block's attention is not described.
    """
    blocks = config.values.get("block_configs")
    if not isinstance(blocks, list) or len(blocks) < config.trunk_blocks:
        raise MissingKey("block_configs")
    heads = []
    for entry in blocks[: config.trunk_blocks]:
        attention = entry.get("attention") if isinstance(entry, dict) else None
        if not isinstance(attention, dict):
            raise MissingKey("block_configs")
        if attention.get("no_op") is True or attention.get("replace_with_linear") is True:
            heads.append(0)
            continue
        group = attention.get("n_heads_in_group")
        if not isinstance(group, int) or group < 1:
            raise MissingKey("block_configs.attention.n_heads_in_group")
        heads.append(config.heads // group)
    return tuple(heads)


def all_recurrent(config: TextConfig) -> Kinds:
    """Every block is recurrent."""
    return (BlockKind.RECURRENT,) * config.trunk_blocks


def all_both(config: TextConfig) -> Kinds:
    """Every block attends and is recurrent."""
    return (BlockKind.BOTH,) * config.trunk_blocks


def _layer_types(config: TextConfig) -> Kinds | None:
    kinds = _names(config, "layer_types")
    return None if kinds is None or len(kinds) < config.trunk_blocks else kinds[: config.blocks]


def _names(config: TextConfig, key: str) -> Kinds | None:
    names = config.values.get(key)
    if not isinstance(names, list) or not all(isinstance(name, str) and name in _LAYER_TYPES for name in names):
        return None
    return tuple(_LAYER_TYPES[name] for name in names if isinstance(name, str)) or None


def _letters(config: TextConfig, key: str) -> Kinds | None:
    letters = config.text(key)
    if letters is None or not set(letters) <= _PATTERN_LETTERS.keys():
        return None
    return tuple(_PATTERN_LETTERS[letter] for letter in letters)
