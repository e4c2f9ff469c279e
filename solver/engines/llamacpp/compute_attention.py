"""Attention of a block over a cache of keys and values (src/models)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_graph import F32
from solver.engines.llamacpp.compute_layers import attend, matrix, norm, store, turned
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_context import Context
    from solver.engines.llamacpp.compute_families import Traits
    from solver.engines.llamacpp.compute_graph import Node
    from tensors.cache import CacheTerm

__all__ = ["attention"]


def attention(here: Context, kind: Traits, block: int, source: Node, term: CacheTerm) -> Node:
    """Return attention of a normalised source [hidden, tokens] over the cache of a block."""
    graph = here.graph
    gate = None
    if kind.gated_query:
        query, key, value, gate = _gated_queries(here, block, source, term)
    else:
        query, key, value = _queries(here, block, source, term)
        if here.of(block, "attn_gate") is not None:
            gate = graph.product(here.need(block, "attn_gate"), source)
    query, key = _positioned(here, kind, block, query, key, term)
    label = term.kind.value
    key_width, value_width = term.key_values // term.heads, term.value_values // term.heads
    query, key = (turned(here, node, label, "k", key_width) for node in (query, key))
    value = turned(here, value, label, "v", value_width)
    for node in (query, key, value) if here.has_windows else (query, value, key):
        graph.run(node)
    keys, values = store(here, block, label, key, value, term)
    mask = here.mask(label, here.cells(term))
    result = attend(here, block, query, keys, values, mask, sinks=here.of(block, "attn_sinks"))
    result = turned(here, result, label, "v", value_width)
    if gate is not None:
        result = graph.like("mul", result, graph.like("unary", gate))
    return matrix(here, result, block, "attn_output")


def _positioned(here: Context, kind: Traits, block: int, query: Node, key: Node, term: CacheTerm) -> tuple[Node, Node]:
    """Return queries and keys, normalised head by head, rotated and scaled as the family does it."""
    graph = here.graph
    weight = here.of(block, "attn_q_norm")
    by_head = weight is not None and (weight.extents[0] == query.extents[0] or weight.extents[1] > 1)
    rope = kind.rope and not (kind.window_rope_only and here.has_windows and term.kind is CacheKind.FULL)
    nodes = []
    for node, stem in ((query, "attn_q_norm"), (key, "attn_k_norm")):
        current = node
        if by_head and not kind.norm_after_rope:
            current = norm(here, current, block, stem)
        if rope:
            current = graph.like("rope", current, here.positions())
        if by_head and kind.norm_after_rope:
            current = norm(here, current, block, stem)
        nodes.append(current)
    query, key = nodes
    if kind.scaled_by_position and not rope:
        query = graph.like("mul", query, here.filled("attention scale", F32, 1, 1, here.tokens))
    return (graph.like("scale", query) if kind.scaled_query else query), key


def _queries(here: Context, block: int, source: Node, term: CacheTerm) -> tuple[Node, Node, Node]:
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
    if _whole_norm(here, block, query):
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


def _gated_queries(here: Context, block: int, source: Node, term: CacheTerm) -> tuple[Node, Node, Node, Node]:
    """Return queries that share a matrix with a gate of the same width, head by head."""
    graph, tokens = here.graph, here.tokens
    key, value = term.key_values // term.heads, term.value_values // term.heads
    both = matrix(here, source, block, "attn_q")
    keys, values = matrix(here, source, block, "attn_k"), matrix(here, source, block, "attn_v")
    heads = both.extents[0] // (2 * key)
    shape = (2 * key * F32, 2 * key * F32 * heads)
    query = graph.view(both, key, heads, tokens, strides=shape)
    gate = graph.dense(graph.view(both, key, heads, tokens, strides=shape), key * heads, tokens)
    return query, graph.view(keys, key, term.heads, tokens), graph.view(values, value, term.heads, tokens), gate
