"""The keys of one GGUF header under the name of its family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensors.architecture.lookup import MissingKey, block_numbers, text, whole, wholes
from tensors.metadata import MAXIMUM_BLOCKS, ArraySummary

if TYPE_CHECKING:
    from tensors.metadata import Metadata, Shapes

__all__ = ["Header"]

_UNNAMED = "unknown"


@dataclass(frozen=True, slots=True)
class Header:
    """Keys `family.*` of a header; `blocks` counts trunk and nextn blocks."""

    family: str
    named: bool
    metadata: Metadata
    tensors: Shapes
    blocks: int
    trunk_blocks: int

    @classmethod
    def of(cls, metadata: Metadata, tensors: Shapes) -> Header:
        """Return a header with its blocks counted: by its key, else by the names of its tensors."""
        family = text(metadata.get("general.architecture"))
        prefix = family or _UNNAMED
        blocks = whole(metadata.get(f"{prefix}.block_count"))
        if blocks is None or blocks > MAXIMUM_BLOCKS:
            blocks, _ = block_numbers(tensors, MAXIMUM_BLOCKS)
        nextn = whole(metadata.get(f"{prefix}.nextn_predict_layers")) or 0
        if nextn >= blocks:
            nextn = 0
        return cls(prefix, family is not None, metadata, tensors, blocks, blocks - nextn)

    def key(self, name: str) -> str:
        """Return the full name of a key."""
        return f"{self.family}.{name}"

    def whole(self, name: str) -> int | None:
        """Return a key's whole number, or None."""
        return whole(self.metadata.get(self.key(name)))

    def positive(self, name: str) -> int | None:
        """Return a key's whole number above 0; some writers put 0 for what a model has not."""
        return self.whole(name) or None

    def need(self, name: str) -> int:
        """Return a key's whole number above 0.

        Raises:
            MissingKey: there is none.
        """
        number = self.positive(name)
        if number is None:
            raise MissingKey(self.key(name))
        return number

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return a key's array of whole numbers, or none."""
        return wholes(self.metadata.get(self.key(name))) or ()

    def per_block(self, name: str) -> tuple[int, ...] | None:
        """Return a key's number for every block: one for all, or an array with one for each trunk block at least.

        Blocks beyond the array get its largest number: nextn blocks are blocks of attention.
        """
        value = self.metadata.get(self.key(name))
        number = whole(value)
        if number is not None:
            return (number,) * self.blocks
        array = wholes(value)
        if array is None or len(array) < self.trunk_blocks or not array:
            return None
        return (array + (max(array),) * (self.blocks - len(array)))[: self.blocks]

    def kv_heads(self) -> tuple[int, ...]:
        """Return the heads of K and V of every block; those of the queries where the header does not say.

        Raises:
            MissingKey: the header says neither.
        """
        heads = self.per_block("attention.head_count_kv") or self.per_block("attention.head_count")
        if heads is None:
            raise MissingKey(self.key("attention.head_count"))
        return heads

    def head_width(self, name: str) -> int:
        """Return attention.key_length or attention.value_length, by default an even share of the embedding.

        Raises:
            MissingKey: nothing says how wide a head is.
        """
        width = self.positive(f"attention.{name}")
        if width is not None:
            return width
        heads = max(self.per_block("attention.head_count") or (0,))
        hidden = self.positive("embedding_length")
        if not heads or hidden is None:
            raise MissingKey(self.key(f"attention.{name}"))
        return hidden // heads

    def vocabulary_size(self) -> int | None:
        """Return the number of tokens: its key, else the length of the token list, else the rows of the embedding."""
        size = self.positive("vocab_size")
        if size is not None:
            return size
        tokens = self.metadata.get("tokenizer.ggml.tokens")
        if isinstance(tokens, ArraySummary):
            return tokens.length or None
        shape = self.tensors.get("token_embd.weight")
        return shape[0] if shape else None

    def tied(self) -> bool | None:
        """Return whether the head uses the input's matrix, where the tensors are known."""
        if "output.weight" in self.tensors:
            return False
        return True if "token_embd.weight" in self.tensors else None
