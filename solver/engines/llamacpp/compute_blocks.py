"""How the blocks of a model are strung together: from the embeddings over every block to the logits (src/models)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_context import MissingTensor
from solver.engines.llamacpp.compute_graph import F32, I32
from solver.engines.llamacpp.compute_latent import absorbed, unpacked
from solver.engines.llamacpp.compute_layers import CENTRED, attend, experts, feed_forward, matrix, norm, store, turned
from solver.engines.llamacpp.compute_layered import attention as layered_attention
from solver.engines.llamacpp.compute_layered import layer_embeddings, with_layer_embedding
from solver.engines.llamacpp.compute_recurrent import recurrent
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_context import Context
    from solver.engines.llamacpp.compute_graph import Node
    from tensors.cache import CacheTerm

__all__ = ["Traits", "build", "traits"]


@dataclass(frozen=True, slots=True)
class Traits:
    """What a family does that its tensors do not show.

    `late_rows`: tokens without logits are dropped after the last block, not inside it. `parallel`: attention and
    feed-forward read the same norm. `scaled_query`: the query is scaled by a node of its own. `softcap`: nodes that the
    scores pass through before the softmax. `head_nodes`: nodes after the logits. `rope`: whether queries are rotated.
    """

    late_rows: bool = False
    kept_hidden: bool = False
    parallel: bool = False
    scaled_query: bool = False
    scaled_embedding: bool = False
    scaled_residual: bool = False
    softcap: int = 0
    head_nodes: int = 0
    rope: bool = True
    window_rope_only: bool = False
    gated_query: bool = False
    activation: str = "glu"
    early_experts: bool = False
    norm_after_rope: bool = False
    mixer_second: bool = False
    forward_second: bool = False
    mixer_first: bool = False
    scaled_by_position: bool = False
    norm_at_once: bool = False
    both_forwards: bool = False
    scaled_head: bool = False
    layered: bool = False


_TRAITS = {
    "gpt-oss": Traits(late_rows=True, kept_hidden=True),
    "gemma": Traits(scaled_query=True, scaled_embedding=True),
    "gemma2": Traits(scaled_query=True, scaled_embedding=True, softcap=3, head_nodes=3),
    "gemma3": Traits(scaled_query=True, scaled_embedding=True),
    "gemma4": Traits(late_rows=True, kept_hidden=True, scaled_embedding=True, head_nodes=3, layered=True),
    "glm4moe": Traits(kept_hidden=True),
    "qwen35": Traits(late_rows=True, kept_hidden=True, gated_query=True, norm_at_once=True),
    "qwen35moe": Traits(late_rows=True, kept_hidden=True, gated_query=True, norm_at_once=True),
    "qwen3next": Traits(late_rows=True, kept_hidden=True, gated_query=True, norm_at_once=True),
    "command-r": Traits(parallel=True, head_nodes=1),
    "cohere2": Traits(parallel=True, head_nodes=1, window_rope_only=True),
    "minicpm3": Traits(scaled_embedding=True, scaled_residual=True, scaled_head=True),
    "kimi-linear": Traits(rope=False, norm_at_once=True),
    "kimi-k3": Traits(rope=False, norm_at_once=True),
    "falcon": Traits(parallel=True, mixer_first=True),
    "exaone4": Traits(window_rope_only=True),
    "gpt2": Traits(rope=False),
    "bloom": Traits(rope=False),
    "jamba": Traits(rope=False, mixer_second=True, forward_second=True),
    "granitehybrid": Traits(rope=False, scaled_embedding=True, scaled_residual=True, head_nodes=1),
    "nemotron_h": Traits(rope=False, late_rows=True, kept_hidden=True, activation="squared"),
    "nemotron_h_moe": Traits(rope=False, late_rows=True, kept_hidden=True, activation="squared"),
    "grok": Traits(softcap=3, scaled_embedding=True, head_nodes=4, both_forwards=True),
    "llama4": Traits(early_experts=True, window_rope_only=True, scaled_by_position=True),
    "phi3": Traits(scaled_query=True, activation="split", forward_second=True),
    "deepseek2": Traits(kept_hidden=True),
    "hunyuan-moe": Traits(norm_after_rope=True),
    "afmoe": Traits(scaled_embedding=True, window_rope_only=True),
    "lfm2": Traits(mixer_second=True, forward_second=True),
    "lfm2moe": Traits(mixer_second=True, forward_second=True),
}


def traits(family: str) -> Traits:
    """Return what is known of a family; a plain transformer where nothing is."""
    return _TRAITS.get(family, Traits())


def build(here: Context) -> None:
    """Record the graph of a whole model."""
    kind = traits(here.family)
    graph = here.graph
    residual = _embedded(here, kind)
    last = here.blocks[-1]
    embeddings = layer_embeddings(here, residual)
    for block in here.blocks:
        residual = _block(here, kind, block, residual, drop=block == last and not kind.late_rows)
        if embeddings is not None:
            residual = with_layer_embedding(here, block, residual, embeddings)
        scale = here.of(block, "layer_output_scale")
        if scale is not None:
            residual = graph.like("mul", residual, scale)
    _head(here, kind, residual)
    del graph


def _embedded(here: Context, kind: Traits) -> Node:
    graph = here.graph
    table = here.weight("token_embd.weight", -1)
    assert table is not None
    rows = graph.make("get_rows", (table, here.filled("tokens", I32, here.tokens)), here.hidden, here.tokens)
    graph.run(rows)
    # The same graph serves batches of vectors: their input is reserved although no node reads it.
    graph.run(here.filled("vectors", F32, here.hidden, here.tokens))
    if kind.scaled_embedding:
        rows = graph.like("scale", rows)
    position = here.weight("position_embd.weight", -1)
    if position is not None:
        rows = graph.like("add", rows, graph.make("get_rows", (position, here.positions()), here.hidden, here.tokens))
    if here.has("token_embd_norm.weight") and here.has("output_norm.weight"):
        weight, bias = here.weight("token_embd_norm.weight", 0), here.weight("token_embd_norm.bias", 0)
        assert weight is not None
        normed = graph.like("norm", rows)
        if here.pinned and all(slot >= 0 for slot in here.assignment.slots):
            normed.wanted = here.device(0)
        rows = graph.like("mul", normed, weight)
        rows = graph.like("add", rows, bias) if bias is not None else rows
    graph.run(rows)
    return rows


def _head(here: Context, kind: Traits, residual: Node) -> None:
    graph = here.graph
    slot = len(here.assignment.slots) - 1
    names = [name for name in ("output_norm", "token_embd_norm") if here.has(f"{name}.weight")]
    rows = residual
    dropped = not kind.late_rows
    if kind.late_rows and here.family == "gpt-oss":
        rows.is_output = True
        rows, dropped = graph.rows(rows, here.output_rows()), True
    weight, bias = here.weight(f"{names[0]}.weight", slot), here.weight(f"{names[0]}.bias", slot)
    rows = graph.like("norm" if bias is not None or here.family in CENTRED else "rms_norm", rows)
    if weight is not None:
        rows = graph.like("mul", rows, weight)
    if bias is not None:
        rows = graph.like("add", rows, bias)
    rows.is_output = True
    if not dropped:
        rows = graph.rows(rows, here.output_rows())
        rows.is_output = True
    if kind.scaled_head:
        rows = graph.like("scale", rows)
    matrix_name = "output.weight" if here.has("output.weight") else "token_embd.weight"
    head = here.weight(matrix_name, slot)
    assert head is not None
    logits = graph.product(head, rows)
    for _ in range(kind.head_nodes):
        logits = graph.like("scale", logits)
    logits.is_output = True
    graph.run(logits)


def _block(here: Context, kind: Traits, block: int, residual: Node, *, drop: bool) -> Node:
    graph = here.graph
    current = residual
    if here.of(block, "attn_norm") is not None:
        current = norm(here, residual, block, "attn_norm")
    normed = current
    if kind.norm_at_once:
        graph.run(current)
    if here.of(block, "attn_norm_2") is not None:
        current = norm(here, residual, block, "attn_norm_2")
    mixed = _mixer(here, kind, block, current)
    if here.term(block, CacheKind.FULL) is not None and here.term(block, CacheKind.RECURRENT) is not None:
        mixed = graph.like("add", mixed, recurrent(here, block, norm(here, residual, block, "attn_norm")))
        residual = graph.like("add", mixed, residual)
        if drop:
            residual = graph.rows(residual, here.output_rows())
        current = _forward(here, kind, block, norm(here, residual, block, "ffn_norm"))
        return graph.like("add", current, residual)
    if drop:
        mixed = graph.rows(mixed, here.output_rows())
        residual = graph.rows(residual, here.output_rows())
        if kind.parallel:
            normed = graph.rows(normed, here.output_rows())
    if kind.parallel:
        first, second = (mixed, residual) if kind.mixer_first else (residual, mixed)
        return graph.like("add", graph.like("add", _forward(here, kind, block, normed), first), second)
    after = next((stem for stem in ("post_ffw_norm", "layer_output_norm") if here.of(block, stem) is not None), None)
    behind = [stem for stem in ("post_attention_norm", "attn_output_norm") if here.of(block, stem) is not None]
    if after is not None and behind:
        mixed = norm(here, mixed, block, behind[0])
    if kind.scaled_residual:
        mixed = graph.like("scale", mixed)
    inner = graph.like("add", residual, mixed) if kind.mixer_second else graph.like("add", mixed, residual)
    if (
        here.of(block, "ffn_up") is None
        and here.of(block, "ffn_up_exps") is None
        and here.of(block, "ffn_gate_up_exps") is None
    ):
        return inner
    current = inner
    if here.of(block, "ffn_norm") is not None:
        current = norm(here, inner, block, "ffn_norm")
    elif after is None:
        current = norm(here, inner, block, "post_attention_norm", "attn_output_norm")
    current = _forward(here, kind, block, current)
    if after is not None:
        current = norm(here, current, block, after, place=after == "layer_output_norm")
    if kind.scaled_residual:
        current = graph.like("scale", current)
    return graph.like("add", inner, current) if kind.forward_second else graph.like("add", current, inner)


def _forward(here: Context, kind: Traits, block: int, source: Node) -> Node:
    graph = here.graph
    if here.of(block, "ffn_gate_inp") is None:
        return feed_forward(here, source, block, activation=kind.activation)
    counts = here.inventory.architecture.experts
    used = counts.used if counts is not None else 1
    routed = experts(here, source, block, used=used, early=kind.early_experts)
    if kind.both_forwards and here.of(block, "ffn_up") is not None:
        return graph.like("scale", graph.like("add", feed_forward(here, source, block), routed))
    if here.of(block, "ffn_up_shexp") is None:
        return routed
    shared = feed_forward(here, source, block, "_shexp", activation=kind.activation)
    gate = here.of(block, "ffn_gate_inp_shexp")
    if gate is not None:
        shared = graph.like("mul", shared, graph.like("unary", graph.product(gate, source)))
    return graph.like("add", routed, shared)


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
        return _attention(here, kind, block, source, term)
    if here.term(block, CacheKind.RECURRENT) is not None:
        return recurrent(here, block, source)
    if here.of(block, "ffn_up") is not None or here.of(block, "ffn_up_exps") is not None:
        return _forward(here, kind, block, source)
    raise MissingTensor(f"blk.{block}: no attention")


def _queries(here: Context, kind: Traits, block: int, source: Node, term: CacheTerm) -> tuple[Node, Node, Node]:
    graph, tokens = here.graph, here.tokens
    key, value = term.key_values // term.heads, term.value_values // term.heads
    fused = here.of(block, "attn_qkv")
    if fused is not None:
        both = matrix(here, source, block, "attn_qkv")
        heads = (both.extents[0] - term.key_values - term.value_values) // key
        rows = both.strides[1]
        return (
            graph.view(both, key, heads, tokens, strides=(key * F32, rows)),
            graph.view(both, key, term.heads, tokens, strides=(key * F32, rows)),
            graph.view(both, value, term.heads, tokens, strides=(value * F32, rows)),
        )
    query = matrix(here, source, block, "attn_q")
    keys = matrix(here, source, block, "attn_k")
    values = matrix(here, source, block, "attn_v") if here.of(block, "attn_v") is not None else keys
    whole = _whole_norm(here, block, query)
    if whole:
        query = norm(here, query, block, "attn_q_norm")
        keys = norm(here, keys, block, "attn_k_norm")
    return (
        graph.view(query, key, query.extents[0] // key, tokens),
        graph.view(keys, key, term.heads, tokens),
        graph.view(values, value, term.heads, tokens),
    )


def _whole_norm(here: Context, block: int, query: Node) -> bool:
    weight = here.of(block, "attn_q_norm")
    return weight is not None and weight.extents[0] == query.extents[0] and weight.extents[1] == 1


def _attention(here: Context, kind: Traits, block: int, source: Node, term: CacheTerm) -> Node:
    graph = here.graph
    if kind.gated_query:
        query, key, value, gate = _gated_queries(here, block, source, term)
    else:
        query, key, value = _queries(here, kind, block, source, term)
        gate = None if here.of(block, "attn_gate") is None else graph.product(here.need(block, "attn_gate"), source)
    label = term.kind.value
    weight = here.of(block, "attn_q_norm")
    by_head = weight is not None and (weight.extents[0] == query.extents[0] or weight.extents[1] > 1)
    windowed = any(item.kind is CacheKind.WINDOW for items in here.terms.values() for item in items)
    rope = kind.rope and not (kind.window_rope_only and windowed and term.kind is CacheKind.FULL)
    if by_head and not kind.norm_after_rope:
        query = norm(here, query, block, "attn_q_norm")
    if rope:
        query = graph.like("rope", query, here.positions())
    if by_head and not kind.norm_after_rope:
        key = norm(here, key, block, "attn_k_norm")
    if rope:
        key = graph.like("rope", key, here.positions())
    elif kind.scaled_by_position:
        query = graph.like("mul", query, here.filled("attention scale", F32, 1, 1, here.tokens))
    if by_head and kind.norm_after_rope:
        query, key = norm(here, query, block, "attn_q_norm"), norm(here, key, block, "attn_k_norm")
    if kind.scaled_query:
        query = graph.like("scale", query)
    key_width, value_width = term.key_values // term.heads, term.value_values // term.heads
    query, key = (turned(here, node, label, "k", key_width) for node in (query, key))
    value = turned(here, value, label, "v", value_width)
    for node in (query, key, value) if windowed else (query, value, key):
        graph.run(node)
    keys, values = store(here, block, label, key, value, term)
    mask = here.mask(label, here.cells(term))
    sinks = here.of(block, "attn_sinks")
    result = attend(here, block, query, keys, values, mask, sinks=sinks, softcap=kind.softcap)
    result = turned(here, result, label, "v", value_width)
    if gate is not None:
        result = graph.like("mul", result, graph.like("unary", gate))
    return matrix(here, result, block, "attn_output")


def _gated_queries(here: Context, block: int, source: Node, term: CacheTerm) -> tuple[Node, Node, Node, Node]:
    """Queries that share a matrix with a gate of the same width, head by head."""
    graph, tokens = here.graph, here.tokens
    key, value = term.key_values // term.heads, term.value_values // term.heads
    both = matrix(here, source, block, "attn_q")
    keys, values = matrix(here, source, block, "attn_k"), matrix(here, source, block, "attn_v")
    heads = both.extents[0] // (2 * key)
    shape = (2 * key * F32, 2 * key * F32 * heads)
    query = graph.view(both, key, heads, tokens, strides=shape)
    gate = graph.dense(graph.view(both, key, heads, tokens, strides=shape), key * heads, tokens)
    return query, graph.view(keys, key, term.heads, tokens), graph.view(values, value, term.heads, tokens), gate
