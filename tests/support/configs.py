"""What config files say, as architectures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensors.architecture import Architecture, from_config
from tensors.cache import CacheKind, CacheTerm, cache_type

if TYPE_CHECKING:
    from tensors.metadata import ConfigValue

__all__ = ["DELTA", "F16", "LLAMA", "SPARSE", "config", "kinds", "states", "terms"]

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


SPARSE: dict[str, ConfigValue] = {
    "num_hidden_layers": 12,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "index_head_dim": 128,
    "index_topk": 2048,
}


DELTA: dict[str, ConfigValue] = {
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 16,
    "linear_num_value_heads": 4,
    "linear_value_head_dim": 16,
    "linear_conv_kernel_dim": 4,
}
