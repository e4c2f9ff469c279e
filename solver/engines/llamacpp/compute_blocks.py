"""How the blocks of a model are strung together: from the embeddings over every block to the logits (src/models)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_attention import attention
from solver.engines.llamacpp.compute_banked import banked
from solver.engines.llamacpp.compute_compressed import compressed
from solver.engines.llamacpp.compute_context import MissingTensorError
from solver.engines.llamacpp.compute_families import CENTRED, traits
from solver.engines.llamacpp.compute_forward import forward, has_forward
from solver.engines.llamacpp.compute_graph import F32, I32, I64
from solver.engines.llamacpp.compute_latent import absorbed, unpacked
from solver.engines.llamacpp.compute_layered import attention as layered_attention
from solver.engines.llamacpp.compute_layered import layer_embeddings, with_layer_embedding
from solver.engines.llamacpp.compute_layers import norm, pinned
from solver.engines.llamacpp.compute_lightning import is_lightning
from solver.engines.llamacpp.compute_recurrent import recurrent
from solver.engines.llamacpp.compute_selected import is_selected, selected
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_context import Context
    from solver.engines.llamacpp.compute_families import Traits
    from solver.engines.llamacpp.compute_graph import Node

__all__ = ["build"]

_HOST_SLOT = -1


def build(here: Context) -> None:
    """Record the graph of a whole model.

    Raises:
        MissingTensorError: a block lacks a tensor that its kind of block has.
    """
    kind = traits(here.family)
    residual = _embedded(here, kind)
    if here.has("output_res_score.weight"):
        _head(here, kind, banked(here, kind, residual))
        return
    if here.has("output_hc_fn.weight"):
        _head(here, kind, compressed(here, kind, residual))
        return
    embeddings = layer_embeddings(here, residual)
    for block in here.blocks:
        drop = block == here.blocks[-1] and not kind.late_rows
        residual = _block(here, kind, block, residual, drop=drop)
        if embeddings is not None:
            residual = with_layer_embedding(here, block, residual, embeddings)
        scale = here.of(block, "layer_output_scale")
        if scale is not None:
            residual = here.graph.like("mul", residual, scale)
    _head(here, kind, residual)


def _embedded(here: Context, kind: Traits) -> Node:
    graph = here.graph
    table = here.whole("token_embd.weight", _HOST_SLOT)
    rows = graph.make("get_rows", (table, here.filled("tokens", I32, here.tokens)), here.hidden, here.tokens)
    graph.run(rows)
    # The same graph serves batches of vectors: their input is reserved although no node reads it.
    graph.run(here.filled("vectors", F32, here.hidden, here.tokens))
    if here.settings.mixed_batches:
        _mixed(here, table)
    if kind.scaled_embedding:
        rows = graph.like("scale", rows)
    position = here.weight("position_embd.weight", _HOST_SLOT)
    if position is not None:
        rows = graph.like("add", rows, graph.make("get_rows", (position, here.positions()), here.hidden, here.tokens))
    # Where it stands for the norm of the head, a norm of embeddings is no such thing (lfm2).
    if here.has("token_embd_norm.weight") and here.has("output_norm.weight"):
        rows = pinned(here, graph.like("norm", rows), 0)
        rows = graph.like("mul", rows, here.whole("token_embd_norm.weight", 0))
        bias = here.weight("token_embd_norm.bias", 0)
        rows = graph.like("add", rows, bias) if bias is not None else rows
    graph.run(rows)
    return rows


def _mixed(here: Context, table: Node) -> None:
    """Record what batches of tokens and vectors take: rows of the tokens are written into a copy of the vectors."""
    graph = here.graph
    vectors = here.filled("mixed vectors", F32, here.hidden, here.tokens)
    tokens = here.filled("mixed tokens", I32, here.tokens)
    places = here.filled("mixed places", I64, here.tokens)
    rows = graph.make("get_rows", (table, tokens), here.hidden, here.tokens)
    graph.run(graph.into("set_rows", graph.like("dup", vectors), rows, places))


def _head(here: Context, kind: Traits, residual: Node) -> None:
    graph = here.graph
    slot = len(here.assignment.slots) - 1
    rows = residual
    if kind.kept_residual:
        rows.is_output = True
        rows = graph.rows(rows, here.output_rows())
    stem = "output_norm" if here.has("output_norm.weight") else "token_embd_norm"
    weight, bias = here.weight(f"{stem}.weight", slot), here.weight(f"{stem}.bias", slot)
    rows = graph.like("norm" if bias is not None or here.family in CENTRED else "rms_norm", rows)
    if weight is not None:
        rows = graph.like("mul", rows, weight)
    if bias is not None:
        rows = graph.like("add", rows, bias)
    rows.is_output = True
    if kind.late_rows and not kind.kept_residual:
        rows = graph.rows(rows, here.output_rows())
        rows.is_output = True
    if kind.scaled_head:
        rows = graph.like("scale", rows)
    name = "output.weight" if here.has("output.weight") else "token_embd.weight"
    logits = graph.product(here.whole(name, slot), rows)
    for _ in range(kind.head_nodes):
        logits = graph.like("scale", logits)
    logits.is_output = True
    graph.run(logits)


def _block(here: Context, kind: Traits, block: int, residual: Node, *, drop: bool) -> Node:
    """Return the residual after a block; `drop` tokens that have no logits on the way."""
    graph = here.graph
    normed = residual
    if here.of(block, "attn_norm") is not None:
        normed = norm(here, residual, block, "attn_norm")
    if kind.norm_at_once:
        graph.run(normed)
    parted = here.of(block, "attn_norm_2") is not None and not is_lightning(here, block)
    own = norm(here, residual, block, "attn_norm_2") if parted else normed
    mixed = _mixer(here, kind, block, own)
    if here.term(block, CacheKind.FULL) is not None and here.term(block, CacheKind.RECURRENT) is not None:
        return _beside(here, kind, block, residual, mixed, drop=drop)
    if drop and not kind.normed_residual:
        mixed, residual = graph.rows(mixed, here.output_rows()), graph.rows(residual, here.output_rows())
    if kind.normed_residual:
        return _normed(here, kind, block, normed, mixed, drop=drop)
    if not kind.parallel:
        return _forwarded(here, kind, block, residual, mixed)
    if drop:
        normed = graph.rows(normed, here.output_rows())
    first, second = (mixed, residual) if kind.mixer_first else (residual, mixed)
    return graph.like("add", graph.like("add", forward(here, kind, block, normed), first), second)


def _beside(here: Context, kind: Traits, block: int, residual: Node, mixed: Node, *, drop: bool) -> Node:
    """Return the residual after a block whose attention has a recurrent mixer beside it (falcon-h1)."""
    graph = here.graph
    mixed = graph.like("add", mixed, recurrent(here, block, norm(here, residual, block, "attn_norm")))
    residual = graph.like("add", mixed, residual)
    if drop:
        residual = graph.rows(residual, here.output_rows())
    current = forward(here, kind, block, norm(here, residual, block, "ffn_norm"))
    return graph.like("add", current, residual)


def _normed(here: Context, kind: Traits, block: int, normed: Node, mixed: Node, *, drop: bool) -> Node:
    """Return the residual after a block that adds to what it normalised, not to what it read (minimax-01)."""
    graph = here.graph
    if drop:
        mixed, normed = graph.rows(mixed, here.output_rows()), graph.rows(normed, here.output_rows())
    inner = norm(here, graph.like("add", mixed, graph.like("scale", normed)), block, "ffn_norm")
    return graph.like("add", forward(here, kind, block, inner), graph.like("scale", inner))


def _forwarded(here: Context, kind: Traits, block: int, residual: Node, mixed: Node) -> Node:
    """Return the residual after what attention made is added, and then what the feed-forward part makes of it."""
    graph = here.graph
    after = here.first(block, "post_ffw_norm", "layer_output_norm")
    behind = here.first(block, "post_attention_norm", "attn_output_norm")
    if after is not None and behind is not None:
        mixed = norm(here, mixed, block, behind)
    if kind.scaled_residual:
        mixed = graph.like("scale", mixed)
    inner = graph.like("add", residual, mixed) if kind.mixer_second else graph.like("add", mixed, residual)
    before = here.first(block, "ffn_norm") or (behind if after is None else None)
    # Without any norm around it, what the block has of a feed-forward part was its mixer (nemotron_h).
    if not has_forward(here, block) or (before is None and after is None):
        return inner
    current = inner if before is None else norm(here, inner, block, before)
    current = forward(here, kind, block, current)
    if after is not None:
        current = norm(here, current, block, after, place=after == "layer_output_norm")
    if kind.scaled_residual:
        current = graph.like("scale", current)
    return graph.like("add", inner, current) if kind.forward_second else graph.like("add", current, inner)


def _mixer(here: Context, kind: Traits, block: int, source: Node) -> Node:
    if kind.layered:
        return layered_attention(here, block, source)
    latent = here.term(block, CacheKind.LATENT)
    if latent is not None:
        return absorbed(here, block, source, latent, rope=kind.rope)
    term = here.term(block, CacheKind.FULL, CacheKind.WINDOW)
    if term is not None and here.of(block, "attn_kv_b") is not None:
        return unpacked(here, block, source, term)
    if term is not None:
        chosen = is_selected(here, block)
        return selected(here, block, source, term) if chosen else attention(here, kind, block, source, term)
    if here.term(block, CacheKind.RECURRENT) is not None:
        return recurrent(here, block, source)
    if has_forward(here, block):
        return forward(here, kind, block, source)
    raise MissingTensorError(f"blk.{block}: no attention")
