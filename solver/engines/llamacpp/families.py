"""What single families of models do when llama.cpp loads them, as data; read from src/models/*.cpp of b11434."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "CACHES_WITHOUT_RULE",
    "EVEN_BATCHES",
    "FLASH_ATTENTION_OFF",
    "LAZY_TENSORS",
    "LOADED_OF_SKIPPED",
    "NEVER_UNIFIED",
    "NORM_OF_HEAD",
    "NO_MIXED_BATCHES",
    "ROLLED_BACK_STATES",
    "ROPE_ON_FULL_BLOCKS",
]

_FEED_FORWARD = r"ffn_(gate|down|up|gate_inp)\.\w+|exp_probs_b(\.bias)?|ffn_(gate|down|up|gate_up)_(exps|shexp)\.\w+"
_NEXTN_ENDS = r"nextn\.(embed_tokens|shared_head_head|shared_head_norm)\.weight"

LOADED_OF_SKIPPED: Final = {
    family: re.compile(pattern)
    for family, pattern in {
        "cohere2moe": _NEXTN_ENDS,
        "deepseek32": r"exp_probs_b\.bias",
        "glm-dsa": r"exp_probs_b\.bias",
        "hy_v3": f"{_FEED_FORWARD}|{_NEXTN_ENDS}",
        "step35": rf"attn_(q_norm|k_norm|gate)\.weight|{_FEED_FORWARD}|{_NEXTN_ENDS}",
    }.items()
}
"""Tensors of nextn blocks, by what follows `blk.N.`, that are loaded although the block is skipped."""

NORM_OF_HEAD: Final = frozenset({"lfm2", "lfm2moe"})
"""Families whose token_embd_norm is the norm before the head; elsewhere it belongs to the first block."""

ROPE_ON_FULL_BLOCKS: Final = frozenset({"gemma4"})
"""Families that take rope factors on blocks without a window alone: those whose heads are twice as wide as there are
factors. Elsewhere every trunk block takes them."""

LAZY_TENSORS: Final = frozenset({"per_layer_token_embd.weight"})
"""Tensors whose rows may be read from disk when they are needed (TENSOR_READ_LAZY)."""

FLASH_ATTENTION_OFF: Final = frozenset({"grok"})
"""Families that force fused attention off (src/llama-context.cpp, llama_init_from_model)."""

ROLLED_BACK_STATES: Final = frozenset({
    "bailingmoe3", "deepseek4", "glm5-next", "kimi-k3", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe", "qwen35",
    "qwen35moe", "qwen4exp",
})  # fmt: skip
"""Families that keep a state for every token that a draft may take back (src/llama-arch.cpp,
llm_arch_supports_rs_rollback)."""

NO_MIXED_BATCHES: Final = frozenset({
    "cogvlm", "deepseek4", "dflash", "eagle3", "gemma4-assistant", "graniteswitch",
})  # fmt: skip
"""Families that take no batch of tokens and vectors together (src/llama-arch.cpp, llm_arch_supports_mixed_batch)."""

EVEN_BATCHES: Final = frozenset({"kimi-linear", "minimax-01"})
"""Families whose graphs end the program (GGML_ASSERT(ggml_can_repeat(b, a))) where a micro-batch does not split evenly
among the sequences; measured in b11434 and 0c1e570."""

NEVER_UNIFIED: Final = frozenset({"deepseek4"})
"""Families whose sequences have runs of cells of their own even where those of others share one
(llama-kv-cache-dsv4.cpp)."""

CACHES_WITHOUT_RULE: Final = frozenset({"deepseek4", "minimax-01", "qwen4exp"})
"""Families whose caches are allocated by rules that are not settled."""
