"""Where config.json and tensors disagree, the tensors are taken and a note says so."""

from __future__ import annotations

import json
from math import prod
from typing import Any

from benchmarks.forge import MemoryFolder, safetensors
from tensors.architecture import from_config
from tensors.reader import read_from

CONFIG: dict[str, Any] = {
    "model_type": "mixtral",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 128,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "tie_word_embeddings": False,
}


def shapes(blocks: int = 2, kv_rows: int = 32) -> dict[str, tuple[int, ...]]:
    outside: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (128, 64),
        "model.norm.weight": (64,),
        "lm_head.weight": (128, 64),
    }
    inside: dict[str, tuple[int, ...]] = {
        "self_attn.q_proj.weight": (64, 64),
        "self_attn.k_proj.weight": (kv_rows, 64),
        "self_attn.v_proj.weight": (kv_rows, 64),
        "block_sparse_moe.gate.weight": (4, 64),
    }
    return outside | {f"model.layers.{b}.{name}": shape for b in range(blocks) for name, shape in inside.items()}


def notes(config: dict[str, Any], tensors: dict[str, tuple[int, ...]]) -> tuple[str, ...]:
    layout, end = {}, 0
    for name, shape in tensors.items():
        begin, end = end, end + 2 * prod(shape)
        layout[name] = ("BF16", shape, (begin, end))
    files = {"model.safetensors": safetensors(layout), "config.json": json.dumps(config).encode()}
    return read_from(MemoryFolder(files), None, allow_unknown_types=False).notes


def test_a_config_that_its_tensors_bear_out_needs_no_note() -> None:
    assert () == notes(CONFIG, shapes())
    assert from_config(CONFIG, {}) == from_config(CONFIG, shapes())


def test_widths_counts_and_ties_are_those_of_the_tensors() -> None:
    wrong = CONFIG | {"hidden_size": 48, "vocab_size": 100, "num_local_experts": 8, "tie_word_embeddings": True}
    architecture = from_config(wrong, shapes())

    assert (64, 128, False) == (architecture.hidden_size, architecture.vocabulary_size, architecture.tied)
    assert architecture.experts is not None
    assert 4 == architecture.experts.routed
    assert (
        "config.json states 48 values between blocks; the tensors hold 64, which is taken",
        "config.json states 100 tokens of vocabulary; the tensors hold 128, which is taken",
        "config.json states 8 routed experts; the tensors hold 4, which is taken",
        "config.json ties the head to the input; the tensors hold a matrix of the head's own, which is taken",
    ) == notes(wrong, shapes())


def test_the_cache_is_as_wide_as_the_projections_that_fill_it() -> None:
    architecture = from_config(CONFIG, shapes(kv_rows=64))

    assert isinstance(architecture.cache, tuple)
    assert [(4, 64, 64)] * 2 == [(term.heads, term.key_values, term.value_values) for term in architecture.cache]
    said = "config.json states K and V of 32 and 32 values for block 0; the tensors make 64 and 64, which is taken"
    assert (f"{said} (so in 2 blocks)",) == notes(CONFIG, shapes(kv_rows=64))


def test_a_width_that_heads_do_not_fill_is_taken_whole() -> None:
    architecture = from_config(CONFIG, shapes(kv_rows=40))

    assert isinstance(architecture.cache, tuple)
    assert [(1, 40, 40)] * 2 == [(term.heads, term.key_values, term.value_values) for term in architecture.cache]


def test_blocks_beyond_the_stated_number_are_trunk_unless_they_are_called_nextn() -> None:
    held = shapes(blocks=3)

    assert (3, 0) == (from_config(CONFIG, held).trunk_blocks, from_config(CONFIG, held).nextn_blocks)
    assert ("config.json states 2 trunk blocks; the tensors hold 3, which is taken",) == notes(CONFIG, held)
    for nextn in ({"model.layers.2.enorm.weight": (64,)}, {"mtp.layers.2.proj.weight": (64, 64)}):
        found = from_config(CONFIG, held | nextn)
        assert (2, 1) == (found.trunk_blocks, found.nextn_blocks)
    declared = from_config(CONFIG | {"num_nextn_predict_layers": 1}, held)
    assert (2, 1) == (declared.trunk_blocks, declared.nextn_blocks)


def test_packed_projections_and_towers_say_nothing_of_the_cache() -> None:
    odd = {
        "model.layers.0.self_attn.k_proj.weight": (2048, 1),
        "model.visual.layers.1.self_attn.k_proj.weight": (999, 64),
        "model.layers.1.self_attn.k_proj.weight": (32, 64),
    }

    assert from_config(CONFIG, {}).cache == from_config(CONFIG, odd).cache
