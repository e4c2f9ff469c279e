"""Pages of a model: sizes, groups, what a request takes, and what a rank has room for."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.engines.servers.layers import CacheLayer, LayerKind
from solver.engines.servers.pages import PagedPool, paged_pool
from solver.engines.servers.pool import Request, Room
from solver.errors import InputError
from tensors.cache import BlockCache

REQUEST = Request(context_tokens=8192, sequences=1, batched_tokens=2048)


def full(block: int, token_bytes: int = 4096) -> CacheLayer:
    return CacheLayer(block, LayerKind.FULL, None, token_bytes, 0)


def window(block: int, tokens: int = 1024, token_bytes: int = 4096) -> CacheLayer:
    return CacheLayer(block, LayerKind.WINDOW, tokens, token_bytes, 0)


def state(block: int, size: int) -> CacheLayer:
    return CacheLayer(block, LayerKind.STATE, None, 0, size)


def pool(*layers: CacheLayer, page_tokens: int = 16, request: Request = REQUEST) -> PagedPool:
    return paged_pool(layers, page_tokens, request, "Served")


def gemma(blocks: int = 12) -> PagedPool:
    """Return five windows to one layer that keeps everything, as often as blocks allow."""
    return pool(*(full(block) if block % 6 == 5 else window(block) for block in range(blocks)))


def test_equal_layers_have_pages_in_turn_and_need_one_for_every_16_tokens() -> None:
    """Llama 70B: 8 heads of 128 + 128 values of 2 bytes, 16 tokens a page."""
    llama = pool(*(full(block) for block in range(80)))

    assert (65536, 512, 0) == (llama.unit_bytes(0, 1), llama.request_units, llama.padding_bytes)
    assert 10 * 65536 == llama.unit_bytes(20, 30)
    assert 1476 == llama.units(0, 10, 1476 * 655360 + 655359)
    assert Fraction(1476, 512) == llama.concurrency(1476)
    assert 1476 * 16 == llama.tokens(1476)


def test_layers_that_keep_all_but_differ_in_width_each_have_pages_of_their_own_size() -> None:
    """Latents and the keys of an indexer are one group."""
    latents = pool(full(0, 1152), full(0, 132), full(1, 1152), page_tokens=64)

    assert 64 * (1152 + 132) == latents.unit_bytes(0, 1)
    assert 64 * 1152 == latents.unit_bytes(1, 2)
    assert 128 == latents.request_units
    assert not latents.shared_pages


def test_windows_of_all_layers_alike_keep_the_window_and_a_step() -> None:
    windows = pool(*(window(block) for block in range(4)))

    # 1023 tokens before, 2048 of a step, and a page because a window may begin inside one.
    assert -(-(1023 + 2048) // 16) + 1 == windows.request_units
    assert 0 == windows.padding_bytes


def test_a_window_keeps_no_more_than_the_context() -> None:
    short = Request(context_tokens=100, sequences=1, batched_tokens=2048)

    assert -(-100 // 16) + 1 == pool(window(0), request=short).request_units


def test_mixed_layers_form_groups_as_large_as_the_rarest_kind() -> None:
    """Two layers that keep all and ten windows: one group of the first, five of the others, dealt out in turn."""
    groups = gemma().groups

    assert (2,) * 6 == tuple(len(group.layers) for group in groups)
    assert [(0, 6), (1, 7), (2, 8), (3, 9), (4, 10), (5, 11)] == sorted(group.layers for group in groups)
    assert 512 + 5 * 193 == gemma().request_units


def test_kinds_of_nearly_equal_numbers_form_groups_as_large_as_the_commonest() -> None:
    """12 windows and 13 others: less than half as many again, so one group each."""
    layers = [window(block) for block in range(12)] + [full(block) for block in range(12, 25)]

    assert [12, 13] == [len(group.layers) for group in pool(*layers).groups]

    more = pool(full(0), full(1), window(2), window(3), window(4))

    assert [2, 2, 1] == [len(group.layers) for group in more.groups]


def test_a_rank_pays_for_its_largest_group_in_one_size_of_page() -> None:
    mixed = gemma()
    page = 16 * 4096

    assert page == mixed.unit_bytes(0, 6) == mixed.unit_bytes(5, 6) == mixed.unit_bytes(2, 7)
    assert 2 * page == mixed.unit_bytes(0, 12) == mixed.unit_bytes(1, 8)
    assert 10 == mixed.units(0, 12, 2 * page * 10 + page)


def test_layers_of_less_a_token_have_more_tokens_in_a_page() -> None:
    """The wide layer keeps twice as much a token, so pages of the others hold twice the tokens."""
    mixed = pool(full(0, 8192), window(1, 1024, 4096))

    assert (16, 32) == mixed.page_tokens
    assert (16 * 8192,) * 2 == mixed.page_bytes
    assert 512 + (-(-(1023 + 2048) // 32) + 1) == mixed.request_units


def test_pages_grow_until_a_state_fits_into_one() -> None:
    """A state of 3,000,000 bytes takes 46 kernel steps of 16 tokens of 4096 bytes."""
    hybrid = pool(state(0, 3_000_000), full(1), state(2, 3_000_000), full(3))
    tokens = 46 * 16

    assert (0, tokens, 0, tokens) == hybrid.page_tokens
    assert tokens * 4096 == hybrid.page_bytes[0]
    assert -(-8192 // tokens) + 1 == hybrid.request_units


def test_states_alone_take_a_page_of_their_size_each() -> None:
    states = pool(state(0, 1000), state(1, 1000))

    assert (2000, 1) == (states.unit_bytes(0, 2), states.request_units)
    assert (BlockCache(1000, 0, 1000),) * 2 == states.block_caches(2)


def test_blocks_that_keep_nothing_set_no_limit() -> None:
    assert pool(full(0)).units(1, 5, 100) is None
    assert 0 == pool().request_units
    assert 7 == pool(full(0)).shared_units([Room(0, 1, 7 * 65536), Room(1, 5, 100)])
    assert 0 == pool(full(0)).shared_units([Room(0, 1, -5)])


def test_all_ranks_have_the_pages_of_the_one_with_room_for_the_fewest() -> None:
    llama = pool(*(full(block) for block in range(4)))
    rooms = [Room(0, 1, 100 * 65536), Room(1, 4, 240 * 65536)]

    assert 80 == llama.shared_units(rooms)


def test_what_a_block_takes_grows_with_the_context_and_the_sequences() -> None:
    three = Request(context_tokens=8200, sequences=3, batched_tokens=2048)
    (block,) = pool(full(0), request=three).block_caches(1)

    assert BlockCache(3 * 513 * 65536, 3 * 4096, 0) == block


def test_a_window_does_not_grow_and_unusual_pages_are_begun() -> None:
    """Pages of 48 tokens do not divide steps of 256: one more page may be begun."""
    caches = pool(full(0), window(1), page_tokens=48).block_caches(2)

    assert BlockCache(171 * 48 * 4096, 4096, 48 * 4096) == caches[0]
    assert (65 * 48 * 4096, 0, 65 * 48 * 4096) == (
        caches[1].cache_bytes,
        caches[1].bytes_per_token,
        caches[1].fixed_bytes,
    )


def test_layers_whose_pages_cannot_be_of_one_size_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        pool(full(0, 4096), window(1, 1024, 3000))

    assert (
        "Served: its layers keep 3000 and 4096 bytes a token, whose pages cannot be of one size; expected sizes that "
        "divide. The engine does not start with this model."
    ) == str(caught.value)


def of_kind(kind: int, block: int) -> CacheLayer:
    return (full(block), window(block), window(block, 256), full(block, 2048), state(block, 70_000))[kind]


@given(
    kinds=st.lists(st.integers(0, 4), min_size=1, max_size=14),
    context=st.integers(1, 40).map(lambda steps: steps * 256),
    sequences=st.integers(1, 3),
)
def test_blocks_and_padding_cover_what_any_run_of_blocks_really_needs(
    kinds: list[int], context: int, sequences: int
) -> None:
    """And where every layer has pages of its own, blocks alone are exact."""
    request = Request(context, sequences, 512)
    model = pool(*(of_kind(kind, block) for block, kind in enumerate(kinds)), request=request)
    caches = model.block_caches(len(kinds))
    for start in range(len(kinds)):
        for end in range(start + 1, len(kinds) + 1):
            needed = model.unit_bytes(start, end) * model.request_units * sequences
            planned = sum(cache.cache_bytes for cache in caches[start:end])

            assert needed <= planned + model.padding_bytes
            assert model.shared_pages or needed == planned


@given(kinds=st.lists(st.integers(0, 4), min_size=1, max_size=10), context=st.integers(4, 40).map(lambda n: n * 256))
def test_growth_and_what_is_fixed_bound_the_cache_at_every_context(kinds: list[int], context: int) -> None:
    """The promise that objectives on context rely on."""
    layers = tuple(of_kind(kind, block) for block, kind in enumerate(kinds))
    at_most = pool(*layers, request=Request(256, 2, 512)).block_caches(len(kinds))
    exact = pool(*layers, request=Request(context, 2, 512)).block_caches(len(kinds))

    assert all(
        there.cache_bytes <= bound.fixed_bytes + bound.bytes_per_token * context
        for there, bound in zip(exact, at_most, strict=True)
    )
