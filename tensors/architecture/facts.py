"""What a model is built of, as far as placing it needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensors.cache import CacheKind

if TYPE_CHECKING:
    from tensors.cache import CacheTerm

__all__ = ["Architecture", "Experts", "MissingFact"]


@dataclass(frozen=True, slots=True)
class Experts:
    """Counts of a mixture: routed experts, how many of them a token uses, shared experts."""

    routed: int
    used: int
    shared: int


@dataclass(frozen=True, slots=True)
class MissingFact:
    """Why something could not be derived; `problem` names the key that is missing, in a sentence for a person."""

    problem: str


@dataclass(frozen=True, slots=True)
class Architecture:
    """Facts of a model. None stands for "no header says so", never for zero.

    `cache` lists the terms of every block's cache, trunk and nextn, or says which fact is missing to size it.
    `index_topk` is how many keys a sparse indexer keeps for a query, or blocks of `index_block_tokens` tokens;
    `full_indexer_blocks` the trunk blocks that compute their own indices. One of `banked_every` blocks banks the
    residual stream for later ones.
    """

    family: str
    trunk_blocks: int
    nextn_blocks: int
    hidden_size: int | None
    vocabulary_size: int | None
    context_tokens: int | None
    heads: int | None
    experts: Experts | None
    index_topk: int | None
    index_block_tokens: int | None
    banked_every: int | None
    full_indexer_blocks: tuple[int, ...]
    tied: bool | None
    cache: tuple[CacheTerm, ...] | MissingFact

    @property
    def kv_heads(self) -> int | None:
        """Return the most heads that K and V of one block have, None where no block keeps them apart by head."""
        terms = () if isinstance(self.cache, MissingFact) else self.cache
        heads = [term.heads for term in terms if term.kind in {CacheKind.FULL, CacheKind.WINDOW}]
        return max(heads, default=None)
