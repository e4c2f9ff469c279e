"""The cache of a model as a list of terms: what each block keeps for a token or a sequence, and how many cells of it.

Windows, latents, indexer keys, recurrent state and shared caches are data here, not branches; an engine's padding is a
matter of the number of cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["CacheKind", "CacheTerm"]


class CacheKind(StrEnum):
    """What a term holds."""

    FULL = "full"
    WINDOW = "window"
    LATENT = "latent"
    INDEXER = "indexer"
    RECURRENT = "recurrent"


@dataclass(frozen=True, slots=True)
class CacheTerm:
    """What one block keeps. A term holds either values a cell (K and V in their types) or F32 values a sequence.

    `window_tokens` bounds the cells of a sequence; `tokens_per_cell` is above 1 where a cell stands for several tokens;
    `own_indices` is False for an indexer term of a block that uses another block's indices and may do without it.
    """

    kind: CacheKind
    block: int
    key_values: int
    value_values: int
    state_values: int
    window_tokens: int | None
    tokens_per_cell: int
    own_indices: bool
