"""What is to be placed, and which rule gave each number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.closed_form import GLM_5_2, ArchitectureFacts
from solver.closed_form.target import CacheRequest, facts_of, target_of_bytes, target_of_inventory
from solver.errors import InputError
from tensors.architecture import Architecture, MissingFact
from tensors.cache import (
    CacheKind,
    CacheTerm,
    block_caches,
    cache_type,
    generic_settings,
    with_indexers,
)
from tensors.inventory import Inventory, Part, Role, Tensor

REQUEST = CacheRequest(16384, 1, "q8_0", "q8_0", "conservative", None)


def latent(block: int, width: int) -> CacheTerm:
    return CacheTerm(CacheKind.LATENT, block, 1, width, 0, 0, None, 1, own_indices=True)


def indexer(block: int, width: int, *, own: bool) -> CacheTerm:
    return CacheTerm(CacheKind.INDEXER, block, 1, width, 0, 0, None, 1, own_indices=own)


def full(block: int, width: int) -> CacheTerm:
    return CacheTerm(CacheKind.FULL, block, 8, width, width, 0, None, 1, own_indices=True)


def architecture(trunk_blocks: int, cache: tuple[CacheTerm, ...] | MissingFact) -> Architecture:
    return Architecture(
        family="glm-dsa",
        trunk_blocks=trunk_blocks,
        nextn_blocks=1,
        hidden_size=6144,
        vocabulary_size=154_880,
        context_tokens=2**20,
        heads=64,
        experts=None,
        index_topk=2048,
        index_block_tokens=None,
        banked_every=None,
        full_indexer_blocks=(),
        tied=False,
        cache=cache,
    )


def inventory(cache: tuple[CacheTerm, ...] | MissingFact, trunk_blocks: int = 4) -> Inventory:
    """Build a model of a few tensors: 5 bytes before the blocks, 10 in each, 7 in the nextn block, 3 after them."""
    parts = [
        (Part.INPUT, None, 5),
        *[(Part.TRUNK, block, 10) for block in range(trunk_blocks)],
        (Part.NEXTN, trunk_blocks, 7),
        (Part.HEAD, None, 3),
    ]
    tensors = tuple(
        Tensor(f"t{index}", (size,), "I8", size, 0, 0, part, Role.OTHER, block)
        for index, (part, block, size) in enumerate(parts)
    )
    return Inventory(
        name="small",
        format="gguf",
        files=(),
        tensors=tensors,
        trunk_blocks=trunk_blocks,
        nextn_blocks=1,
        tied=False,
        architecture=architecture(trunk_blocks, cache),
        header_sha256="0" * 64,
        notes=(),
    )


GLM_TERMS = (
    *(latent(block, 576) for block in range(79)),
    *(indexer(block, 128, own=block < 3 or (block - 2) % 4 == 0) for block in range(78)),
)


def test_the_six_facts_are_read_off_the_cache_terms_of_glm_5_2() -> None:
    assert GLM_5_2 == facts_of(architecture(78, GLM_TERMS))


def test_a_model_without_an_indexer_has_facts_of_zero() -> None:
    without = replace(architecture(2, (latent(0, 576), latent(1, 576))), index_topk=None)

    assert ArchitectureFacts(2, 576, 0, 0, 6144, 0) == facts_of(without)


@pytest.mark.parametrize(
    "cache",
    [
        (latent(0, 576),),
        (latent(0, 576), latent(1, 512)),
        (latent(0, 576), full(1, 128)),
        (full(0, 128), full(1, 128)),
        (latent(0, 576), latent(1, 576), indexer(1, 128, own=True)),
        (latent(0, 576), replace(latent(1, 576), window_tokens=512)),
        (replace(latent(0, 576), tokens_per_cell=4), replace(latent(1, 576), tokens_per_cell=4)),
        (),
        MissingFact("kv_lora_rank is missing"),
    ],
)
def test_a_model_that_keeps_anything_else_has_no_six_facts(cache: tuple[CacheTerm, ...] | MissingFact) -> None:
    assert facts_of(architecture(2, cache)) is None


@given(
    context=st.integers(1, 200_000),
    sequences=st.integers(1, 8),
    rule=st.sampled_from(["conservative", "optimized", "none"]),
    name=st.sampled_from(["q8_0", "f16", "bf16", "q4_0", "q5_1", "f32", "fp8"]),
)
def test_the_closed_form_is_the_special_case_of_the_cache_terms(
    context: int, sequences: int, rule: str, name: str
) -> None:
    """For latent attention the one product and the sum over terms of every block are the same bytes."""
    request = CacheRequest(context, sequences, name, name, rule, None)
    target = target_of_inventory(inventory(GLM_TERMS, 78), request, resident_nextn=False)
    settings = generic_settings(context, sequences, cache_type(name), cache_type(name))
    kept = with_indexers(GLM_TERMS, own=rule != "none", shared=rule == "conservative")

    assert sum(block.cache_bytes for block in block_caches(kept, 78, settings)) == target.kv_bytes


@pytest.mark.parametrize(
    ("resident", "weight_bytes", "rule", "notes"),
    [
        (
            False,
            48,
            "sum of all tensor bytes but those of nextn blocks",
            ("weights: 7 B of nextn blocks are left out",),
        ),
        (
            True,
            55,
            "sum of all tensor bytes, nextn blocks resident",
            ("cache: trunk blocks alone are counted, not the nextn blocks",),
        ),
    ],
)
def test_nextn_blocks_count_only_where_they_are_resident(
    resident: bool, weight_bytes: int, rule: str, notes: tuple[str, ...]
) -> None:
    terms = tuple(latent(block, 576) for block in range(5))
    target = target_of_inventory(inventory(terms), REQUEST, resident_nextn=resident)

    assert (weight_bytes, rule, notes) == (target.weight_bytes, target.weight_rule, target.notes)
    assert 4 * 612 * 16384 == target.kv_bytes
    assert "latent attention: 576 values in 4 blocks, no index keys" == target.kv_rule
    assert target.indexer is None


def test_another_kind_of_attention_is_sized_by_its_terms() -> None:
    terms = (full(0, 1024), full(1, 1024), latent(2, 576), indexer(2, 128, own=False), full(4, 1024))
    target = target_of_inventory(inventory(terms), replace(REQUEST, type_k="f16"), resident_nextn=False)

    assert (2 * (2048 + 1088) + 2 * (576 + 128)) * 16384 == target.kv_bytes
    assert "sum over the cache terms of trunk blocks (full, indexer, latent)" == target.kv_rule
    assert "conservative" == target.indexer


def test_bytes_a_token_replace_every_rule() -> None:
    request = replace(REQUEST, bytes_per_token=10, sequences=2)
    missing = MissingFact("the header lacks a key.")

    assert 10 * 16384 * 2 == target_of_inventory(inventory(missing), request, resident_nextn=False).kv_bytes
    assert 10 * 16384 * 2 == target_of_bytes("given", 100, None, request).kv_bytes
    assert "10 B a token, as given" == target_of_bytes("given", 100, GLM_5_2, request).kv_rule


def test_weights_may_be_given_as_bytes() -> None:
    target = target_of_bytes("glm-5.2", 216_715_360_960, GLM_5_2, REQUEST)

    assert (216_715_360_960, "file bytes as given") == (target.weight_bytes, target.weight_rule)
    assert (955_908_096, "conservative") == (target.kv_bytes, target.indexer)
    assert "latent attention: 576 values in 78 blocks, 128 index keys in 78" == target.kv_rule


def test_a_cache_that_no_header_sizes_is_refused_by_its_missing_key() -> None:
    with pytest.raises(InputError) as caught:
        target_of_inventory(inventory(MissingFact("the header lacks a key.")), REQUEST, resident_nextn=False)

    assert "small, cache: the header lacks a key. Give bytes per token in its place." == str(caught.value)


def test_a_cache_that_nothing_sizes_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        target_of_bytes("given", 100, None, REQUEST)

    assert "cache: neither facts of the architecture nor bytes per token are known; expected either. Give one." == str(
        caught.value
    )


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("context: 0 is too small; expected an integer of 1 or more.", {"context_tokens": 0}),
        ("sequences: True is not an integer; expected an integer of 1 or more.", {"sequences": True}),
        ("cache bytes per token: -1 is too small; expected an integer of 0 or more.", {"bytes_per_token": -1}),
    ],
)
def test_a_request_that_cannot_be_is_refused(message: str, change: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        replace(REQUEST, **change)

    assert message == str(caught.value)
