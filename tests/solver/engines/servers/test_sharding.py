"""What one of several cards holds of every tensor."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.served import llama_70b_fp8, model, small_model, tensor

from solver.engines.servers.sharding import BlockWeights, card_weights, check_width
from solver.errors import InputError
from tensors.architecture.terms import full, latent
from tensors.inventory import Inventory, Part, Role

ROWS = 64


def one_block(name: str, shape: tuple[int, ...], role: Role, kv_heads: int = 2) -> Inventory:
    return model(
        (tensor(f"model.layers.0.{name}.weight", shape, 2, Part.TRUNK, role, 0),), (full(0, kv_heads, 16, 16),), 1
    )


@pytest.mark.parametrize(
    ("name", "shape", "role", "held"),
    [
        ("mlp.up_proj", (96, 64), Role.FEED_FORWARD, 96 * 64 * 2 // 4),
        ("mlp.experts", (8, 96, 64), Role.ROUTED_EXPERT, 8 * 96 * 64 * 2 // 4),
        ("self_attn.q_proj", (128, 64), Role.ATTENTION, 128 * 64 * 2 // 4),
        ("self_attn.o_proj", (64, 128), Role.ATTENTION, 64 * 128 * 2 // 4),
        ("mixer.in_proj", (128, 64), Role.RECURRENT, 128 * 64 * 2 // 4),
        # Two heads of keys on four cards: each card has a whole head.
        ("self_attn.k_proj", (32, 64), Role.ATTENTION, 32 * 64 * 2 // 2),
        ("attn_v", (32, 64), Role.ATTENTION, 32 * 64 * 2 // 2),
        ("self_attn.q_a_proj", (24, 64), Role.ATTENTION, 24 * 64 * 2),
        ("self_attn.kv_a_proj_with_mqa", (24, 64), Role.ATTENTION, 24 * 64 * 2),
        ("attn_kv_a_mqa", (24, 64), Role.ATTENTION, 24 * 64 * 2),
        ("self_attn.kv_b_proj", (24, 64), Role.ATTENTION, 24 * 64 * 2 // 4),
        ("input_layernorm", (64,), Role.NORM, 64 * 2),
        ("self_attn.q_proj.bias", (128,), Role.ATTENTION, 128 * 2),
        ("mlp.gate", (8, 64), Role.ROUTER, 8 * 64 * 2),
        ("self_attn.indexer.wk", (16, 64), Role.INDEXER, 16 * 64 * 2),
        # Bytes that do not divide are rounded up.
        ("mlp.down_proj", (1, 3), Role.FEED_FORWARD, 2),
    ],
)
def test_a_card_of_four(name: str, shape: tuple[int, ...], role: Role, held: int) -> None:
    weights = card_weights(one_block(name, shape, role), 1, 4, ROWS)

    experts, dense = (held if role is kind else 0 for kind in (Role.ROUTED_EXPERT, Role.FEED_FORWARD))
    assert (BlockWeights(held, experts, dense),) == weights.blocks


def test_one_card_holds_every_byte_of_the_files() -> None:
    """Llama's rows need no padding."""
    llama = llama_70b_fp8()
    weights = card_weights(llama, 80, 1, ROWS)

    assert llama.weight_bytes == (
        sum(block.weight_bytes for block in weights.blocks) + weights.input_bytes + weights.head_bytes
    )
    assert 0 == weights.tied_bytes


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_cards_together_hold_what_is_cut_once_and_what_is_not_each(width: int) -> None:
    llama = llama_70b_fp8()
    weights = card_weights(llama, 80, width, ROWS)
    norms = 2 * 8192 * 2
    matrices = llama.blocks()[0].weight_bytes - norms

    assert matrices + width * norms == width * weights.blocks[0].weight_bytes
    assert llama.part_bytes(Part.INPUT) == width * weights.input_bytes


def test_rows_of_embedding_and_head_are_padded_before_they_are_cut() -> None:
    """100 rows become 128; other tables and towers are held whole."""
    ends = (
        tensor("model.embed_tokens.weight", (100, 8), 2, Part.INPUT, Role.EMBEDDING, None),
        tensor("model.position_embeddings.weight", (100, 8), 2, Part.INPUT, Role.EMBEDDING, None),
        tensor("visual.weight", (100, 8), 2, Part.OTHER, Role.VISION, None),
        tensor("model.norm.weight", (8,), 2, Part.HEAD, Role.NORM, None),
        tensor("lm_head.weight", (100, 8), 2, Part.HEAD, Role.OUTPUT, None),
    )
    held = model((*small_model(1).tensors[2:], *ends), (full(0, 2, 16, 16),), 1)
    tied = replace(held, tied=True)
    padded, other = 128 * 8 * 2, 2 * 100 * 8 * 2
    one, two = card_weights(held, 1, 1, ROWS), card_weights(tied, 1, 2, ROWS)

    assert (padded + other, 16 + padded, 0) == (one.input_bytes, one.head_bytes, one.tied_bytes)
    assert (padded // 2 + other, 16 + padded // 2 + padded // 2, padded // 2) == (
        two.input_bytes,
        two.head_bytes,
        two.tied_bytes,
    )


def test_blocks_that_are_not_placed_are_held_by_nobody() -> None:
    assert 3 == len(card_weights(small_model(4), 3, 1, ROWS).blocks)


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_widths_that_share_heads_out_evenly_are_taken(width: int) -> None:
    check_width(llama_70b_fp8(), width)


def test_a_width_that_does_not_divide_the_heads_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        check_width(llama_70b_fp8(), 3)

    assert (
        "Served: its 64 attention heads do not divide among 3 cards; expected a width that divides them. "
        "Change the width."
    ) == str(caught.value)


def test_a_width_that_neither_divides_nor_repeats_heads_of_keys_is_refused() -> None:
    six = replace(small_model(1, kv_heads=6))
    twelve = replace(six, architecture=replace(six.architecture, heads=24))
    check_width(twelve, 12)
    with pytest.raises(InputError) as caught:
        check_width(twelve, 4)

    assert (
        "Served: its 6 heads of keys and values do not divide among 4 cards; expected a width that divides them or is "
        "a multiple of them. Change the width."
    ) == str(caught.value)


def test_latents_set_no_width() -> None:
    check_width(model((), (latent(0, 576),), 1), 7)
