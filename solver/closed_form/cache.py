"""The facts of a model with latent attention, and the bytes of its cache."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

from solver.closed_form.numbers import printable, whole
from solver.errors import InputError

__all__ = ["BYTES_PER_VALUE", "GLM_5_2", "INDEXER_RULES", "ArchitectureFacts", "bytes_per_value", "kv_bytes"]

INDEXER_RULES = ("conservative", "none", "optimized")

# A quantised type is a block of 32 values: a 2-byte scale, a 2-byte minimum in the _1 types, then the digits
# (the block structs of ggml/src/ggml-common.h in llama.cpp). FP8 is the one-byte cache of vLLM and SGLang.
BYTES_PER_VALUE = {
    "BF16": Fraction(2),
    "F16": Fraction(2),
    "F32": Fraction(4),
    "FP8": Fraction(1),
    "FP8_E4M3": Fraction(1),
    "FP8_E5M2": Fraction(1),
    "IQ4_NL": Fraction(2 + 16, 32),
    "Q4_0": Fraction(2 + 16, 32),
    "Q4_1": Fraction(2 + 2 + 16, 32),
    "Q5_0": Fraction(2 + 4 + 16, 32),
    "Q5_1": Fraction(2 + 2 + 4 + 16, 32),
    "Q8_0": Fraction(2 + 32, 32),
}


@dataclass(frozen=True, slots=True)
class ArchitectureFacts:
    """The six facts that the closed forms need of a model with latent attention and a sparse indexer.

    `latent_values` are kept for a token in each trunk block (latent rank + rope width); `full_indexer_blocks` counts
    the trunk blocks that compute their own indices, `index_head_width` is what an indexer keeps for a token,
    `index_topk` how many keys it selects for a query. The three are 0 for a model without an indexer.

    Raises:
        InputError: a fact is no integer or too small, or there are more indexers than blocks.
    """

    trunk_blocks: int
    latent_values: int
    full_indexer_blocks: int
    index_head_width: int
    hidden_size: int
    index_topk: int

    def __post_init__(self) -> None:
        for name in ("trunk_blocks", "latent_values", "hidden_size"):
            whole(getattr(self, name), f"architecture, {name}", least=1)
        for name in ("full_indexer_blocks", "index_head_width", "index_topk"):
            whole(getattr(self, name), f"architecture, {name}", least=0)
        if self.full_indexer_blocks > self.trunk_blocks:
            raise InputError(
                "architecture, full_indexer_blocks",
                f"{self.full_indexer_blocks} of {self.trunk_blocks} blocks have an indexer; "
                f"expected {self.trunk_blocks} at most.",
            )


GLM_5_2 = ArchitectureFacts(
    trunk_blocks=78,
    latent_values=576,
    full_indexer_blocks=21,
    index_head_width=128,
    hidden_size=6144,
    index_topk=2048,
)


def kv_bytes(
    facts: ArchitectureFacts = GLM_5_2,
    *,
    context_tokens: int = 16384,
    sequences: int = 1,
    cache_type: str = "q8_0",
    indexer: str = "conservative",
) -> int:
    """Return the bytes of the cache of all trunk blocks: values · context · sequences · bytes a value, floored.

    A token keeps its latent values in every block, and its index keys in the blocks that `indexer` names: all
    (conservative), those that compute their own indices (optimized), or none.

    Raises:
        InputError: a count is no integer above 0, or the type or the rule of the indexer is unknown.
    """
    context = whole(context_tokens, "context", least=1)
    width = bytes_per_value(cache_type)
    values = facts.latent_values * facts.trunk_blocks + facts.index_head_width * _indexer_blocks(facts, indexer)
    return floor(values * context * whole(sequences, "sequences", least=1) * width)


def bytes_per_value(cache_type: str) -> Fraction:
    """Return the exact bytes of one cached value of a type, in upper or lower case.

    Raises:
        InputError: the type is unknown; the message lists those known.
    """
    known = BYTES_PER_VALUE.get(cache_type.upper()) if isinstance(cache_type, str) else None
    if known is None:
        raise InputError("cache type", f'"{printable(str(cache_type))}" is unknown; expected one of {_known_types()}.')
    return known


def _indexer_blocks(facts: ArchitectureFacts, indexer: str) -> int:
    match indexer:
        case "conservative":
            return facts.trunk_blocks
        case "optimized":
            return facts.full_indexer_blocks
        case "none":
            return 0
        case _:
            known = ", ".join(INDEXER_RULES)
            raise InputError("indexer", f'"{printable(str(indexer))}" is no rule; expected one of {known}.')


def _known_types() -> str:
    return ", ".join(sorted(BYTES_PER_VALUE))
