"""Architectures read from config files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensors.architecture import Architecture, Experts, MissingFact, from_config
from tensors.architecture.config_families import COMPRESSED, FAMILIES
from tensors.cache import CacheKind, CacheTerm, block_caches, cache_type, generic_settings
from tensors.metadata import MAXIMUM_BLOCKS

if TYPE_CHECKING:
    from tensors.metadata import Config, ConfigValue

F16 = cache_type("f16")
LLAMA: dict[str, ConfigValue] = {
    "hidden_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 32000,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": False,
}


def config(model_type: str, **more: ConfigValue) -> Architecture:
    return from_config({"model_type": model_type, **LLAMA, **more}, {})


def terms(architecture: Architecture) -> tuple[CacheTerm, ...]:
    assert isinstance(architecture.cache, tuple), architecture.cache
    return architecture.cache


def kinds(architecture: Architecture) -> str:
    letters = {
        CacheKind.WINDOW: "W",
        CacheKind.FULL: "F",
        CacheKind.RECURRENT: "R",
        CacheKind.LATENT: "L",
        CacheKind.INDEXER: "I",
    }
    return "".join(letters[term.kind] for term in terms(architecture))


def states(architecture: Architecture) -> tuple[tuple[int, ...], set[int]]:
    recurrent = [term for term in terms(architecture) if term.kind is CacheKind.RECURRENT]
    return tuple(term.block for term in recurrent), {term.state_values for term in recurrent}


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


SPARSE: dict[str, ConfigValue] = {
    "num_hidden_layers": 12,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "index_head_dim": 128,
    "index_topk": 2048,
}


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


DELTA: dict[str, ConfigValue] = {
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 16,
    "linear_num_value_heads": 4,
    "linear_value_head_dim": 16,
    "linear_conv_kernel_dim": 4,
}


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


def test_a_config_without_blocks_is_counted_by_its_tensors() -> None:
    assert 9 == from_config({"model_type": "llama"}, {"model.layers.8.mlp.up_proj.weight": (1, 1)}).trunk_blocks


def test_encoders_keep_nothing() -> None:
    assert () == config("modernbert").cache


@pytest.mark.parametrize(
    ("model_type", "keys", "expected"),
    [
        ("llama", {"num_attention_heads": "8", "num_key_value_heads": None}, "num_attention_heads"),
        ("llama", {"num_hidden_layers": None}, "num_hidden_layers"),
        ("llama", {"num_hidden_layers": MAXIMUM_BLOCKS + 1}, "num_hidden_layers"),
        ("granitemoehybrid", {}, "layer_types"),
        ("granitemoehybrid", {"layer_types": ["mamba"]}, "layer_types"),
        ("deepseek_v3", {"qk_rope_head_dim": 64}, "kv_lora_rank"),
        ("glm_moe_dsa", {"kv_lora_rank": 512, "qk_rope_head_dim": 64}, "index_head_dim"),
        ("llama4", {}, "sliding_window"),
        ("kimi_linear", {}, "linear_attn_config.full_attn_layers"),
        ("deepseek_v4", {}, "compress_ratios"),
        ("jamba", {"attn_layer_period": 4}, "attn_layer_offset"),
        ("nemotron-nas", {"block_configs": [{}] * 4}, "block_configs"),
    ],
)
def test_what_is_missing_is_named(model_type: str, keys: dict[str, ConfigValue], expected: str) -> None:
    problem = f'config.json has no usable "{expected}"; expected it, as the size of the cache follows from it.'
    assert MissingFact(problem) == config(model_type, **keys).cache


def test_a_config_without_a_type_and_one_of_an_unknown_type_still_have_their_blocks() -> None:
    unknown = config("new_model")
    unnamed = from_config(LLAMA, {})

    assert (4, "new_model") == (unknown.trunk_blocks, unknown.family)
    assert MissingFact('"model_type" is "new_model"; expected a family whose cache is known here.') == unknown.cache
    assert (4, "unknown") == (unnamed.trunk_blocks, unnamed.family)
    expected = 'config.json has no usable "model_type"; expected it, as the size of the cache follows from it.'
    assert MissingFact(expected) == unnamed.cache


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(0, 8),
    st.floats(),
    st.sampled_from(["", "full", "mamba", "attention", "sliding_attention", "full_attention", "M*E-", "x"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(
            st.sampled_from(
                ["attention", "n_heads_in_group", "full_attn_layers", "num_heads", "head_dim", "short_conv_kernel_size"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
KEYS = (
    *LLAMA,
    *SPARSE,
    *DELTA,
    "architectures",
    "attention_chunk_size",
    "attention_k_eq_v",
    "attn_layer_offset",
    "attn_layer_period",
    "attn_type_list",
    "block_configs",
    "compress_ratios",
    "conv_L_cache",
    "conv_kernel",
    "expand",
    "full_attention_interval",
    "global_head_dim",
    "head_dim",
    "hybrid_layer_pattern",
    "hybrid_override_pattern",
    "index_skip_topk_offset",
    "index_topk_freq",
    "indexer_types",
    "intermediate_size",
    "layer_types",
    "layers_block_type",
    "linear_attn_config",
    "mamba_d_conv",
    "mamba_d_state",
    "mamba_expand",
    "mamba_head_dim",
    "mamba_n_groups",
    "mamba_n_heads",
    "mamba_num_heads",
    "max_window_layers",
    "mtp_layers_block_type",
    "mtp_transformer_layers",
    "multi_query",
    "n_groups",
    "num_experts",
    "num_experts_per_tok",
    "num_kv_shared_layers",
    "num_mtp_modules",
    "num_nextn_predict_layers",
    "sliding_window",
    "sliding_window_pattern",
    "ssm_state_size",
    "state_size",
    "swa_head_dim",
    "text_config",
    "use_mtp",
    "use_sliding_window",
    "v_head_dim",
)


@given(
    st.sampled_from(sorted({*FAMILIES, COMPRESSED, "bert", "unheard_of"})),
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=12),
    st.booleans(),
)
def test_no_config_raises_and_every_term_lies_in_a_block(
    model_type: str, keys: dict[str, ConfigValue], plausible: bool
) -> None:
    """Whatever stands under the keys, the architecture is whole and its cache can be sized or says what is missing."""
    base: dict[str, ConfigValue] = {**LLAMA, **SPARSE, **DELTA} if plausible else {}

    architecture = from_config(base | keys | {"model_type": model_type}, {})

    blocks = architecture.trunk_blocks + architecture.nextn_blocks
    assert 0 <= architecture.trunk_blocks <= MAXIMUM_BLOCKS
    assert 0 <= architecture.nextn_blocks <= MAXIMUM_BLOCKS
    if isinstance(architecture.cache, MissingFact):
        assert architecture.cache.problem
        return
    assert all(0 <= term.block < blocks and term.heads > 0 for term in architecture.cache)
    sizes = block_caches(architecture.cache, blocks, generic_settings(1000, 2, F16, F16))
    assert all(size.cache_bytes >= 0 for size in sizes)
