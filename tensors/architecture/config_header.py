"""The part of a config.json that describes the language model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensors.architecture.lookup import MissingKey, block_numbers, first, flags, names_nextn, text, whole, wholes
from tensors.metadata import MAXIMUM_BLOCKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensors.metadata import Config, ConfigValue, Shapes

__all__ = ["TextConfig", "language_model"]

_NESTS = ("text_config", "llm_config", "language_config", "thinker_config")
"""Keys under which configs of several modalities keep the language model's."""

_DEEPEST_NEST = 3

_BLOCKS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_BLOCK_LISTS = ("layer_types", "layers_block_type", "hybrid_override_pattern")
_NEXTN_LISTS = ("mtp_layers_block_type", "mtp_hybrid_override_pattern")
_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
_KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads")
_HIDDEN = ("hidden_size", "n_embd", "d_model", "dim")
_HEAD_WIDTH = ("head_dim", "kv_channels", "attention_head_dim")


@dataclass(frozen=True, slots=True)
class TextConfig:
    """Values of one language model; `blocks` counts trunk and nextn blocks."""

    model_type: str
    values: Config
    blocks: int
    trunk_blocks: int

    def whole(self, *names: str) -> int | None:
        """Return the first of several keys with a usable whole number."""
        return first(self.values, *names)

    def need(self, *names: str) -> int:
        """Return the first of several keys with a whole number above 0.

        Raises:
            MissingKey: none of them has one; names the first.
        """
        number = self.whole(*names)
        if not number:
            raise MissingKey(names[0])
        return number

    def text(self, name: str) -> str | None:
        """Return a key's text."""
        return text(self.values.get(name))

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return a key's list of texts, one for each trunk block at least, cut to the blocks there are."""
        value = self.values.get(name)
        if not isinstance(value, list) or len(value) < self.trunk_blocks:
            return None
        entries = tuple(entry for entry in value[: self.blocks] if isinstance(entry, str))
        return entries if len(entries) >= self.trunk_blocks else None

    def flags(self, name: str) -> tuple[bool, ...] | None:
        """Return a key's list of bools or numbers, one for each trunk block at least, cut to the blocks there are."""
        marks = flags(self.values.get(name))
        return None if marks is None or len(marks) < self.trunk_blocks else marks[: self.blocks]

    def numbers(self, name: str) -> tuple[int, ...] | None:
        """Return a key's list of whole numbers, one for each trunk block at least, cut to the blocks there are."""
        numbers = wholes(self.values.get(name))
        return None if numbers is None or len(numbers) < self.trunk_blocks else numbers[: self.blocks]

    def nested(self, name: str) -> TextConfig | None:
        """Return a key's object as a config of the same blocks."""
        value = self.values.get(name)
        if not isinstance(value, dict):
            return None
        return TextConfig(self.model_type, value, self.blocks, self.trunk_blocks)

    @property
    def heads(self) -> int:
        """Return the heads of the queries.

        Raises:
            MissingKey: no key has them.
        """
        return self.need(*_HEADS)

    @property
    def hidden_size(self) -> int:
        """Return the width of the stream between blocks.

        Raises:
            MissingKey: no key has it.
        """
        return self.need(*_HIDDEN)

    def kv_heads(self) -> int:
        """Return the heads of K and V: fewer than those of the queries where a key says so.

        Raises:
            MissingKey: nothing says how many.
        """
        if self.values.get("multi_query") is True and self.values.get("new_decoder_architecture") is not True:
            return 1
        if self.values.get("multi_query_attention") is True:
            return self.need("multi_query_group_num")
        attention = self.nested("attn_config")
        nested = attention.whole(*_KV_HEADS) if attention is not None else None
        return self.whole(*_KV_HEADS) or nested or self.heads

    def head_width(self, default: int | None) -> int:
        """Return the width of one head, by default the family's or an even share of the hidden size.

        Raises:
            MissingKey: nothing says how wide a head is.
        """
        return self.whole(*_HEAD_WIDTH) or default or self.hidden_size // self.heads


def language_model(config: Config, tensors: Shapes, model_type: str) -> TextConfig:
    """Return the language model of a config, with its blocks counted: by keys, else by the names of tensors."""
    values = _innermost(config)
    model, apart = block_numbers(tensors, MAXIMUM_BLOCKS)
    trunk = first(values, *_BLOCKS) or max((_length(values.get(name)) for name in _BLOCK_LISTS), default=0)
    if not 0 < trunk <= MAXIMUM_BLOCKS:
        trunk = model
    nextn = _nextn_blocks(values)
    if tensors and model > trunk and not nextn and not names_nextn(tensors, trunk):
        # Blocks beyond the stated number that nobody calls nextn are trunk: what is loaded runs.
        trunk = model
    if tensors:
        nextn = model - trunk if model > trunk else apart
    return TextConfig(model_type, values, trunk + min(nextn, MAXIMUM_BLOCKS), trunk)


def _innermost(config: Config) -> Config:
    values: Mapping[str, ConfigValue] = config
    for _ in range(_DEEPEST_NEST):
        nest = next((nest for name in _NESTS if isinstance(nest := values.get(name), dict)), None)
        if nest is None:
            break
        values = nest
    return values


def _nextn_blocks(values: Config) -> int:
    """Return the multi-token prediction blocks that a config declares; a checkpoint may lack them."""
    blocks = first(values, "num_nextn_predict_layers", "mtp_num_hidden_layers")
    if blocks is None and values.get("use_mtp") is True:
        blocks = (whole(values.get("num_mtp_modules")) or 0) * (whole(values.get("mtp_transformer_layers")) or 1)
    return (blocks or 0) * max((_length(values.get(name)) for name in _NEXTN_LISTS), default=0) or blocks or 0


def _length(value: ConfigValue) -> int:
    return len(value) if isinstance(value, list | str) else 0
