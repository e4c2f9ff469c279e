"""The kinds of cache terms, each by the facts that size it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensors.cache import CacheKind, CacheTerm

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["compressed", "full", "indexer", "latent", "state", "window"]

_OVERLAPPING_RATIO = 4


def full(block: int, heads: int, key_width: int, value_width: int) -> CacheTerm:
    """Return K and V of attention over the whole context; widths are those of one head."""
    return _cells(CacheKind.FULL, block, heads, heads * key_width, heads * value_width)


def window(block: int, heads: int, key_width: int, value_width: int, window_tokens: int) -> CacheTerm:
    """Return K and V of attention over the last `window_tokens` tokens."""
    return _cells(CacheKind.WINDOW, block, heads, heads * key_width, heads * value_width, window_tokens=window_tokens)


def latent(block: int, width: int, tokens_per_cell: int = 1) -> CacheTerm:
    """Return compressed keys that serve as values too, shared by all heads."""
    return _cells(CacheKind.LATENT, block, 1, width, 0, tokens_per_cell=tokens_per_cell)


def indexer(
    block: int, key_width: int, value_width: int = 0, *, own_indices: bool, tokens_per_cell: int = 1
) -> CacheTerm:
    """Return the keys that a sparse indexer scores, one head of them."""
    return _cells(
        CacheKind.INDEXER,
        block,
        1,
        key_width,
        value_width,
        own_indices=own_indices,
        tokens_per_cell=tokens_per_cell,
    )


def state(block: int, heads: int, values: int) -> CacheTerm:
    """Return what a recurrent block carries from token to token, in F32 values for each sequence."""
    return CacheTerm(CacheKind.RECURRENT, block, heads, 0, 0, values, None, 1, own_indices=True)


def compressed(block: int, width: int, ratio: int, window_tokens: int, index_width: int) -> Iterator[CacheTerm]:
    """Yield what a DeepSeek-V4 block keeps: a window, and keys that stand for `ratio` tokens each unless that is 0.

    Runs of 4 tokens overlap and have an indexer of the same ratio. Every compressor carries F32 values and scores for
    ratio · width, or for twice the length and twice the width where runs overlap (llama-kv-cache-dsv4.cpp; `Compressor`
    in the model's own inference code).
    """
    yield window(block, 1, width, 0, window_tokens)
    if not ratio:
        return
    yield latent(block, width, ratio)
    if ratio != _OVERLAPPING_RATIO:
        yield state(block, 1, 2 * ratio * width)
        return
    yield indexer(block, index_width, own_indices=True, tokens_per_cell=ratio)
    yield state(block, 1, 2 * (2 * ratio) * (2 * width) + 2 * (2 * ratio) * (2 * index_width))


def _cells(
    kind: CacheKind,
    block: int,
    heads: int,
    key_values: int,
    value_values: int,
    *,
    window_tokens: int | None = None,
    tokens_per_cell: int = 1,
    own_indices: bool = True,
) -> CacheTerm:
    return CacheTerm(kind, block, heads, key_values, value_values, 0, window_tokens, tokens_per_cell, own_indices)
