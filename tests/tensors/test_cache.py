"""Sizes of cache terms."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensors.cache import (
    CACHE_TYPES,
    BlockCache,
    CacheKind,
    CacheSettings,
    CacheTerm,
    block_caches,
    cache_type,
    generic_settings,
    term_bytes,
    term_cells,
    with_indexers,
)
from tensors.errors import CacheTypeError, TensorsError

F16 = cache_type("f16")
Q8_0 = cache_type("q8_0")


def term(
    kind: CacheKind = CacheKind.FULL,
    *,
    block: int = 0,
    keys: int = 0,
    values: int = 0,
    state: int = 0,
    window: int | None = None,
    tokens_per_cell: int = 1,
    own_indices: bool = True,
) -> CacheTerm:
    return CacheTerm(kind, block, 1, keys, values, state, window, tokens_per_cell, own_indices)


def padded(stream_tokens: int, streams: int, sequences: int, micro_batch: int) -> CacheSettings:
    return CacheSettings(stream_tokens, streams, sequences, F16, F16, 256, micro_batch, 1)


def glm(own_blocks: set[int]) -> tuple[CacheTerm, ...]:
    """Return the terms of 78 blocks with 576 latent values and 128 values of an indexer each."""
    return tuple(
        part
        for block in range(78)
        for part in (
            term(CacheKind.LATENT, block=block, keys=576),
            term(CacheKind.INDEXER, block=block, keys=128, own_indices=block in own_blocks),
        )
    )


GLM = glm({0, 1, *range(2, 78, 4)})


@pytest.mark.parametrize(
    ("own", "shared", "kind", "context", "sequences", "expected"),
    [
        (True, True, "q8_0", 16384, 1, 955_908_096),
        (True, False, "q8_0", 16384, 1, 828_899_328),
        (False, False, "q8_0", 16384, 1, 782_106_624),
        (True, True, "f16", 16384, 1, 1_799_356_416),
        (False, False, "f16", 16384, 1, 1_472_200_704),
        (True, True, "q8_0", 131072, 4, 30_589_059_072),
        (True, True, "q8_0", 202752, 1, 11_829_362_688),
        (True, True, "q8_0", 1, 1, 58_344),
    ],
)
def test_latents_and_indexers_of_glm_5_2_have_their_known_sizes(
    own: bool, shared: bool, kind: str, context: int, sequences: int, expected: int
) -> None:
    settings = generic_settings(context, sequences, cache_type(kind), cache_type(kind))

    caches = block_caches(with_indexers(GLM, own=own, shared=shared), 78, settings)

    assert expected == sum(cache.cache_bytes for cache in caches)
    assert expected == sum(cache.fixed_bytes + context * cache.bytes_per_token for cache in caches)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("f32", Fraction(4)),
        ("f16", Fraction(2)),
        ("bf16", Fraction(2)),
        ("fp8", Fraction(1)),
        ("fp8_e4m3", Fraction(1)),
        ("fp8_e5m2", Fraction(1)),
        ("q8_0", Fraction(34, 32)),
        ("q5_1", Fraction(24, 32)),
        ("q5_0", Fraction(22, 32)),
        ("q4_1", Fraction(20, 32)),
        ("q4_0", Fraction(18, 32)),
        ("iq4_nl", Fraction(18, 32)),
    ],
)
def test_a_cache_type_is_found_in_either_letter_case(name: str, expected: Fraction) -> None:
    for spelled in (name, name.upper()):
        kind = cache_type(spelled)

        assert name == kind.name
        assert expected == Fraction(kind.block_bytes, kind.block_values)


def test_every_cache_type_is_listed_when_one_is_not_known() -> None:
    with pytest.raises(CacheTypeError) as caught:
        cache_type("q9_9\x1b")

    expected = (
        '"q9_9\\x1b" is not a cache type; expected one of '
        "bf16, f16, f32, fp8, fp8_e4m3, fp8_e5m2, iq4_nl, q4_0, q4_1, q5_0, q5_1, q8_0."
    )
    assert expected == str(caught.value)
    assert isinstance(caught.value, TensorsError)
    assert isinstance(caught.value, ValueError)


def test_keys_and_values_are_sized_by_their_own_types() -> None:
    settings = generic_settings(100, 1, Q8_0, F16)

    assert 100 * (1024 * 34 // 32 + 1024 * 2) == term_bytes(term(keys=1024, values=1024), settings)


def test_the_values_of_all_cells_are_floored_once() -> None:
    """Nine values of 34/32 bytes are 9.5625; three cells of three values are sized together."""
    assert 9 == term_bytes(term(keys=3), generic_settings(3, 1, Q8_0, Q8_0))


def test_a_window_holds_the_context_until_it_is_full() -> None:
    windowed = term(CacheKind.WINDOW, keys=8, values=8, window=512)

    assert 300 == term_cells(windowed, generic_settings(300, 1, F16, F16))
    assert 512 == term_cells(windowed, generic_settings(513, 1, F16, F16))
    assert 3 * 512 == term_cells(windowed, generic_settings(4096, 3, F16, F16))


@pytest.mark.parametrize(
    ("stream_tokens", "streams", "sequences", "expected"),
    [(8192, 1, 1, 1024), (2048, 4, 4, 4 * 1024), (8192, 1, 4, 2560), (1024, 1, 4, 1024)],
)
def test_a_padded_window_holds_a_micro_batch_and_the_sequences_of_its_stream(
    stream_tokens: int, streams: int, sequences: int, expected: int
) -> None:
    """Measured on gemma3 with a window of 512 and micro-batches of 512: apart and in one stream."""
    windowed = term(CacheKind.WINDOW, keys=8, window=512)

    assert expected == term_cells(windowed, padded(stream_tokens, streams, sequences, 512))


def gemma3(blocks: int, heads: int, width: int, window: int) -> tuple[CacheTerm, ...]:
    """Return K and V of blocks of which every sixth attends to everything."""
    return tuple(
        term(keys=heads * width, values=heads * width, block=block)
        if block % 6 == 5
        else term(CacheKind.WINDOW, keys=heads * width, values=heads * width, window=window, block=block)
        for block in range(blocks)
    )


@pytest.mark.parametrize(
    ("stream_tokens", "streams", "sequences", "expected_mib"),
    [(8192, 1, 1, 39.0), (4096, 2, 2, 54.0), (2048, 4, 4, 84.0), (8192, 1, 2, 46.5), (8192, 1, 4, 61.5)],
)
def test_sequences_apart_or_in_one_stream_have_the_caches_measured_on_gemma_3_270m(
    stream_tokens: int, streams: int, sequences: int, expected_mib: float
) -> None:
    settings = padded(stream_tokens, streams, sequences, 512)

    assert expected_mib * 2**20 == sum(term_bytes(one, settings) for one in gemma3(18, 1, 256, 512))


def test_a_long_context_has_the_cache_measured_on_gemma_3_27b() -> None:
    settings = padded(131072, 1, 1, 512)

    size = sum(term_bytes(one, settings) for one in gemma3(62, 16, 128, 1024))
    assert 10.61 == round(size / 2**30, 2)


def test_a_cell_that_stands_for_several_tokens_is_rounded_up() -> None:
    compressed = term(CacheKind.LATENT, keys=8, tokens_per_cell=128)

    assert 2 == term_cells(compressed, generic_settings(129, 1, F16, F16))
    assert 256 == term_cells(compressed, padded(2048, 1, 1, 512))


def test_state_is_kept_for_every_sequence_and_does_not_grow_with_the_context() -> None:
    recurrent = term(CacheKind.RECURRENT, state=1000)
    drafting = CacheSettings(4096, 1, 4, F16, F16, 256, 512, 4)

    assert 0 == term_cells(recurrent, drafting)
    assert 4 * 4 * 1000 * 4 == term_bytes(recurrent, drafting)
    assert 1000 * 4 == term_bytes(recurrent, generic_settings(7, 1, Q8_0, Q8_0))


def test_a_block_gets_what_grows_and_what_does_not() -> None:
    terms = (
        term(keys=64, values=64),
        term(CacheKind.WINDOW, block=1, keys=64, values=64, window=100),
        term(CacheKind.RECURRENT, block=1, state=10),
        term(CacheKind.LATENT, block=2, keys=6, tokens_per_cell=4),
        term(block=4, keys=64),
    )

    expected = (
        BlockCache(cache_bytes=2 * 50 * 256, bytes_per_token=2 * 256, fixed_bytes=0),
        BlockCache(cache_bytes=2 * 50 * 256 + 80, bytes_per_token=0, fixed_bytes=2 * 100 * 256 + 80),
        BlockCache(cache_bytes=2 * 13 * 12, bytes_per_token=6, fixed_bytes=2 * 12),
        BlockCache(cache_bytes=0, bytes_per_token=0, fixed_bytes=0),
    )
    assert expected == block_caches(terms, 4, generic_settings(50, 2, F16, F16))


def test_indexer_keys_are_kept_by_who_computes_the_indices() -> None:
    own = term(CacheKind.INDEXER, keys=128)
    shared = term(CacheKind.INDEXER, block=1, keys=128, own_indices=False)
    other = term(keys=64, values=64)

    assert (own, shared, other) == with_indexers((own, shared, other), own=True, shared=True)
    assert (own, other) == with_indexers((own, shared, other), own=True, shared=False)
    assert (other,) == with_indexers((own, shared, other), own=False, shared=False)


@given(
    st.builds(
        term,
        st.just(CacheKind.WINDOW),
        keys=st.integers(1, 2048),
        values=st.integers(0, 2048),
        state=st.integers(0, 10**6),
        window=st.none() | st.integers(1, 5000),
        tokens_per_cell=st.sampled_from([1, 4, 128]),
    ),
    st.integers(1, 20_000),
    st.integers(1, 5),
    st.sampled_from(sorted(CACHE_TYPES)),
)
def test_fixed_and_growing_bytes_bound_the_size_at_every_context(
    one: CacheTerm, context: int, sequences: int, kind: str
) -> None:
    """Above the window the bound is met, up to rounding: one cell, and a byte a token and a kind of value."""
    settings = generic_settings(context, sequences, cache_type(kind), cache_type(kind))

    cache = block_caches((one,), 1, settings)[0]

    assert term_bytes(one, settings) == cache.cache_bytes
    line = cache.fixed_bytes + cache.bytes_per_token * context
    cell = cache.bytes_per_token * one.tokens_per_cell
    assert cache.cache_bytes <= line
    if one.window_tokens is None or context >= one.window_tokens:
        assert line - cache.cache_bytes <= cell + context + 2
