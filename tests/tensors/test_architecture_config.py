"""Caches of model families, from their config files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.configs import LLAMA, SPARSE, config, kinds, terms

from tensors.architecture import Experts, from_config
from tensors.cache import CacheKind, CacheTerm

if TYPE_CHECKING:
    from tensors.metadata import Config, ConfigValue


def test_grouped_attention_keeps_the_heads_of_keys_and_values() -> None:
    architecture = config("llama")

    expected = tuple(CacheTerm(CacheKind.FULL, block, 2, 128, 128, 0, None, 1, True) for block in range(4))
    assert expected == terms(architecture)
    assert ("llama", 4, 0, 512, 32000, 8192, 8, False) == (
        architecture.family,
        architecture.trunk_blocks,
        architecture.nextn_blocks,
        architecture.hidden_size,
        architecture.vocabulary_size,
        architecture.context_tokens,
        architecture.heads,
        architecture.tied,
    )


@pytest.mark.parametrize(
    ("model_type", "keys", "expected"),
    [
        ("llama", {"num_key_value_heads": None}, (8, 512)),
        ("llama", {"head_dim": 128}, (2, 256)),
        ("gemma", {}, (2, 512)),
        ("gpt_bigcode", {"multi_query": True}, (1, 64)),
        ("falcon", {"multi_query": True, "new_decoder_architecture": True, "num_kv_heads": 4}, (2, 128)),
        ("chatglm", {"multi_query_attention": True, "multi_query_group_num": 4, "kv_channels": 128}, (4, 512)),
    ],
)
def test_each_family_counts_heads_and_widths_in_its_own_way(
    model_type: str, keys: dict[str, ConfigValue], expected: tuple[int, int]
) -> None:
    first = terms(config(model_type, **keys))[0]

    assert expected == (first.heads, first.key_values)


def test_old_names_of_the_same_facts_are_read() -> None:
    architecture = from_config({"model_type": "gpt2", "n_layer": 2, "n_head": 4, "n_embd": 64, "n_positions": 128}, {})

    assert (2, 64, 128, 4) == (
        architecture.trunk_blocks,
        architecture.hidden_size,
        architecture.context_tokens,
        architecture.heads,
    )
    assert [(4, 64), (4, 64)] == [(term.heads, term.value_values) for term in terms(architecture)]


@pytest.mark.parametrize("nest", ["text_config", "llm_config", "language_config"])
def test_the_language_model_of_a_nested_config_is_followed(nest: str) -> None:
    nested: Config = {
        "model_type": "some_vl",
        "tie_word_embeddings": True,
        nest: {**LLAMA, "model_type": "qwen3_text", "tie_word_embeddings": None, "head_dim": 64},
    }

    architecture = from_config(nested, {})

    assert ("some_vl", 4, True) == (architecture.family, architecture.trunk_blocks, architecture.tied)
    assert "FFFF" == kinds(architecture)


@pytest.mark.parametrize(
    ("model_type", "keys", "expected"),
    [
        ("mistral", {"sliding_window": None}, "FFFF"),
        ("mistral", {"sliding_window": 4096}, "WWWW"),
        ("phi3", {"sliding_window": 262144}, "FFFF"),
        ("qwen2", {"sliding_window": 4096, "use_sliding_window": False, "max_window_layers": 2}, "FFFF"),
        ("qwen2", {"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 2}, "FFWW"),
        ("gemma2", {"sliding_window": 4096}, "WFWF"),
        ("gemma3_text", {"sliding_window": 512, "sliding_window_pattern": 3}, "WWFW"),
        ("llama4_text", {"attention_chunk_size": 4096}, "WWWF"),
        ("mimo_v2_flash", {"sliding_window": 128, "hybrid_layer_pattern": [0, 1, 1, 0]}, "FWWF"),
        ("gpt_oss", {"sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 2}, "WFWF"),
    ],
)
def test_each_family_has_its_windows(model_type: str, keys: dict[str, ConfigValue], expected: str) -> None:
    assert expected == kinds(config(model_type, **keys))


def test_blocks_with_and_without_a_window_may_differ_and_late_blocks_share_what_others_keep() -> None:
    architecture = config(
        "gemma4",
        sliding_window=512,
        layer_types=["sliding_attention", "full_attention"] * 2,
        head_dim=32,
        global_head_dim=64,
        num_global_key_value_heads=1,
        attention_k_eq_v=True,
        num_kv_shared_layers=1,
    )

    assert [(0, 2, 64, 512), (1, 1, 64, None), (2, 2, 64, 512)] == [
        (term.block, term.heads, term.key_values, term.window_tokens) for term in terms(architecture)
    ]


def test_latents_serve_as_keys_and_values() -> None:
    architecture = config(
        "deepseek_v3",
        kv_lora_rank=512,
        qk_rope_head_dim=64,
        num_nextn_predict_layers=1,
        n_routed_experts=256,
        num_experts_per_tok=8,
        n_shared_experts=1,
    )

    assert (4, 1, Experts(256, 8, 1)) == (
        architecture.trunk_blocks,
        architecture.nextn_blocks,
        architecture.experts,
    )
    assert [576] * 5 == [term.key_values for term in terms(architecture)]
    assert [0] * 5 == [term.value_values for term in terms(architecture)]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, tuple(range(12))),
        ({"indexer_types": ["full"] * 3 + ["shared"] * 9}, (0, 1, 2)),
        ({"index_topk_freq": 4, "index_skip_topk_offset": 3}, (0, 1, 2, 6, 10)),
    ],
)
def test_some_blocks_use_the_indices_of_another(keys: dict[str, ConfigValue], expected: tuple[int, ...]) -> None:
    architecture = config("glm_moe_dsa", **(SPARSE | keys))

    assert "LI" * 12 == kinds(architecture)
    assert (expected, 2048) == (architecture.full_indexer_blocks, architecture.index_topk)
    own = tuple(term.block for term in terms(architecture) if term.kind is CacheKind.INDEXER and term.own_indices)
    assert expected == own
