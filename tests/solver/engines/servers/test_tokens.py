"""Slots for tokens: what one takes, and how many all ranks have."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.engines.servers.layers import CacheLayer, LayerKind
from solver.engines.servers.pool import Request, Room
from solver.engines.servers.tokens import TokenPool, token_pool
from tensors.cache import BlockCache
from tensors.errors import ArchitectureError

REQUEST = Request(context_tokens=1000, sequences=2, batched_tokens=4096)
FOUR_FIFTHS = Fraction(4, 5)


def full(block: int, token_bytes: int = 4096) -> CacheLayer:
    return CacheLayer(block, LayerKind.FULL, None, token_bytes, 0)


def window(block: int, token_bytes: int = 4096) -> CacheLayer:
    return CacheLayer(block, LayerKind.WINDOW, 512, token_bytes, 0)


def pool(*layers: CacheLayer, page_tokens: int = 1, request: Request = REQUEST) -> TokenPool:
    return token_pool(layers, page_tokens, FOUR_FIFTHS, request, "Served")


def test_a_token_takes_a_cell_of_every_layer() -> None:
    slots = pool(full(0), full(1), full(2, 132))

    assert (4096, 8192 + 132) == (slots.unit_bytes(0, 1), slots.unit_bytes(0, 3))
    assert 3 == slots.units(0, 2, 3 * 8192 + 8191)
    assert slots.units(3, 9, 100) is None
    assert (7, Fraction(7, 1000), 1000) == (slots.tokens(7), slots.concurrency(7), slots.request_units)


def test_slots_are_handed_out_in_whole_pages() -> None:
    slots = pool(full(0), page_tokens=64)

    assert 64 == slots.units(0, 1, 127 * 4096)
    assert 1024 == slots.request_units


def test_windows_have_four_fifths_of_the_slots_unless_there_is_nothing_else() -> None:
    mixed, alone = pool(full(0), window(1)), pool(window(0))

    assert 4096 + -(-4096 * 4 // 5) == mixed.unit_bytes(0, 2)
    # The exact share: 9 slots take 9 + 7.2 cells.
    assert 9 == mixed.units(0, 2, 9 * 4096 * 9 // 5 + 1)
    assert 4096 == alone.unit_bytes(0, 1)


def test_ranks_agree_on_the_least_memory_before_they_count() -> None:
    """A rank that has little left and few layers costs the one with many layers its slots."""
    slots = pool(*(full(block) for block in range(4)))
    rooms = [Room(0, 1, 30 * 4096), Room(1, 4, 300 * 4096)]

    assert (30, 100) == (slots.units(0, 1, 30 * 4096), slots.units(1, 4, 300 * 4096))
    assert 10 == slots.shared_units(rooms)
    assert 0 == slots.shared_units([Room(0, 4, -1)])


def test_what_a_block_takes_and_how_it_grows() -> None:
    caches = pool(full(0), window(1, 3)).block_caches(3)

    assert (BlockCache(2000 * 4096, 2 * 4096, 0), BlockCache(4800, 5, 0), BlockCache(0, 0, 0)) == caches


@given(
    kinds=st.lists(st.booleans(), min_size=1, max_size=8),
    page=st.sampled_from((1, 16, 48, 64)),
    context=st.integers(1, 30).map(lambda steps: steps * 256),
)
def test_growth_bounds_the_cache_at_every_context(kinds: list[bool], page: int, context: int) -> None:
    layers = [full(block, 100) if kind else window(block, 7) for block, kind in enumerate(kinds)]
    bounds = pool(*layers, page_tokens=page).block_caches(len(kinds))
    exact = pool(*layers, page_tokens=page, request=Request(context, 2, 1)).block_caches(len(kinds))

    assert all(
        there.cache_bytes <= bound.fixed_bytes + bound.bytes_per_token * context
        for there, bound in zip(exact, bounds, strict=True)
    )


def test_states_have_no_rule() -> None:
    with pytest.raises(ArchitectureError) as caught:
        pool(full(0), CacheLayer(1, LayerKind.STATE, None, 0, 100))

    assert "Served: no rule for sglang: some of its blocks carry a state beside a cache." == str(caught.value)
