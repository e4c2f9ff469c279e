"""Recurrent and hybrid families, and blocks described one by one, from config files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.configs import DELTA, LLAMA, config, kinds, states, terms

from tensors.architecture import from_config
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from tensors.metadata import Config, ConfigValue


@pytest.mark.parametrize(
    ("model_type", "keys", "expected_kinds", "expected_values"),
    [
        ("qwen3_next", {**DELTA, "full_attention_interval": 2}, "RFRF", 3 * (64 + 64) + 4 * 16 * 16),
        (
            "kimi_linear",
            {
                "kv_lora_rank": 512,
                "qk_rope_head_dim": 64,
                "linear_attn_config": {
                    "full_attn_layers": [2, 4],
                    "num_heads": 4,
                    "head_dim": 16,
                    "short_conv_kernel_size": 4,
                },
            },
            "RLRL",
            3 * 3 * 64 + 4 * 16 * 16,
        ),
        (
            "jamba",
            {
                "attn_layer_period": 4,
                "attn_layer_offset": 1,
                "mamba_d_conv": 4,
                "mamba_d_state": 16,
                "mamba_expand": 2,
            },
            "RFRR",
            3 * 1024 + 16 * 1024,
        ),
        (
            "falcon_mamba",
            {"conv_kernel": 4, "state_size": 16, "expand": 16, "intermediate_size": 1024},
            "RRRR",
            3 * 1024 + 16 * 1024,
        ),
        (
            "bamba",
            {
                "layer_types": ["mamba", "attention", "mamba", "mamba"],
                "mamba_d_conv": 4,
                "mamba_d_state": 16,
                "mamba_expand": 2,
                "mamba_n_groups": 1,
                "mamba_n_heads": 16,
            },
            "RFRR",
            3 * (1024 + 32) + 16 * 1024,
        ),
        (
            "falcon_h1",
            {"mamba_d_conv": 4, "mamba_d_state": 16, "mamba_d_ssm": 256, "mamba_n_groups": 1, "mamba_n_heads": 4},
            "RF" * 4,
            3 * (256 + 32) + 16 * 256,
        ),
        (
            "nemotron_h",
            {
                "hybrid_override_pattern": "M*-E",
                "mamba_num_heads": 4,
                "mamba_head_dim": 16,
                "n_groups": 2,
                "ssm_state_size": 8,
                "conv_kernel": 4,
            },
            "RF",
            3 * (64 + 32) + 8 * 64,
        ),
        ("minimax_m1", {"attn_type_list": [0, 0, 0, 1]}, "RRRF", 8 * 64 * 64),
        (
            "lfm2",
            {"layer_types": ["conv", "full_attention", "conv", "conv"], "conv_L_cache": 3},
            "RFRR",
            512 * 2,
        ),
    ],
)
def test_each_recurrent_family_has_its_blocks_and_its_state(
    model_type: str, keys: dict[str, ConfigValue], expected_kinds: str, expected_values: int
) -> None:
    architecture = config(model_type, **keys)

    assert expected_kinds == kinds(architecture)
    assert {expected_values} == states(architecture)[1]


def test_a_hybrid_may_list_its_blocks_and_those_that_repeat_for_further_tokens() -> None:
    listed: Config = {
        "model_type": "nemotron_h",
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "layers_block_type": ["mamba", "moe", "attention"],
        "mtp_layers_block_type": ["attention", "moe"],
        "num_nextn_predict_layers": 1,
        "mamba_num_heads": 4,
        "mamba_head_dim": 16,
        "n_groups": 2,
        "ssm_state_size": 8,
        "conv_kernel": 4,
    }

    architecture = from_config(listed, {})

    assert (3, 2) == (architecture.trunk_blocks, architecture.nextn_blocks)
    assert [(0, CacheKind.RECURRENT), (2, CacheKind.FULL), (3, CacheKind.FULL)] == [
        (term.block, term.kind) for term in terms(architecture)
    ]


def test_blocks_may_be_described_one_by_one() -> None:
    described = [
        {"attention": {"n_heads_in_group": 8}},
        {"attention": {"no_op": True}},
        {"attention": {"n_heads_in_group": 2}},
        {"attention": {"replace_with_linear": True}},
    ]

    architecture = config("nemotron-nas", block_configs=described, num_key_value_heads=None)

    assert [(0, 1), (2, 4)] == [(term.block, term.heads) for term in terms(architecture)]


@pytest.mark.parametrize(("model_type", "names"), [("deepseek_v4", None), ("deepseek_ref", ["DeepseekV4ForCausalLM"])])
def test_compressed_keys_are_known_by_type_or_class(model_type: str, names: list[ConfigValue] | None) -> None:
    architecture = config(
        model_type,
        architectures=names,
        head_dim=512,
        sliding_window=128,
        index_head_dim=128,
        compress_ratios=[0, 4, 128, 0, 0],
        num_nextn_predict_layers=1,
    )

    assert "WWLIRWLRWW" == kinds(architecture)
    assert [None, 4, 4, 128] == [
        term.tokens_per_cell if term.tokens_per_cell > 1 else None
        for term in terms(architecture)
        if term.kind in {CacheKind.LATENT, CacheKind.INDEXER} or term.block == 0
    ]


def test_tensors_say_which_nextn_blocks_and_heads_are_there() -> None:
    keys: Config = {"model_type": "llama", **LLAMA, "num_nextn_predict_layers": 3, "tie_word_embeddings": True}
    trunk = {f"model.layers.{block}.mlp.up_proj.weight": (8, 8) for block in range(4)}

    def found(*names: str) -> tuple[int, int, bool | None]:
        architecture = from_config(keys, trunk | dict.fromkeys(names, (8, 8)))
        return architecture.trunk_blocks, architecture.nextn_blocks, architecture.tied

    assert (4, 0, True) == found()
    assert (4, 1, False) == found("model.layers.4.eh_proj.weight", "lm_head.weight")
    assert (4, 2, True) == found("mtp.layers.1.eh_proj.weight", "model.visual.blocks.26.attn.qkv.weight")
