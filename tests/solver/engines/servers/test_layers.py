"""What a card keeps of every kind of cache."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.served import REQUEST, model, small_model, tensor

from solver.engines.servers.layers import CacheLayer, LayerKind, cache_layers, chooses_its_type
from solver.errors import InputError
from solver.workload import EngineName, IndexerRule, Workload
from tensors.architecture import MissingFact
from tensors.architecture.terms import full, indexer, latent, state, window
from tensors.errors import ArchitectureError
from tensors.inventory import Part, Role

if TYPE_CHECKING:
    from tensors.cache import CacheTerm


def kept(term: CacheTerm, width: int = 1, workload: Workload = REQUEST) -> CacheLayer:
    (layer,) = cache_layers(model((), (term,), 1), workload, EngineName.VLLM, 1, width)
    return layer


def of_type(name: str) -> Workload:
    return replace(REQUEST, cache_type_k=name, cache_type_v=name)


@pytest.mark.parametrize(
    ("width", "token_bytes"), [(1, 8 * 256 * 2), (2, 4 * 256 * 2), (8, 256 * 2), (16, 256 * 2), (3, 3 * 256 * 2)]
)
def test_heads_of_keys_and_values_are_shared_out_whole(width: int, token_bytes: int) -> None:
    assert CacheLayer(0, LayerKind.FULL, None, token_bytes, 0) == kept(full(0, 8, 128, 128), width)


@pytest.mark.parametrize("width", [1, 2, 8])
def test_latents_and_indexer_keys_are_kept_by_every_card(width: int) -> None:
    """Indexer keys take a byte each and a scale of four for every 128, whatever the cache's type."""
    assert 576 * 2 == kept(latent(0, 576), width).token_bytes
    assert 132 == kept(indexer(0, 128, own_indices=True), width).token_bytes
    assert 132 == kept(indexer(0, 128, own_indices=True), width, of_type("fp8")).token_bytes


@pytest.mark.parametrize(
    ("name", "latents", "values"),
    [
        ("bf16", 1152, 512),
        ("BF16", 1152, 512),
        ("auto", 1152, 512),
        ("f16", 1152, 512),
        ("fp8", 576, 256),
        ("fp8_e4m3", 576, 256),
        ("fp8_e5m2", 576, 256),
        ("fp8_ds_mla", 656, 512),
    ],
)
def test_types_of_the_cache(name: str, latents: int, values: int) -> None:
    """Packed latents are 512 bytes, four scales and 64 values of two bytes."""
    assert latents == kept(latent(0, 576), 1, of_type(name)).token_bytes
    assert values == kept(full(0, 1, 128, 128), 1, of_type(name)).token_bytes


def test_windows_keep_their_length_and_states_their_bytes() -> None:
    assert CacheLayer(0, LayerKind.WINDOW, 512, 2 * 64 * 2, 0) == kept(window(0, 2, 64, 64, 512), 2)
    assert CacheLayer(0, LayerKind.STATE, None, 0, 1000 * 4) == kept(state(0, 4, 4000), 4)


def test_a_block_may_keep_a_cache_and_a_state() -> None:
    terms = (full(1, 1, 8, 8), state(0, 1, 10), full(0, 1, 8, 8))
    layers = cache_layers(model((), terms, 2), REQUEST, EngineName.VLLM, 2, 1)

    assert [(0, LayerKind.STATE), (0, LayerKind.FULL), (1, LayerKind.FULL)] == [
        (layer.block, layer.kind) for layer in layers
    ]


def test_blocks_that_are_not_placed_keep_nothing() -> None:
    assert 3 == len(cache_layers(small_model(4), REQUEST, EngineName.VLLM, 3, 1))


@pytest.mark.parametrize(
    ("rule", "blocks"),
    [(IndexerRule.CONSERVATIVE, [0, 1]), (IndexerRule.OPTIMIZED, [1]), (IndexerRule.NONE, [])],
)
def test_indexer_keys_are_kept_by_all_blocks_by_some_or_by_none(rule: IndexerRule, blocks: list[int]) -> None:
    terms = (indexer(0, 128, own_indices=False), indexer(1, 128, own_indices=True))
    layers = cache_layers(model((), terms, 2), replace(REQUEST, indexer=rule), EngineName.VLLM, 2, 1)

    assert blocks == [layer.block for layer in layers]


@pytest.mark.parametrize("width", [1, 2])
def test_given_bytes_a_token_are_spread_over_the_trunk_and_shared_by_cards(width: int) -> None:
    layers = cache_layers(small_model(4), replace(REQUEST, cache_bytes_per_token=4002), EngineName.VLLM, 4, width)

    assert [-(-share // width) for share in (1000, 1001, 1000, 1001)] == [layer.token_bytes for layer in layers]


def test_a_cache_type_that_the_engine_does_not_have_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        kept(full(0, 1, 8, 8), 1, of_type("q8_0"))

    assert (
        'cache type of vllm: "q8_0" is not one; expected one of auto, bf16, bfloat16, f16, float16, fp8, fp8_e4m3, '
        "fp8_e5m2, fp8_ds_mla. Change it."
    ) == str(caught.value)


def test_keys_and_values_are_of_one_type() -> None:
    with pytest.raises(InputError) as caught:
        kept(full(0, 1, 8, 8), 1, replace(REQUEST, cache_type_v="fp8"))

    assert 'cache type of vllm: "bf16" for keys and "fp8" for values; expected one type for both. Give one.' == str(
        caught.value
    )


def test_cells_that_stand_for_several_tokens_have_no_rule() -> None:
    with pytest.raises(ArchitectureError) as caught:
        kept(latent(0, 128, 4))

    assert "Served: no rule for vllm: its cache has cells that stand for 4 tokens each." == str(caught.value)


def test_a_cache_that_no_header_describes_is_refused_by_name() -> None:
    served = small_model()
    unknown = replace(served, architecture=replace(served.architecture, cache=MissingFact("no key says how.")))
    with pytest.raises(ArchitectureError) as caught:
        cache_layers(unknown, REQUEST, EngineName.VLLM, 4, 1)

    assert "Served: no key says how." == str(caught.value)


@pytest.mark.parametrize("engine", [EngineName.VLLM, EngineName.SGLANG])
def test_latents_of_sparse_attention_in_8_bits_take_the_larger_layout(engine: EngineName) -> None:
    """Which of two layouts they have depends on the card: 576 bytes, or 656 before Blackwell."""
    sparse = (latent(0, 576), indexer(0, 128, own_indices=True))

    assert [656, 132] == [
        layer.token_bytes for layer in cache_layers(model((), sparse, 1), of_type("fp8"), engine, 1, 1)
    ]


def test_a_cache_whose_type_the_engine_might_choose() -> None:
    """Of sparse attention, and where a checkpoint has scales for keys and values."""
    scale = tensor("model.layers.0.self_attn.k_proj.k_scale", (1,), 4, Part.TRUNK, Role.ATTENTION, 0)

    assert not chooses_its_type(small_model())
    assert chooses_its_type(replace(small_model(), tensors=(scale,)))
    assert chooses_its_type(model((), (latent(0, 576), indexer(0, 128, own_indices=True)), 1))
