"""Caches of published models by their own config files, beside a reference of formulas made by others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tensors.architecture import Architecture, MissingFact, from_config
from tensors.cache import CacheKind, block_caches, cache_type, generic_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

F16 = cache_type("f16")

WITHOUT_MODEL_TYPE = "_hf_quant_config.json"
WITHOUT_LAYER_TYPES = "transcribed-partial--ibm-granite--granite-4.0-h-small_config.json"


@pytest.fixture(scope="module")
def architectures(data_folder: Path) -> dict[str, Architecture]:
    """Return the architecture of every config, by file name."""
    paths = sorted((data_folder / "configs").glob("*.json"))
    return {path.name: from_config(json.loads(path.read_text(encoding="utf-8")), {}) for path in paths}


@pytest.fixture(scope="module")
def reference(data_folder: Path) -> dict[str, dict[str, Any]]:
    """Return the cache fields of published models, with the name of their formula, by model."""
    text = (data_folder / "kv_reference" / "kvcache-blog_models.yaml").read_text(encoding="utf-8")
    return {model["id"]: {"formula": model["formula"], **model["fields"]} for model in yaml.safe_load(text)["models"]}


def growing_and_fixed(architecture: Architecture) -> tuple[int, int]:
    """Return bytes per token of the trunk in 16-bit values, and what its windows and states take."""
    assert isinstance(architecture.cache, tuple), architecture.cache
    caches = block_caches(architecture.cache, architecture.trunk_blocks, generic_settings(2**20, 1, F16, F16))
    return sum(cache.bytes_per_token for cache in caches), sum(cache.fixed_bytes for cache in caches)


def test_every_config_gives_a_cache_or_names_the_missing_fact(architectures: dict[str, Architecture]) -> None:
    missing = {name: a.cache.problem for name, a in architectures.items() if isinstance(a.cache, MissingFact)}

    assert 85 == len(architectures)
    expected = {
        name: 'config.json has no usable "model_type"; expected it, as the size of the cache follows from it.'
        for name in architectures
        if name.endswith(WITHOUT_MODEL_TYPE)
    }
    expected[WITHOUT_LAYER_TYPES] = (
        'config.json has no usable "layer_types"; expected it, as the size of the cache follows from it.'
    )
    assert expected == missing


def test_every_described_model_has_its_blocks_widths_and_vocabulary(architectures: dict[str, Architecture]) -> None:
    for name, architecture in architectures.items():
        if name.endswith(WITHOUT_MODEL_TYPE):
            continue
        assert architecture.trunk_blocks >= 12, name
        assert architecture.hidden_size, name
        assert architecture.vocabulary_size, name


@pytest.mark.parametrize(
    ("name", "growing", "fixed"),
    [
        ("MiniMaxAI--MiniMax-M2.5_config.json", 62 * 2 * 8 * 128 * 2, 0),
        ("Qwen--Qwen3-0.6B_config.json", 28 * 2 * 8 * 128 * 2, 0),
        ("Qwen--Qwen3-VL-30B-A3B-Instruct_config.json", 48 * 2 * 4 * 128 * 2, 0),
        ("deepseek-ai--DeepSeek-V3_config.json", 61 * 576 * 2, 0),
        ("moonshotai--Kimi-K2.5_config.json", 61 * 576 * 2, 0),
        ("moonshotai--Kimi-K3_config.json", 24 * 576 * 2, 69 * 4 * (3 * 3 * 96 * 128 + 96 * 128 * 128)),
        ("zai-org--GLM-5.1_config.json", 78 * (576 + 128) * 2, 0),
        ("nvidia--Qwen3.6-27B-NVFP4_config.json", 16 * 2 * 4 * 256 * 2, 48 * 4 * (3 * 10240 + 48 * 128 * 128)),
        ("google--gemma-4-26B-A4B_config.json", 5 * 2 * 2 * 512 * 2, 25 * 2 * 8 * 256 * 2 * 1024),
        ("openai--gpt-oss-120b_config.json", 18 * 2 * 8 * 64 * 2, 18 * 2 * 8 * 64 * 2 * 128),
        ("meta-llama--Llama-4-Scout-17B-16E-Instruct_config.json", 12 * 2 * 8 * 128 * 2, 36 * 2 * 8 * 128 * 2 * 8192),
        ("mlc-preset--gemma3_1b_it.json", 4 * 2 * 256 * 2, 22 * 2 * 256 * 2 * 512),
        ("mlc-preset--gpt_bigcode.json", 24 * 2 * 128 * 2, 0),
        ("mlc-preset--chatglm.json", 28 * 2 * 2 * 128 * 2, 0),
        ("nvidia--Llama-3_3-Nemotron-Super-49B-v1_config.json", 49 * 2 * 8 * 128 * 2, 0),
        ("transcribed--ai21labs--AI21-Jamba-1.5-Mini_config.json", 4 * 2 * 8 * 128 * 2, 28 * 4 * (3 + 16) * 8192),
        ("transcribed--tiiuae--falcon-mamba-7b_config.json", 0, 64 * 4 * (3 + 16) * 8192),
        ("transcribed--MiniMaxAI--MiniMax-M1-80k_config.json", 10 * 2 * 8 * 128 * 2, 70 * 4 * 64 * 128 * 128),
        (
            "nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4_config.json",
            12 * 2 * 2 * 128 * 2,
            48 * 4 * (3 * (16384 + 2 * 8 * 128) + 128 * 16384),
        ),
    ],
)
def test_one_model_of_each_kind_has_the_cache_that_its_numbers_multiply_to(
    architectures: dict[str, Architecture], name: str, growing: int, fixed: int
) -> None:
    assert (growing, fixed) == growing_and_fixed(architectures[name])


def standard(fields: dict[str, Any]) -> tuple[int, int]:
    return fields["num_hidden_layers"] * 2 * fields["num_key_value_heads"] * fields["head_dim"] * 2, 0


def latent(fields: dict[str, Any]) -> tuple[int, int]:
    return fields["num_hidden_layers"] * (fields["kv_lora_rank"] + fields["qk_rope_head_dim"]) * 2, 0


def sparse(fields: dict[str, Any]) -> tuple[int, int]:
    return latent(fields)[0] + fields["num_hidden_layers"] * fields["index_head_dim"] * 2, 0


def linear(fields: dict[str, Any]) -> tuple[int, int]:
    keys = fields["linear_num_key_heads"] * fields["linear_key_head_dim"]
    values = fields["linear_num_value_heads"] * fields["linear_value_head_dim"]
    state = (fields["linear_conv_kernel_dim"] - 1) * (2 * keys + values) + values * fields["linear_key_head_dim"]
    growing = fields["full_attention_layers"] * 2 * fields["num_key_value_heads"] * fields["head_dim"] * 2
    return growing, fields["linear_attention_layers"] * state * 4


def windowed(fields: dict[str, Any]) -> tuple[int, int]:
    def cell(heads: int, key: int, value: int) -> int:
        return heads * (key + value) * 2

    heads, width = fields["num_key_value_heads"], fields["head_dim"]
    wide = fields.get("global_head_dim", width)
    full = cell(fields.get("num_global_key_value_heads", heads), wide, fields.get("v_head_dim", wide))
    window_width = fields.get("swa_head_dim", width)
    window = cell(
        fields.get("swa_num_key_value_heads", heads), window_width, fields.get("swa_v_head_dim", window_width)
    )
    blocks = fields["sliding_attention_layers"] * fields["sliding_window"]
    return fields["full_attention_layers"] * full, blocks * window


def layer_types(fields: dict[str, Any], other: str, count: str) -> dict[str, Any]:
    full, rest = fields["full_attention_layers"], fields[count]
    shared = fields["num_hidden_layers"] - full - rest
    return {"layer_types": ["full_attention"] * full + [other] * rest + ["full_attention"] * shared}


FORMULAS: dict[str, tuple[Callable[[dict[str, Any]], tuple[int, int]], Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "standard_gqa": (standard, lambda _: {"model_type": "llama"}),
    "mla": (latent, lambda _: {"model_type": "deepseek_v3"}),
    "dsa_mla": (sparse, lambda _: {"model_type": "glm_moe_dsa"}),
    "qwen_linear_full_hybrid": (
        linear,
        lambda fields: {"model_type": "qwen3_5"} | layer_types(fields, "linear_attention", "linear_attention_layers"),
    ),
    "mixed_full_sliding_gqa": (
        windowed,
        lambda fields: (
            {"model_type": "gemma4", "attention_k_eq_v": "num_global_key_value_heads" in fields}
            | layer_types(fields, "sliding_attention", "sliding_attention_layers")
        ),
    ),
}
FORMULAS_WITHOUT_A_RULE = {"deepseek_v4_hybrid", "kimi_kda_mla_hybrid", "inkling_hybrid", "minimax_msa"}
"""Each of one family: the first two are compared by their config files, the others have no config to read."""


def test_the_reference_agrees_with_configs_of_the_same_fields(reference: dict[str, dict[str, Any]]) -> None:
    compared = 0
    for model, fields in reference.items():
        if fields["formula"] in FORMULAS_WITHOUT_A_RULE:
            continue
        expected, config = FORMULAS[fields["formula"]]
        numbers = {key: value for key, value in fields.items() if value is not None}
        architecture = from_config({"num_attention_heads": 1} | numbers | config(fields), {})
        assert expected(fields) == growing_and_fixed(architecture), model
        compared += 1

    assert len(reference) - 6 == compared


NAMED = {
    "deepseek-v3": "deepseek-ai--DeepSeek-V3_config.json",
    "deepseek-r1": "deepseek-ai--DeepSeek-R1_config.json",
    "glm-5": "zai-org--GLM-5-FP8_config.json",
    "glm-5.1": "zai-org--GLM-5.1_config.json",
    "kimi-k2.5": "moonshotai--Kimi-K2.5_config.json",
    "qwen3.6-27b": "nvidia--Qwen3.6-27B-NVFP4_config.json",
    "qwen3.6-35b-a3b": "nvidia--Qwen3.6-35B-A3B-NVFP4_config.json",
    "qwen3.5-397b-a17b": "nvidia--Qwen3.5-397B-A17B-NVFP4_config.json",
    "qwen3.5-122b-a10b": "Qwen--Qwen3.5-122B-A10B_config.json",
    "qwen3-235b-a22b": "Qwen--Qwen3-235B-A22B_config.json",
    "qwen3-32b": "Qwen--Qwen3-32B_config.json",
    "qwen3-8b": "Qwen--Qwen3-8B_config.json",
    "qwen3-1.7b": "Qwen--Qwen3-1.7B_config.json",
    "qwen3-0.6b": "Qwen--Qwen3-0.6B_config.json",
    "llama-3.1-8b": "meta-llama--Meta-Llama-3.1-8B_config.json",
    "llama-3.1-70b": "meta-llama--Meta-Llama-3.1-70B_config.json",
    "gemma-4-26b-a4b": "google--gemma-4-26B-A4B_config.json",
    "minimax-m2.5": "MiniMaxAI--MiniMax-M2.5_config.json",
    "minimax-m2.7": "MiniMaxAI--MiniMax-M2.7_config.json",
}


@pytest.mark.parametrize("model", sorted(NAMED))
def test_the_reference_agrees_with_the_models_own_config(
    model: str, reference: dict[str, dict[str, Any]], architectures: dict[str, Architecture]
) -> None:
    fields = reference[model]
    architecture = architectures[NAMED[model]]

    assert fields["num_hidden_layers"] == architecture.trunk_blocks
    assert FORMULAS[fields["formula"]][0](fields) == growing_and_fixed(architecture)


def test_the_reference_agrees_on_compressed_keys(
    reference: dict[str, dict[str, Any]], architectures: dict[str, Architecture]
) -> None:
    for model, config in (
        ("deepseek-v4-flash", "deepseek-ai--DeepSeek-V4-Flash_config.json"),
        ("deepseek-v4-pro", "nvidia--DeepSeek-V4-Pro-NVFP4_config.json"),
    ):
        fields, terms = reference[model], architectures[config].cache
        assert isinstance(terms, tuple)
        ratios = {term.block: term.tokens_per_cell for term in terms if term.kind is CacheKind.LATENT}
        assert {block: ratio for block, ratio in enumerate(fields["compress_ratios"]) if ratio} == ratios
        assert {block for block, ratio in ratios.items() if ratio == 4} == {
            term.block for term in terms if term.kind is CacheKind.INDEXER
        }
        assert {fields["sliding_window"]} == {term.window_tokens for term in terms if term.kind is CacheKind.WINDOW}


def test_the_reference_agrees_on_delta_attention(
    reference: dict[str, dict[str, Any]], architectures: dict[str, Architecture]
) -> None:
    fields, architecture = reference["kimi-k3"], architectures["moonshotai--Kimi-K3_config.json"]

    heads, width = fields["kda_num_heads"], fields["kda_head_dim"]
    state = 3 * (fields["kda_conv_kernel_size"] - 1) * heads * width + heads * width * width
    growing = fields["full_attention_layers"] * (fields["kv_lora_rank"] + fields["qk_rope_head_dim"]) * 2
    assert (growing, fields["kda_layers"] * state * 4) == growing_and_fixed(architecture)
