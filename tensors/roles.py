"""The role of a tensor by the words of its name, inside a block and outside of the blocks.

Tables are read from the top, and the first row that fits decides: shared experts before experts, experts before feed
forward. A quantised weight and its scales bear the same module's name, so scales follow their weight.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

from tensors.inventory import Part, Role

__all__ = ["gguf_block_role", "gguf_outside", "module_block_role", "module_outside"]

_REMEMBERED = 4096

_Table: TypeAlias = tuple[tuple[re.Pattern[str], Role], ...]


def _table(*rows: tuple[str, Role]) -> _Table:
    return tuple((re.compile(pattern), role) for pattern, role in rows)


# The names of https://github.com/ggml-org/llama.cpp/blob/master/gguf-py/gguf/constants.py (TENSOR_NAMES).
_GGUF_BLOCK = _table(
    (r"nextn\.", Role.NEXTN),
    (r"vis_", Role.VISION),
    (r"indexer|index_", Role.INDEXER),
    (r"ffn_gate_inp_shexp$|ffn_\w+_shexps?$|ffn_norm_shexp", Role.SHARED_EXPERT),
    (r"ffn_\w+_(ch)?exps$|ffn_(gate|up|down)\.\d+$", Role.ROUTED_EXPERT),
    (r"ffn_gate_inp|(ffn_)?exp_probs_b|ffn_gate_tid2eid|ffn_\w*scale_inp", Role.ROUTER),
    (r"ssm_|time_mix_|channel_mix_|shortconv", Role.RECURRENT),
    (
        r"attn_norm|ffn_norm|(attn|ffn)_(post|pre|output|sub)_norm|(pre|post)_\w*norm|layer_output_norm|layer_norm",
        Role.NORM,
    ),
    (r"attn_|cross_attn_|rope_", Role.ATTENTION),
    (r"ffn(_|$)", Role.FEED_FORWARD),
    (r"layer_output_scale|laurel|altup|inp_gate|proj$|per_layer|hc_|out_scale|layer_out", Role.OTHER),
)

_GGUF_OUTSIDE = (
    (
        re.compile(r"token_embd$|token_embd_norm|token_types|position_embd|per_layer_|altup_proj"),
        Part.INPUT,
        Role.EMBEDDING,
    ),
    (re.compile(r"output$|cls"), Part.HEAD, Role.OUTPUT),
    (re.compile(r"output_norm|hc_head|output_hc|altup_unembd|dense_"), Part.HEAD, Role.NORM),
    (re.compile(r"mm\.a\."), Part.OTHER, Role.AUDIO),
    (re.compile(r"(v|mm|mmproj|resampler|clip)(\.|$)"), Part.OTHER, Role.VISION),
    (re.compile(r"a(\.|$)|conv1d|convnext|posnet"), Part.OTHER, Role.AUDIO),
    (re.compile(r"enc\.output_norm|dec\.output_norm"), Part.HEAD, Role.NORM),
    (re.compile(r"rope_"), Part.OTHER, Role.OTHER),
)

# Words of modules that decide wherever they stand in the name of a block's tensor.
_ANYWHERE = _table(
    (r"e_score_correction_bias|expert_bias", Role.ROUTER),
    (r"eh_proj|enorm|hnorm|shared_head|embed_tokens|mtp_\w+|(pre_)?fc(_norm\w*)?", Role.NEXTN),
    (r"indexer|index_\w+", Role.INDEXER),
    (r"shared?_experts?(_\w+)?|shared_mlp|residual_mlp|shared_experts_\w+", Role.SHARED_EXPERT),
    (r"experts?|switch_mlp|input_linear|output_linear|experts_\w+", Role.ROUTED_EXPERT),
)

# Words that decide as the first word of a block's tensor, or as the second behind a module that holds others.
_LEADING = _table(
    (r"(\w*_)?(layer_?|rms)?norm(\d|_\d|_\w+)?|\w*norm\w*|ln_?\w*|\w+_ln", Role.NORM),
    (r"mamba\w*|linear_attn|ssm\w*|time_mix\w*|short_conv|conv\w*|delta_net|A_log|dt_\w+|rg_lru|D", Role.RECURRENT),
    (r"\w*attn\w*|\w*attention\w*|SelfAttention|EncDecAttention|[qkvo]_proj|[Ww]qkv|qkv_proj", Role.ATTENTION),
    (r"router\w*|gate|\w*_statics|per_expert_scale", Role.ROUTER),
    (r"\w*mlps?\w*|feed_forward\w*|\w*ffn\w*|DenseReluDense|intermediate|output", Role.FEED_FORWARD),
    (r"(gate|up|down|gate_up)_proj|fc\w*|dense\w*|c_fc|c_proj|w[123]", Role.FEED_FORWARD),
    (r"layer_scalar|altup|laurel|per_layer_\w+|layer_?scale\w*|\w*rotary\w*|hc_\w+|scale", Role.OTHER),
)
# Modules that hold others: what they are by themselves, and which roles their second word may give instead.
_FEED_FORWARD_MODULE = (Role.FEED_FORWARD, frozenset({Role.ROUTER}))
_MIXTURE_MODULE = (Role.ROUTED_EXPERT, frozenset({Role.ROUTER}))
_HOLDERS = {
    "mlp": _FEED_FORWARD_MODULE,
    "ffn": _FEED_FORWARD_MODULE,
    "feed_forward": _FEED_FORWARD_MODULE,
    "moe": _MIXTURE_MODULE,
    "block_sparse_moe": _MIXTURE_MODULE,
    "norm_attn_norm": (Role.ATTENTION, frozenset({Role.NORM})),
    "temporal_block": (Role.RECURRENT, frozenset({Role.ATTENTION})),
    "mixer": (Role.RECURRENT, frozenset({Role.ATTENTION, Role.FEED_FORWARD, Role.ROUTER})),
}
_SILENT = frozenset({"weight", "bias", "layer", "module", "linear", "base_layer"})

_INPUT = re.compile(
    r"shared|(\w*_)?(embed|embeds|embeddings?|embd)(_tokens|_in|_positions|_per_layer|_layer_?norm|_ln)?|wte|wpe|\w*embed_tokens\w*"
    r"|\w*word_embeddings\w*|per_layer_\w+|embedding_\w+|project_in|altup_projections"
)
_OUTPUT = re.compile(
    r"lm_head\w*|output|embed_out|output_layer|head|score|classifier|\w*_head|project_out|predictions|logits\w*"
)
_FINAL_NORM = re.compile(
    r"(\w*_)?norm(_f|_\w+)?|\w*layer_?norm|ln_f|ln_out|final_\w+|hc_head\w*|altup_unembed\w*|pooler"
)
_VISION = re.compile(
    r"\w*vision\w*|visual\w*|vit|vpm|\w*image\w*|img\w*|multi_modal_projector|mm_\w+|mm|merger|patch_\w+|resampler|pixel\w*"
    r"|mlp1|connector|multimodal_\w+|aligner"
)
_AUDIO = re.compile(r"\w*audio\w*|apm|whisper\w*|\w*speech\w*|talker|code2wav|token2wav|sound\w*|tts")
_BUFFER = re.compile(r"\w*rotary\w*|inv_freq|rope\w*|\w*freqs?\w*|embed_positions_\w+|lora\w*")


@lru_cache(maxsize=_REMEMBERED)
def gguf_block_role(suffix: str) -> tuple[Role, bool]:
    """Return the role of what follows `blk.N.` in a GGUF name, and whether the name is known."""
    return _first(_GGUF_BLOCK, suffix.removesuffix(".weight").removesuffix(".bias"))


@lru_cache(maxsize=_REMEMBERED)
def gguf_outside(name: str) -> tuple[Part, Role, bool]:
    """Return part and role of a GGUF name without a block, and whether the name is known."""
    stem = name.removesuffix(".weight").removesuffix(".bias")
    for pattern, part, role in _GGUF_OUTSIDE:
        if pattern.match(stem):
            return part, role, True
    return Part.OTHER, Role.OTHER, False


@lru_cache(maxsize=_REMEMBERED)
def module_block_role(suffix: str) -> tuple[Role, bool]:
    """Return the role of what follows the number of a block in a module's name, and whether the name is known."""
    words = [word for word in suffix.split(".") if word not in _SILENT and not word.isdigit()]
    if not words:
        return Role.OTHER, False
    for pattern, role in _ANYWHERE:
        if any(pattern.fullmatch(word) for word in words):
            return role, True
    if words[0] in _HOLDERS:
        role, others = _HOLDERS[words[0]]
        inner, _known = _first(_LEADING, words[1] if len(words) > 1 else "", whole=True)
        return (inner if inner in others else role), True
    return _first(_LEADING, words[0], whole=True)


@lru_cache(maxsize=_REMEMBERED)
def module_outside(name: str) -> tuple[Part, Role, bool]:
    """Return part and role of a module's name without a block, and whether the name is known."""
    words = [word for word in name.split(".") if word not in _SILENT and not word.isdigit()]
    for pattern, role in ((_VISION, Role.VISION), (_AUDIO, Role.AUDIO), (_BUFFER, Role.OTHER)):
        if any(pattern.fullmatch(word) for word in words):
            return Part.OTHER, role, True
    for word in reversed(words):
        if _INPUT.fullmatch(word):
            return Part.INPUT, Role.EMBEDDING, True
        if _OUTPUT.fullmatch(word):
            return Part.HEAD, Role.OUTPUT, True
        if _FINAL_NORM.fullmatch(word):
            return Part.HEAD, Role.NORM, True
    return Part.OTHER, Role.OTHER, False


def _first(table: _Table, text: str, *, whole: bool = False) -> tuple[Role, bool]:
    for pattern, role in table:
        if pattern.fullmatch(text) if whole else pattern.match(text):
            return role, True
    return Role.OTHER, False
