"""What headers and config files say of a shape besides its tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensors.synthetic.shapes import GroupedShape, LatentExpertShape, MixtureShape

__all__ = ["Facts", "grouped", "latent_expert", "mixture"]

Facts = dict[str, int | float | str]


def grouped(shape: GroupedShape) -> Facts:
    """Return the keys of a `llama` GGUF header."""
    return {
        "block_count": shape.blocks,
        "context_length": shape.context,
        "embedding_length": shape.hidden,
        "feed_forward_length": shape.feed_forward,
        "vocab_size": shape.vocabulary,
        "attention.head_count": shape.heads,
        "attention.head_count_kv": shape.kv_heads,
        "attention.key_length": shape.head_width,
        "attention.value_length": shape.head_width,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": shape.head_width,
    }


def latent_expert(shape: LatentExpertShape) -> Facts:
    """Return the keys of a `glm-dsa` GGUF header.

    The key for the types of indexers is left out, as published files leave it out; readers go by the context.
    """
    return {
        "block_count": shape.blocks,
        "context_length": shape.context,
        "embedding_length": shape.hidden,
        "feed_forward_length": shape.feed_forward,
        "vocab_size": shape.vocabulary,
        "attention.head_count": shape.heads,
        "attention.head_count_kv": 1,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.q_lora_rank": shape.query_rank,
        "attention.kv_lora_rank": shape.latent_rank,
        "attention.key_length": shape.latent_rank + shape.rope,
        "attention.value_length": shape.latent_rank,
        "attention.key_length_mla": shape.nope + shape.rope,
        "attention.value_length_mla": shape.value_width,
        "attention.indexer.head_count": shape.index_heads,
        "attention.indexer.key_length": shape.index_width,
        "attention.indexer.top_k": shape.index_topk,
        "rope.dimension_count": shape.rope,
        "expert_count": shape.experts,
        "expert_used_count": shape.experts_used,
        "expert_shared_count": shape.experts_shared,
        "expert_feed_forward_length": shape.expert_feed_forward,
        "leading_dense_block_count": shape.dense_blocks,
        "nextn_predict_layers": shape.nextn_blocks,
    }


def mixture(shape: MixtureShape) -> dict[str, object]:
    """Return the config.json of a `mixtral` checkpoint."""
    return {
        "architectures": ["MixtralForCausalLM"],
        "model_type": "mixtral",
        "num_hidden_layers": shape.blocks,
        "hidden_size": shape.hidden,
        "intermediate_size": shape.feed_forward,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_width,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": shape.context,
        "num_local_experts": shape.experts,
        "num_experts_per_tok": shape.experts_used,
        "sliding_window": None,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }
