"""Names and shapes of all tensors that a shape calls for, in the order of real files.

GGUF names are those of the `gguf` package's tables (gguf/constants.py), safetensors names those of the classes in
transformers. `kind` is what a name says without its block and its `.weight`; quantisation goes by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tensors.synthetic.shapes import GroupedShape, LatentExpertShape, MixtureShape

__all__ = ["Piece", "grouped", "latent_expert", "mixture"]


class Piece(NamedTuple):
    """One tensor to be: `shape` is outermost first; `block` None outside the blocks."""

    name: str
    kind: str
    block: int | None
    shape: tuple[int, ...]


def grouped(shape: GroupedShape) -> Iterator[Piece]:
    """Yield the tensors of a `llama` GGUF file."""
    keys = shape.kv_heads * shape.head_width
    queries = shape.heads * shape.head_width
    if not shape.tied:
        yield _outside("output", shape.vocabulary, shape.hidden)
    yield _outside("output_norm", shape.hidden)
    if shape.rope_frequencies:
        yield _outside("rope_freqs", shape.head_width // 2)
    yield _outside("token_embd", shape.vocabulary, shape.hidden)
    for block in range(shape.blocks):
        yield _inside(block, "attn_k", keys, shape.hidden)
        yield _inside(block, "attn_norm", shape.hidden)
        yield _inside(block, "attn_output", shape.hidden, queries)
        yield _inside(block, "attn_q", queries, shape.hidden)
        yield _inside(block, "attn_v", keys, shape.hidden)
        yield from _feed_forward(block, "", shape.hidden, shape.feed_forward)
        yield _inside(block, "ffn_norm", shape.hidden)


def latent_expert(shape: LatentExpertShape) -> Iterator[Piece]:
    """Yield the tensors of a `glm-dsa` GGUF file."""
    yield _outside("output", shape.vocabulary, shape.hidden)
    yield _outside("output_norm", shape.hidden)
    yield _outside("token_embd", shape.vocabulary, shape.hidden)
    for block in range(shape.blocks):
        yield from _latent_attention(block, shape)
        yield _inside(block, "ffn_norm", shape.hidden)
        if block < shape.dense_blocks:
            yield from _feed_forward(block, "", shape.hidden, shape.feed_forward)
        else:
            yield from _experts(block, shape)
        yield from _indexer(block, shape)
        if block >= shape.trunk_blocks:
            yield _inside(block, "nextn.eh_proj", shape.hidden, 2 * shape.hidden)
            yield _inside(block, "nextn.enorm", shape.hidden)
            yield _inside(block, "nextn.hnorm", shape.hidden)
            yield _inside(block, "nextn.shared_head_norm", shape.hidden)


def mixture(shape: MixtureShape) -> Iterator[Piece]:
    """Yield the tensors of a `mixtral` checkpoint."""
    yield Piece("model.embed_tokens.weight", "embed_tokens", None, (shape.vocabulary, shape.hidden))
    for block in range(shape.blocks):
        for kind, extents in _mixture_block(shape):
            yield Piece(f"model.layers.{block}.{kind}.weight", kind, block, extents)
    yield Piece("model.norm.weight", "norm", None, (shape.hidden,))
    yield Piece("lm_head.weight", "lm_head", None, (shape.vocabulary, shape.hidden))


def _mixture_block(shape: MixtureShape) -> Iterator[tuple[str, tuple[int, ...]]]:
    hidden, width = shape.hidden, shape.feed_forward
    keys = shape.kv_heads * shape.head_width
    queries = shape.heads * shape.head_width
    yield "self_attn.q_proj", (queries, hidden)
    yield "self_attn.k_proj", (keys, hidden)
    yield "self_attn.v_proj", (keys, hidden)
    yield "self_attn.o_proj", (hidden, queries)
    yield "block_sparse_moe.gate", (shape.experts, hidden)
    for expert in range(shape.experts):
        yield f"block_sparse_moe.experts.{expert}.w1", (width, hidden)
        yield f"block_sparse_moe.experts.{expert}.w2", (hidden, width)
        yield f"block_sparse_moe.experts.{expert}.w3", (width, hidden)
    yield "input_layernorm", (hidden,)
    yield "post_attention_layernorm", (hidden,)


def _latent_attention(block: int, shape: LatentExpertShape) -> Iterator[Piece]:
    key_width = shape.nope + shape.rope
    yield _inside(block, "attn_k_b", shape.heads, shape.latent_rank, shape.nope)
    yield _inside(block, "attn_kv_a_mqa", shape.latent_rank + shape.rope, shape.hidden)
    yield _inside(block, "attn_kv_a_norm", shape.latent_rank)
    yield _inside(block, "attn_norm", shape.hidden)
    yield _inside(block, "attn_output", shape.hidden, shape.heads * shape.value_width)
    yield _inside(block, "attn_q_a", shape.query_rank, shape.hidden)
    yield _inside(block, "attn_q_a_norm", shape.query_rank)
    yield _inside(block, "attn_q_b", shape.heads * key_width, shape.query_rank)
    yield _inside(block, "attn_v_b", shape.heads, shape.value_width, shape.latent_rank)


def _feed_forward(block: int, suffix: str, hidden: int, width: int) -> Iterator[Piece]:
    yield _inside(block, f"ffn_down{suffix}", hidden, width)
    yield _inside(block, f"ffn_gate{suffix}", width, hidden)
    yield _inside(block, f"ffn_up{suffix}", width, hidden)


def _experts(block: int, shape: LatentExpertShape) -> Iterator[Piece]:
    hidden, width = shape.hidden, shape.expert_feed_forward
    yield Piece(f"blk.{block}.exp_probs_b.bias", "exp_probs_b", block, (shape.experts,))
    yield _inside(block, "ffn_gate_inp", shape.experts, hidden)
    yield _inside(block, "ffn_down_exps", shape.experts, hidden, width)
    yield _inside(block, "ffn_gate_exps", shape.experts, width, hidden)
    yield _inside(block, "ffn_up_exps", shape.experts, width, hidden)
    yield from _feed_forward(block, "_shexp", hidden, width * shape.experts_shared)


def _indexer(block: int, shape: LatentExpertShape) -> Iterator[Piece]:
    yield _inside(block, "indexer.attn_k", shape.index_width, shape.hidden)
    yield _inside(block, "indexer.attn_q_b", shape.index_heads * shape.index_width, shape.query_rank)
    yield Piece(f"blk.{block}.indexer.k_norm.bias", "indexer.k_norm", block, (shape.index_width,))
    yield _inside(block, "indexer.k_norm", shape.index_width)
    yield _inside(block, "indexer.proj", shape.index_heads, shape.hidden)


def _outside(kind: str, *shape: int) -> Piece:
    return Piece(f"{kind}.weight", kind, None, shape)


def _inside(block: int, kind: str, *shape: int) -> Piece:
    return Piece(f"blk.{block}.{kind}.weight", kind, block, shape)
