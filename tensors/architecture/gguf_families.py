"""How each family of GGUF models keeps its cache, as data.

Keys are values of `general.architecture`. The rules are those of llama.cpp's loaders, src/models/*.cpp
(`load_arch_hparams`), of src/llama-hparams.cpp and of src/llama-model.cpp (`create_memory`), read at build b11434 and
checked against runs of commit 0c1e57098bba. A family in none of these tables is one whose cache we do not know.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

__all__ = [
    "COMPRESSED",
    "GLM_5_2_CONTEXT_TOKENS",
    "KNOWN",
    "RECURRENT",
    "WINDOWS",
    "WITHOUT_CACHE",
    "IndexerRule",
    "RecurrentBlocks",
    "RecurrentRule",
    "StateRule",
    "WindowRule",
    "indexer_rule",
    "kv_blocks_from_start",
]


@dataclass(frozen=True, slots=True)
class WindowRule:
    """Which blocks attend to a window where the header has no pattern of its own.

    Of every `period` blocks one attends to everything: the last, or the first if `full_first`; None: the header must
    have the pattern. The window is `attention.sliding_window`, or `default_tokens` where that key is absent, or
    `loader_tokens` whatever the key says (0 still means no window). `only_blocks` restricts the rule to models of that
    many blocks.
    """

    period: int | None
    full_first: bool = False
    default_tokens: int = 0
    loader_tokens: int | None = None
    only_blocks: int | None = None


WINDOWS = {
    "afmoe": WindowRule(4),
    "cohere2": WindowRule(4),
    "cohere2moe": WindowRule(4, full_first=True),
    "exaone-moe": WindowRule(4),
    "exaone4": WindowRule(4, only_blocks=64),
    "gemma2": WindowRule(2, default_tokens=4096),
    "gemma3": WindowRule(6),
    "gemma3n": WindowRule(5),
    "gemma4": WindowRule(None),
    "gpt-oss": WindowRule(2),
    "laguna": WindowRule(4, full_first=True),
    "llama4": WindowRule(4, default_tokens=8192, loader_tokens=8192),
    "maple": WindowRule(4),
    "mellum": WindowRule(None),
    "mimo2": WindowRule(None),
    "olmo2": WindowRule(4),
    "plamo3": WindowRule(8),
    "smallthinker": WindowRule(4, full_first=True, loader_tokens=4096),
    "step35": WindowRule(None),
}


class RecurrentBlocks(Enum):
    """Which blocks carry recurrent state instead of K and V."""

    ALL = auto()
    BESIDE_ATTENTION = auto()
    """Every block has both."""
    NO_KV_HEADS = auto()
    """Those with attention.head_count_kv of 0."""
    NO_KV_HEADS_NO_FEED_FORWARD = auto()
    """The same, and blocks with a feed-forward width have neither state nor attention."""
    INTERVAL = auto()
    """All but the last of every full_attention_interval blocks."""
    KEY = auto()
    """Those that attention.recurrent_layers marks; where a header has that key it also wins over the rules above."""


class StateRule(Enum):
    """What sizes the state of a recurrent block (llama-hparams.cpp: n_embd_r, n_embd_s)."""

    MAMBA = auto()
    """(conv_kernel - 1) · (inner_size + 2 · group_count · state_size) + state_size · inner_size"""
    KDA = auto()
    """3 · (conv_kernel - 1) · heads · head_dim + heads · head_dim²"""
    SHORT_CONVOLUTION = auto()
    """embedding_length · (shortconv.l_cache - 1)"""
    RWKV = auto()
    """embedding_length · (token_shift_count + wkv.head_size)"""
    LIGHTNING = auto()
    """heads · key_length · value_length"""


@dataclass(frozen=True, slots=True)
class RecurrentRule:
    """Which blocks are recurrent, and what they keep."""

    blocks: RecurrentBlocks
    state: StateRule
    default_interval: int | None = None


RECURRENT = {
    "arwkv7": RecurrentRule(RecurrentBlocks.ALL, StateRule.RWKV),
    "falcon-h1": RecurrentRule(RecurrentBlocks.BESIDE_ATTENTION, StateRule.MAMBA),
    "glm5-next": RecurrentRule(RecurrentBlocks.NO_KV_HEADS, StateRule.KDA),
    "granitehybrid": RecurrentRule(RecurrentBlocks.NO_KV_HEADS, StateRule.MAMBA),
    "jamba": RecurrentRule(RecurrentBlocks.NO_KV_HEADS, StateRule.MAMBA),
    "kimi-k3": RecurrentRule(RecurrentBlocks.NO_KV_HEADS, StateRule.KDA),
    "kimi-linear": RecurrentRule(RecurrentBlocks.NO_KV_HEADS, StateRule.KDA),
    "lfm2": RecurrentRule(RecurrentBlocks.NO_KV_HEADS, StateRule.SHORT_CONVOLUTION),
    "lfm2moe": RecurrentRule(RecurrentBlocks.NO_KV_HEADS, StateRule.SHORT_CONVOLUTION),
    "mamba": RecurrentRule(RecurrentBlocks.ALL, StateRule.MAMBA),
    "mamba2": RecurrentRule(RecurrentBlocks.ALL, StateRule.MAMBA),
    "minimax-01": RecurrentRule(RecurrentBlocks.KEY, StateRule.LIGHTNING),
    "nemotron_h": RecurrentRule(RecurrentBlocks.NO_KV_HEADS_NO_FEED_FORWARD, StateRule.MAMBA),
    "nemotron_h_moe": RecurrentRule(RecurrentBlocks.NO_KV_HEADS_NO_FEED_FORWARD, StateRule.MAMBA),
    "plamo2": RecurrentRule(RecurrentBlocks.NO_KV_HEADS, StateRule.MAMBA),
    "qwen35": RecurrentRule(RecurrentBlocks.INTERVAL, StateRule.MAMBA, default_interval=4),
    "qwen35moe": RecurrentRule(RecurrentBlocks.INTERVAL, StateRule.MAMBA, default_interval=4),
    "qwen3next": RecurrentRule(RecurrentBlocks.INTERVAL, StateRule.MAMBA, default_interval=4),
    "qwen4exp": RecurrentRule(RecurrentBlocks.INTERVAL, StateRule.MAMBA, default_interval=4),
    "rwkv6": RecurrentRule(RecurrentBlocks.ALL, StateRule.RWKV),
    "rwkv6qwen2": RecurrentRule(RecurrentBlocks.ALL, StateRule.RWKV),
    "rwkv7": RecurrentRule(RecurrentBlocks.ALL, StateRule.RWKV),
}


class IndexerRule(Enum):
    """Which attention blocks have a sparse indexer, and what it keeps (llama-kv-cache-{dsa,kpool,msa,dsv4}.cpp)."""

    EVERY_BLOCK = auto()
    """indexer.key_length values a cell."""
    BY_TYPES = auto()
    """The same; blocks that attention.indexer.types marks compute their own indices."""
    POOLED = auto()
    """Every block three keys a cell where indexer.kpool is above 0: the raw key, its gate and the pooled key."""
    AFTER_DENSE = auto()
    """Blocks from leading_dense_block_count on, K of the indexer's width and V of a head's."""


_INDEXERS = {
    "deepseek32": IndexerRule.EVERY_BLOCK,
    "glm-dsa": IndexerRule.BY_TYPES,
    "glm5-next": IndexerRule.POOLED,
    "minimax-m3": IndexerRule.AFTER_DENSE,
    "qwen4exp": IndexerRule.EVERY_BLOCK,
}

GLM_5_2_CONTEXT_TOKENS = 1_048_576
"""From this trained context on, a glm-dsa header without attention.indexer.types is taken as GLM-5.2's, where blocks 0,
1 and then every fourth from 2 on compute their own indices (src/models/glm-dsa.cpp)."""

_KV_BLOCKS_FROM_START = {"gemma3n": 20}

WITHOUT_CACHE = frozenset({
    "bert", "clip", "dream", "eurobert", "gemma-embedding", "jina-bert-v2", "jina-bert-v3", "llada", "llada-moe",
    "modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe", "rnd1", "t5encoder", "wavtokenizer-dec",
})  # fmt: skip
"""Encoders, and diffusion models that look at their whole input at every step."""

_FULL_ATTENTION = frozenset({
    "apertus", "arcee", "arctic", "baichuan", "bailingmoe", "bailingmoe2", "bitnet", "bloom", "chameleon", "chatglm",
    "codeshell", "cogvlm", "command-r", "dbrx", "deci", "deepseek", "deepseek2", "deepseek2-ocr", "dots1", "ernie4_5",
    "ernie4_5-moe", "exaone", "falcon", "gemma", "glm4", "glm4moe", "gpt2", "gptj", "gptneox", "granite", "granitemoe",
    "grok", "grovemoe", "hunyuan-dense", "hunyuan-moe", "hunyuan_vl", "hy_v3", "internlm2", "jais", "jais2", "llama",
    "llama-embed", "maincoder", "minicpm", "minicpm3", "minimax-m2", "mistral3", "mistral4", "mpt", "nemotron", "olmo",
    "olmoe", "openelm", "orion", "paddleocr", "pangu-embedded", "phi2", "phi3", "phimoe", "plamo", "plm", "qwen",
    "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3vl", "qwen3vlmoe", "refact", "seed_oss", "smollm3",
    "stablelm", "starcoder", "starcoder2", "talkie", "xverse",
})  # fmt: skip
"""Attention to the whole context on every block, grouped or latent as the keys say; a window key is ignored."""

COMPRESSED = "deepseek4"
"""Keys compressed by attention.compress_ratios, a window beside them on every block."""

KNOWN = _FULL_ATTENTION | WITHOUT_CACHE | WINDOWS.keys() | RECURRENT.keys() | _INDEXERS.keys() | {COMPRESSED}


def indexer_rule(family: str) -> IndexerRule | None:
    """Return the rule of a family whose blocks have sparse indexers."""
    return _INDEXERS.get(family)


def kv_blocks_from_start(family: str, trunk_blocks: int, shared_kv_blocks: int | None) -> int:
    """Return how many blocks from the first on have K and V of their own; later ones use those of earlier blocks."""
    own = trunk_blocks - (shared_kv_blocks or 0)
    return max(0, min(own, _KV_BLOCKS_FROM_START.get(family, own)))
