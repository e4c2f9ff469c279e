"""How each family of models with a config.json keeps its cache, as data.

Keys are values of `model_type`, without the `_text` of a nested config. The rules are those of the configuration
classes in transformers 5.x, or of the code beside the checkpoint where transformers has no class. A family in none of
these tables is one whose cache we do not know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensors.architecture import config_blocks as blocks
from tensors.architecture import config_states as states

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensors.architecture.config_header import TextConfig

__all__ = ["COMPRESSED", "FAMILIES", "OF_CLASS", "WITHOUT_CACHE", "Family"]


@dataclass(frozen=True, slots=True)
class Family:
    """What the blocks of a family do, and what sizes them.

    `state` gives heads and F32 values of a recurrent block; `head_width` is the class's own default; `is_latent` says
    that K is a latent of `kv_lora_rank` and the rope's width, which serves as V too; `has_indexer` that a sparse
    indexer chooses the keys.
    """

    kinds: Callable[[TextConfig], tuple[blocks.BlockKind, ...]]
    state: Callable[[TextConfig], tuple[int, int]] | None = None
    head_width: int | None = None
    is_latent: bool = False
    has_indexer: bool = False


_FULL_ATTENTION = (
    "apertus arcee baichuan bailing_moe bloom chatglm codeshell cohere dbrx deepseek dots1 ernie4_5 ernie4_5_moe "
    "exaone falcon glm gpt2 gpt_bigcode gpt_neox gptj granite granitemoe granitemoeshared hunyuan_v1_dense "
    "hunyuan_v1_moe internlm2 internlm3 llama minicpm minimax_m2 mpt nemotron olmo olmo2 olmoe opt persimmon phi qwen "
    "seed_oss smollm3 stablelm xverse"
)

_FAMILIES_BY_RULE = (
    (Family(blocks.all_full), _FULL_ATTENTION),
    (Family(blocks.all_full, head_width=256), "gemma"),
    (Family(blocks.all_full, head_width=128), "glm4 glm4_moe glm4v glm4v_moe"),
    (Family(blocks.by_block_configs), "nemotron-nas"),
    (Family(blocks.all_windowed), "ministral mistral mistral3 mixtral phi3 phimoe starcoder2"),
    (Family(blocks.windowed_from_block), "qwen2 qwen2_5_vl qwen2_moe qwen2_vl qwen3_moe qwen3_vl_moe"),
    (Family(blocks.windowed_from_block, head_width=128), "qwen3 qwen3_vl"),
    (Family(blocks.windowed_with_period, head_width=256), "gemma2 gemma3 gemma3n gemma4"),
    (Family(blocks.windowed_with_period), "cohere2 cohere2_moe"),
    (Family(blocks.by_layer_types), "afmoe exaone4 exaone_moe step3p5 step3p7"),
    (Family(blocks.by_layer_types, head_width=64), "gpt_oss"),
    (Family(blocks.chunked_by_four, head_width=128), "llama4"),
    (Family(blocks.by_window_flags), "mimo_v2 mimo_v2_flash"),
    (Family(blocks.all_full, is_latent=True), "deepseek_v2 deepseek_v3 glm4_moe_lite kimi_k2 mistral4"),
    (Family(blocks.all_full, is_latent=True, has_indexer=True), "deepseek_v32 glm_moe_dsa"),
    (Family(blocks.by_interval, states.delta_state), "qwen3_5 qwen3_5_moe qwen3_next"),
    (Family(blocks.by_linear_lists, states.kda_state, is_latent=True), "kimi_linear"),
    (Family(blocks.by_attention_types, states.lightning_state), "minimax_m1"),
    (Family(blocks.by_layer_types, states.lightning_state), "minimax"),
    (Family(blocks.by_attention_period, states.mamba_state), "jamba"),
    (Family(blocks.all_recurrent, states.mamba_state), "falcon_mamba mamba"),
    (Family(blocks.all_recurrent, states.mamba2_state), "mamba2"),
    (Family(blocks.by_layer_types, states.mamba2_state), "bamba granitemoehybrid"),
    (Family(blocks.all_both, states.mamba2_state), "falcon_h1"),
    (Family(blocks.by_pattern, states.nemotron_state), "nemotron_h"),
    (Family(blocks.by_layer_types, states.short_convolution_state), "lfm2 lfm2_moe"),
)

FAMILIES = {name: family for family, names in _FAMILIES_BY_RULE for name in names.split()}

COMPRESSED = "deepseek_v4"
"""Keys compressed by `compress_ratios`, a window beside them on every block."""

WITHOUT_CACHE = frozenset({
    "albert", "bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "eurobert", "modernbert", "mpnet",
    "nomic_bert", "roberta", "xlm-roberta",
})  # fmt: skip
"""Encoders."""

OF_CLASS = {"DeepseekV4ForCausalLM": COMPRESSED}
"""Families of configs whose `model_type` is not the family's own, by the class they name."""
