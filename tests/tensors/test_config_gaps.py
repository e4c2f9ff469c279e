"""Config files that lack what a cache needs, and those that nobody could mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.configs import DELTA, F16, LLAMA, SPARSE, config

from tensors.architecture import MissingFact, from_config
from tensors.architecture.config_families import COMPRESSED, FAMILIES
from tensors.cache import block_caches, generic_settings
from tensors.metadata import MAXIMUM_BLOCKS

if TYPE_CHECKING:
    from tensors.metadata import ConfigValue


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
