"""Models of the shapes that people ran into trouble with, made from architecture arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.llamacpp import Specification, model

if TYPE_CHECKING:
    from tensors.inventory import Inventory
    from tensors.metadata import MetadataValue

__all__ = ["deepseek_r1", "glm_4_6", "hybrid_experts", "mixture", "uneven_49b"]


def uneven_49b() -> Inventory:
    """Return 80 blocks in Q5_K, the first half with feed-forward networks four times as wide as the second's."""
    hidden = 8192
    tensors: list[Specification] = [("token_embd.weight", (128256, hidden), "Q5_K")]
    for block in range(80):
        prefix, width = f"blk.{block}.", 28672 if block < 40 else 7168
        tensors += [
            *_attention(prefix, hidden, hidden, 1024, "Q5_K"),
            (f"{prefix}ffn_norm.weight", (hidden,), "F32"),
            (f"{prefix}ffn_gate.weight", (width, hidden), "Q5_K"),
            (f"{prefix}ffn_up.weight", (width, hidden), "Q5_K"),
            (f"{prefix}ffn_down.weight", (hidden, width), "Q5_K"),
        ]
    keys: dict[str, MetadataValue] = {
        "block_count": 80,
        "context_length": 131072,
        "embedding_length": hidden,
        "attention.head_count": 64,
        "attention.head_count_kv": 8,
        "attention.key_length": 128,
        "attention.value_length": 128,
    }
    return model("llama", keys, [*tensors, *_head(128256, hidden, "Q6_K")], vocabulary=128256, name="Uneven 49B")


def mixture(
    blocks: int,
    *,
    hidden: int,
    experts: int,
    expert_width: int,
    kinds: tuple[str, str],
    heads: int = 32,
    kv_heads: int = 4,
    vocabulary: int = 151936,
    name: str = "a mixture",
) -> Inventory:
    """Return a qwen3moe of equal blocks: gate and up of the experts in the first of `kinds`, down in the second."""
    up, down = kinds
    tensors: list[Specification] = [("token_embd.weight", (vocabulary, hidden), "Q4_K")]
    for block in range(blocks):
        prefix = f"blk.{block}."
        tensors += [
            *_attention(prefix, hidden, heads * 128, kv_heads * 128, "Q8_0"),
            (f"{prefix}attn_q_norm.weight", (128,), "F32"),
            (f"{prefix}attn_k_norm.weight", (128,), "F32"),
            *_experts(prefix, hidden, experts, expert_width, up, down),
        ]
    keys: dict[str, MetadataValue] = {
        "block_count": blocks,
        "context_length": 262144,
        "embedding_length": hidden,
        "expert_feed_forward_length": expert_width,
        "attention.head_count": heads,
        "attention.head_count_kv": kv_heads,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "expert_count": experts,
        "expert_used_count": 8,
    }
    tensors += _head(vocabulary, hidden, "Q6_K")
    return model("qwen3moe", keys, tensors, vocabulary=vocabulary, name=name)


def glm_4_6() -> Inventory:
    """Return the 92 blocks of GLM-4.6 in about 4.5 bits, the first three of them dense."""
    hidden, vocabulary = 5120, 151552
    tensors: list[Specification] = [("token_embd.weight", (vocabulary, hidden), "Q4_K")]
    for block in range(92):
        prefix = f"blk.{block}."
        tensors += _attention(prefix, hidden, 96 * 128, 8 * 128, "Q5_K")
        if block < 3:
            tensors += [
                (f"{prefix}ffn_norm.weight", (hidden,), "F32"),
                (f"{prefix}ffn_gate.weight", (12288, hidden), "Q5_K"),
                (f"{prefix}ffn_up.weight", (12288, hidden), "Q5_K"),
                (f"{prefix}ffn_down.weight", (hidden, 12288), "Q6_K"),
            ]
            continue
        tensors += [
            *_experts(prefix, hidden, 160, 1536, "Q4_K", "Q5_K"),
            (f"{prefix}ffn_gate_shexp.weight", (1536, hidden), "Q5_K"),
            (f"{prefix}ffn_up_shexp.weight", (1536, hidden), "Q5_K"),
            (f"{prefix}ffn_down_shexp.weight", (hidden, 1536), "Q6_K"),
        ]
    keys: dict[str, MetadataValue] = {
        "block_count": 92,
        "context_length": 202752,
        "embedding_length": hidden,
        "expert_feed_forward_length": 1536,
        "leading_dense_block_count": 3,
        "attention.head_count": 96,
        "attention.head_count_kv": 8,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "expert_count": 160,
        "expert_used_count": 8,
        "expert_shared_count": 1,
    }
    tensors += _head(vocabulary, hidden, "Q6_K")
    return model("glm4moe", keys, tensors, vocabulary=vocabulary, name="GLM-4.6")


def hybrid_experts() -> Inventory:
    """Return the 40 blocks of Qwen3.6-35B-A3B in about 4.5 bits: every fourth attends, the others keep states."""
    hidden, vocabulary = 2048, 248320
    tensors: list[Specification] = [("token_embd.weight", (vocabulary, hidden), "Q8_0")]
    for block in range(40):
        prefix = f"blk.{block}."
        if block % 4 == 3:
            tensors += [
                *_attention(prefix, hidden, 2 * 16 * 256, 2 * 256, "Q8_0", output=16 * 256),
                (f"{prefix}attn_q_norm.weight", (256,), "F32"),
                (f"{prefix}attn_k_norm.weight", (256,), "F32"),
            ]
        else:
            tensors += [
                (f"{prefix}attn_norm.weight", (hidden,), "F32"),
                (f"{prefix}attn_qkv.weight", (8192, hidden), "Q8_0"),
                (f"{prefix}attn_gate.weight", (4096, hidden), "Q8_0"),
                (f"{prefix}ssm_conv1d.weight", (8192, 4), "F32"),
                (f"{prefix}ssm_a", (32,), "F32"),
                (f"{prefix}ssm_dt.bias", (32,), "F32"),
                (f"{prefix}ssm_beta.weight", (32, hidden), "F32"),
                (f"{prefix}ssm_alpha.weight", (32, hidden), "F32"),
                (f"{prefix}ssm_norm.weight", (128,), "F32"),
                (f"{prefix}ssm_out.weight", (hidden, 4096), "Q8_0"),
            ]
        tensors += [
            *_experts(prefix, hidden, 256, 512, "Q4_K", "Q5_K", norm="post_attention_norm"),
            (f"{prefix}ffn_gate_inp_shexp.weight", (hidden,), "F32"),
            (f"{prefix}ffn_gate_shexp.weight", (512, hidden), "Q8_0"),
            (f"{prefix}ffn_up_shexp.weight", (512, hidden), "Q8_0"),
            (f"{prefix}ffn_down_shexp.weight", (hidden, 512), "Q8_0"),
        ]
    keys: dict[str, MetadataValue] = {
        "block_count": 40,
        "context_length": 262144,
        "embedding_length": hidden,
        "expert_feed_forward_length": 512,
        "attention.head_count": 16,
        "attention.head_count_kv": 2,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "full_attention_interval": 4,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 4096,
        "ssm.state_size": 128,
        "ssm.time_step_rank": 32,
        "ssm.group_count": 16,
        "expert_count": 256,
        "expert_used_count": 8,
    }
    tensors += _head(vocabulary, hidden, "Q6_K")
    return model("qwen35moe", keys, tensors, vocabulary=vocabulary, name="Qwen3.6-35B-A3B")


def deepseek_r1() -> Inventory:
    """Return the 61 blocks of DeepSeek-R1 in about 4.8 bits, the first three of them dense."""
    hidden, vocabulary = 7168, 129280
    tensors: list[Specification] = [("token_embd.weight", (vocabulary, hidden), "Q4_K")]
    for block in range(61):
        prefix = f"blk.{block}."
        tensors += [
            (f"{prefix}attn_norm.weight", (hidden,), "F32"),
            (f"{prefix}attn_q_a_norm.weight", (1536,), "F32"),
            (f"{prefix}attn_kv_a_norm.weight", (512,), "F32"),
            (f"{prefix}attn_q_a.weight", (1536, hidden), "Q4_K"),
            (f"{prefix}attn_q_b.weight", (128 * 192, 1536), "Q4_K"),
            (f"{prefix}attn_kv_a_mqa.weight", (576, hidden), "Q4_K"),
            (f"{prefix}attn_k_b.weight", (128, 512, 128), "Q8_0"),
            (f"{prefix}attn_v_b.weight", (128, 128, 512), "Q4_K"),
            (f"{prefix}attn_output.weight", (hidden, 128 * 128), "Q4_K"),
        ]
        if block < 3:
            tensors += [
                (f"{prefix}ffn_norm.weight", (hidden,), "F32"),
                (f"{prefix}ffn_gate.weight", (18432, hidden), "Q4_K"),
                (f"{prefix}ffn_up.weight", (18432, hidden), "Q4_K"),
                (f"{prefix}ffn_down.weight", (hidden, 18432), "Q6_K"),
            ]
            continue
        tensors += [
            *_experts(prefix, hidden, 256, 2048, "Q4_K", "Q6_K" if block % 2 else "Q4_K"),
            (f"{prefix}exp_probs_b.bias", (256,), "F32"),
            (f"{prefix}ffn_gate_shexp.weight", (2048, hidden), "Q4_K"),
            (f"{prefix}ffn_up_shexp.weight", (2048, hidden), "Q4_K"),
            (f"{prefix}ffn_down_shexp.weight", (hidden, 2048), "Q6_K"),
        ]
    keys: dict[str, MetadataValue] = {
        "block_count": 61,
        "context_length": 163840,
        "embedding_length": hidden,
        "leading_dense_block_count": 3,
        "attention.head_count": 128,
        "attention.head_count_kv": 1,
        "attention.q_lora_rank": 1536,
        "attention.kv_lora_rank": 512,
        "attention.key_length": 576,
        "attention.value_length": 512,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "rope.dimension_count": 64,
        "expert_feed_forward_length": 2048,
        "expert_count": 256,
        "expert_used_count": 8,
        "expert_shared_count": 1,
    }
    tensors += _head(vocabulary, hidden, "Q6_K")
    return model("deepseek2", keys, tensors, vocabulary=vocabulary, name="DeepSeek-R1")


def _attention(
    prefix: str, hidden: int, query: int, kv_width: int, kind: str, *, output: int | None = None
) -> list[Specification]:
    return [
        (f"{prefix}attn_norm.weight", (hidden,), "F32"),
        (f"{prefix}attn_q.weight", (query, hidden), kind),
        (f"{prefix}attn_k.weight", (kv_width, hidden), kind),
        (f"{prefix}attn_v.weight", (kv_width, hidden), kind),
        (f"{prefix}attn_output.weight", (hidden, query if output is None else output), kind),
    ]


def _experts(
    prefix: str, hidden: int, experts: int, width: int, up: str, down: str, *, norm: str = "ffn_norm"
) -> list[Specification]:
    return [
        (f"{prefix}{norm}.weight", (hidden,), "F32"),
        (f"{prefix}ffn_gate_inp.weight", (experts, hidden), "F32"),
        (f"{prefix}ffn_gate_exps.weight", (experts, width, hidden), up),
        (f"{prefix}ffn_up_exps.weight", (experts, width, hidden), up),
        (f"{prefix}ffn_down_exps.weight", (experts, hidden, width), down),
    ]


def _head(vocabulary: int, hidden: int, kind: str) -> list[Specification]:
    return [("output_norm.weight", (hidden,), "F32"), ("output.weight", (vocabulary, hidden), kind)]
