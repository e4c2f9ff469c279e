"""The cache of a model as a list of terms: what each block keeps for a token or a sequence, and how many cells of it.

Windows, latents, indexer keys, recurrent state and shared caches are data here, not branches; an engine's padding is a
matter of the number of cells. The size of a term is

    cells · (key_values · bytes of a K value + value_values · bytes of a V value) + states · state_values · 4 bytes

with both products floored to whole bytes, and cells and states as `CacheSettings` say.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from tensors.errors import CacheTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "CACHE_TYPES",
    "BlockCache",
    "CacheKind",
    "CacheSettings",
    "CacheTerm",
    "CacheType",
    "block_caches",
    "cache_type",
    "generic_settings",
    "term_bytes",
    "term_cells",
    "with_indexers",
]

_STATE_VALUE_BYTES = 4


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

    `heads` is how many equal heads the values split into, which is what tensor-parallel copies can share out: 1 for
    latents and indexer keys. `window_tokens` bounds the cells of a sequence; `tokens_per_cell` is above 1 where a cell
    stands for several tokens; `own_indices` is False for an indexer term of a block that uses another block's indices
    and may do without it.
    """

    kind: CacheKind
    block: int
    heads: int
    key_values: int
    value_values: int
    state_values: int
    window_tokens: int | None
    tokens_per_cell: int
    own_indices: bool


@dataclass(frozen=True, slots=True)
class CacheType:
    """A type that cache values are stored in: `block_values` of them take `block_bytes`."""

    name: str
    block_values: int
    block_bytes: int


CACHE_TYPES = {
    kind.name: kind
    for kind in (
        CacheType("f32", 1, 4),
        CacheType("f16", 1, 2),
        CacheType("bf16", 1, 2),
        # One byte a value with a scale a tensor: vllm/config/cache.py (CacheDType).
        CacheType("fp8", 1, 1),
        CacheType("fp8_e4m3", 1, 1),
        CacheType("fp8_e5m2", 1, 1),
        # Scale, minimum, fifth bits, values: ggml/src/ggml-common.h (block_q8_0 … block_iq4_nl); the types that
        # common/arg.cpp of llama.cpp takes for a cache.
        CacheType("q8_0", 32, 2 + 32),
        CacheType("q5_1", 32, 2 + 2 + 4 + 16),
        CacheType("q5_0", 32, 2 + 4 + 16),
        CacheType("q4_1", 32, 2 + 2 + 16),
        CacheType("q4_0", 32, 2 + 16),
        CacheType("iq4_nl", 32, 2 + 16),
    )
}


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """What an engine makes of a request: runs of cells, and the types of the values in them.

    A stream is one run of cells that holds up to `stream_tokens` tokens: every sequence has one of its own
    (streams = sequences), or all share one (streams = 1). The cells of a stream are rounded up to a multiple of
    `cell_multiple`; a window keeps `window_extra_tokens` besides itself (the micro-batch in flight). Recurrent state
    is kept `states_per_sequence` times for each sequence, however many streams there are.
    """

    stream_tokens: int
    streams: int
    sequences: int
    type_k: CacheType
    type_v: CacheType
    cell_multiple: int
    window_extra_tokens: int
    states_per_sequence: int


@dataclass(frozen=True, slots=True)
class BlockCache:
    """The cache of one block.

    `cache_bytes` is its size at the settings. At any context that fills whole cells of the engine it is at most
    fixed_bytes + bytes_per_token · tokens of context per sequence; once the context is as long as every window, the two
    differ by rounding alone.
    """

    cache_bytes: int
    bytes_per_token: int
    fixed_bytes: int


def cache_type(name: str) -> CacheType:
    """Return the type of that name, in either letter case.

    Raises:
        CacheTypeError: no such type; lists those there are.
    """
    kind = CACHE_TYPES.get(name.lower())
    if kind is None:
        raise CacheTypeError(name, tuple(sorted(CACHE_TYPES)))
    return kind


def generic_settings(context_tokens: int, sequences: int, type_k: CacheType, type_v: CacheType) -> CacheSettings:
    """Return the settings of no engine in particular: a run of cells for each sequence, and no padding."""
    return CacheSettings(
        stream_tokens=context_tokens,
        streams=sequences,
        sequences=sequences,
        type_k=type_k,
        type_v=type_v,
        cell_multiple=1,
        window_extra_tokens=0,
        states_per_sequence=1,
    )


def term_cells(term: CacheTerm, settings: CacheSettings) -> int:
    """Return how many cells a term has over all streams; 0 for a term that only holds state."""
    if not term.key_values and not term.value_values:
        return 0
    tokens = settings.stream_tokens
    if term.window_tokens is not None:
        tokens = min(tokens, _window_tokens(term.window_tokens, settings))
    cells = -(-tokens // term.tokens_per_cell)
    return _rounded_up(cells, settings.cell_multiple) * settings.streams


def term_bytes(term: CacheTerm, settings: CacheSettings) -> int:
    """Return the bytes of a term over all sequences.

    >>> latent = CacheTerm(CacheKind.LATENT, 0, 1, 576, 0, 0, None, 1, True)
    >>> term_bytes(latent, generic_settings(1, 1, cache_type("q8_0"), cache_type("q8_0")))
    612
    """
    return _cells_bytes(term, term_cells(term, settings), settings) + _state_bytes(term, settings)


def block_caches(terms: Iterable[CacheTerm], blocks: int, settings: CacheSettings) -> tuple[BlockCache, ...]:
    """Return the cache of each of the first `blocks` blocks; terms of later blocks are left out."""
    total, fixed = [0] * blocks, [0] * blocks
    growth = [Fraction(0)] * blocks
    for term in terms:
        if term.block >= blocks:
            continue
        total[term.block] += term_bytes(term, settings)
        fixed[term.block] += _fixed_bytes(term, settings)
        growth[term.block] += _bytes_per_token(term, settings)
    return tuple(BlockCache(total[block], ceil(growth[block]), fixed[block]) for block in range(blocks))


def with_indexers(terms: Iterable[CacheTerm], *, own: bool, shared: bool) -> tuple[CacheTerm, ...]:
    """Return the terms without those indexer keys that an engine does not keep.

    `own` keeps the indexer terms of blocks that compute their own indices, `shared` those of the other blocks.
    """
    return tuple(term for term in terms if term.kind is not CacheKind.INDEXER or (own if term.own_indices else shared))


def _window_tokens(window_tokens: int, settings: CacheSettings) -> int:
    sequences_of_a_stream = settings.sequences // settings.streams
    return window_tokens * sequences_of_a_stream + settings.window_extra_tokens


def _rounded_up(cells: int, multiple: int) -> int:
    return -(-cells // multiple) * multiple


def _cells_bytes(term: CacheTerm, cells: int, settings: CacheSettings) -> int:
    keys = _values_bytes(term.key_values * cells, settings.type_k)
    return keys + _values_bytes(term.value_values * cells, settings.type_v)


def _values_bytes(values: int, kind: CacheType) -> int:
    return values * kind.block_bytes // kind.block_values


def _state_bytes(term: CacheTerm, settings: CacheSettings) -> int:
    return term.state_values * _STATE_VALUE_BYTES * settings.sequences * settings.states_per_sequence


def _bytes_per_token(term: CacheTerm, settings: CacheSettings) -> Fraction:
    """Return what one more token of context in every sequence adds, once windows are full."""
    if term.window_tokens is not None:
        return Fraction(0)
    keys = Fraction(term.key_values * settings.type_k.block_bytes, settings.type_k.block_values)
    values = Fraction(term.value_values * settings.type_v.block_bytes, settings.type_v.block_values)
    return (keys + values) * settings.sequences / term.tokens_per_cell


def _fixed_bytes(term: CacheTerm, settings: CacheSettings) -> int:
    """Return what does not grow with the context: state, windows at their full size, and cells begun and not filled."""
    if term.window_tokens is not None:
        window_cells = -(-_window_tokens(term.window_tokens, settings) // term.tokens_per_cell)
        cells = _rounded_up(window_cells, settings.cell_multiple)
    else:
        cells = settings.cell_multiple if term.tokens_per_cell > 1 else 0
    return _cells_bytes(term, cells * settings.streams, settings) + _state_bytes(term, settings)
