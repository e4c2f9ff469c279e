"""What is known of families beyond their tensors, for the graphs of `compute_blocks` (src/models)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = [
    "CENTRED",
    "COMPARED",
    "FOLLOWED",
    "FOUR_POSITIONS",
    "NEVER_FUSED",
    "NORMED_ROUTERS",
    "NOT_UNDERSTOOD",
    "SOFTMAX_ROUTERS",
    "Traits",
    "traits",
]


@dataclass(frozen=True, slots=True)
class Traits:
    """What a family does that its tensors do not show; the defaults are a plain transformer.

    Attention. `rope`: queries and keys are rotated; `window_rope_only`: only over windows, where there are any;
    `norm_after_rope`: their norms follow. `scaled_query`: a node of its own scales them. `scaled_by_position`: queries
    that are not rotated are scaled by an input. `gated_query`: half of a query's matrix is a gate of the result.
    `layered`: blocks may have embeddings of their own and share caches.

    Blocks. `parallel`: attention and feed-forward read the same norm; `mixer_first`: attention is added before the
    residual then. `mixer_second`, `forward_second`: the residual comes first in a sum. `norm_at_once`: the norm is
    recorded before what reads it. `scaled_residual`: what is added is scaled. `normed_residual`: what a norm
    made is the residual of its part. `activation`: of feed-forward parts
    without a gate. `both_forwards`: dense and routed parts are summed. `early_experts`: weighed before they run.

    Ends. `scaled_embedding`, `scaled_head`: by a node. `head_nodes`: nodes after the logits. `late_rows`: tokens
    without logits are dropped after the last block; `kept_residual`: what leaves it is a result of its own.
    """

    rope: bool = True
    window_rope_only: bool = False
    norm_after_rope: bool = False
    scaled_query: bool = False
    scaled_by_position: bool = False
    gated_query: bool = False
    layered: bool = False
    parallel: bool = False
    mixer_first: bool = False
    mixer_second: bool = False
    forward_second: bool = False
    norm_at_once: bool = False
    scaled_residual: bool = False
    normed_residual: bool = False
    activation: str = "plain"
    both_forwards: bool = False
    early_experts: bool = False
    scaled_embedding: bool = False
    scaled_head: bool = False
    head_nodes: int = 0
    late_rows: bool = False
    kept_residual: bool = False


_TRAITS: Final = {
    "gpt-oss": Traits(late_rows=True, kept_residual=True),
    "gemma": Traits(scaled_query=True, scaled_embedding=True),
    "gemma2": Traits(scaled_query=True, scaled_embedding=True, head_nodes=3),
    "gemma3": Traits(scaled_query=True, scaled_embedding=True),
    "gemma4": Traits(late_rows=True, scaled_embedding=True, head_nodes=3, layered=True),
    "qwen35": Traits(late_rows=True, gated_query=True, norm_at_once=True),
    "qwen35moe": Traits(late_rows=True, gated_query=True, norm_at_once=True),
    "qwen3next": Traits(late_rows=True, gated_query=True, norm_at_once=True),
    "command-r": Traits(parallel=True, head_nodes=1),
    "cohere2": Traits(parallel=True, head_nodes=1, window_rope_only=True),
    "minicpm3": Traits(scaled_embedding=True, scaled_residual=True, scaled_head=True),
    "kimi-linear": Traits(rope=False, norm_at_once=True),
    "kimi-k3": Traits(rope=False, norm_at_once=True, activation="bounded"),
    "minimax-01": Traits(normed_residual=True),
    "falcon": Traits(parallel=True, mixer_first=True),
    "exaone4": Traits(window_rope_only=True),
    "gpt2": Traits(rope=False),
    "bloom": Traits(rope=False),
    "jamba": Traits(rope=False, mixer_second=True, forward_second=True),
    "granitehybrid": Traits(rope=False, scaled_embedding=True, scaled_residual=True, head_nodes=1),
    "nemotron_h": Traits(rope=False, late_rows=True, activation="squared"),
    "nemotron_h_moe": Traits(rope=False, late_rows=True, activation="squared"),
    "grok": Traits(scaled_embedding=True, head_nodes=4, both_forwards=True),
    "llama4": Traits(early_experts=True, window_rope_only=True, scaled_by_position=True),
    "phi3": Traits(scaled_query=True, activation="split", forward_second=True),
    "hunyuan-moe": Traits(norm_after_rope=True),
    "afmoe": Traits(scaled_embedding=True, window_rope_only=True),
    "lfm2": Traits(mixer_second=True, forward_second=True),
    "lfm2moe": Traits(mixer_second=True, forward_second=True),
    "granite": Traits(scaled_embedding=True, scaled_residual=True, head_nodes=1),
    "granitemoe": Traits(scaled_embedding=True, scaled_residual=True, head_nodes=1),
    "minicpm": Traits(scaled_embedding=True, scaled_residual=True, head_nodes=1),
    "phimoe": Traits(scaled_query=True, forward_second=True),
    "hunyuan-dense": Traits(norm_after_rope=True),
    "chatglm": Traits(activation="split"),
    "glm4": Traits(activation="split"),
    "jais": Traits(rope=False),
    "mpt": Traits(rope=False),
    "refact": Traits(rope=False),
    "starcoder": Traits(rope=False),
    "arcee": Traits(activation="squared"),
    "nemotron": Traits(activation="squared"),
}


_PLAIN: Final = Traits()


def traits(family: str) -> Traits:
    """Return what is known of a family, a plain transformer where nothing is."""
    return _TRAITS.get(family, _PLAIN)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMPARED: Final = _names(
    """
    afmoe bailingmoe2 bloom cohere2 command-r dbrx deci deepseek2 deepseek32 deepseek4 exaone4 falcon falcon-h1 gemma
    gemma3 gemma4 glm-dsa glm4moe gpt-oss gpt2 granitehybrid grok hunyuan-moe jamba kimi-linear lfm2 lfm2moe llama
    llama4 mamba mamba2 maple minicpm3 minimax-m2 minimax-m3 mistral3 mistral4 nemotron_h nemotron_h_moe olmo2 phi3
    qwen2 qwen3 qwen35 qwen35moe qwen3moe starcoder2
    """
)
"""Families whose simulated buffers were compared with those of runs, and are the same to the byte but for oddities."""

FOLLOWED: Final = _names(
    """
    apertus arcee baichuan bailingmoe chatglm codeshell deepseek dots1 ernie4_5 ernie4_5-moe exaone exaone-moe gemma2
    glm4 granite granitemoe hunyuan-dense internlm2 jais kimi-k3 llada-moe minicpm mpt nemotron olmoe orion phimoe
    minimax-01 qwen qwen2moe qwen3next refact rnd1 seed_oss smollm3 stablelm starcoder xverse
    """
)
"""Families whose graphs follow the same pattern by their source, and were compared with no run (kimi-k3: with runs that
bank once; minimax-01: with 15, six of whose 40 buffers differ by up to 5 %)."""

NOT_UNDERSTOOD: Final = _names("glm5-next qwen4exp")
"""Families with parts that no graph here has, such as keys pooled over positions."""

CENTRED: Final = _names("cohere2 cohere2moe command-r dbrx mpt olmo orion")
"""Families whose norms subtract the mean although they have no shift."""

NEVER_FUSED: Final = _names("grok")
"""Families whose attention is never fused."""

FOUR_POSITIONS: Final = _names("glm4v glm4vmoe hunyuan-vl paddleocr qwen2vl qwen35 qwen35moe qwen3vl qwen3vlmoe")
"""Families with four positions of every token (M-RoPE)."""

SOFTMAX_ROUTERS: Final = _names(
    """
    arctic dbrx deepseek granitehybrid granitemoe grok hunyuan-moe jamba llama maple minimax-01 mistral3 mistral4 olmoe
    phimoe qwen2moe qwen35moe qwen3moe qwen3next
    """
)
"""Families whose routers end in a softmax, which takes the place of its source as other activations do."""

NORMED_ROUTERS: Final = _names(
    """
    afmoe bailingmoe2 dbrx deepseek2 deepseek32 deepseek4 glm-dsa glm4moe granitehybrid granitemoe grok hunyuan-moe
    kimi-linear lfm2moe llama maple minimax-01 minimax-m2 mistral3 mistral4 nemotron_h_moe qwen35moe qwen3moe qwen3next
    """
)
"""Families that divide the weights of the chosen experts by their sum."""
