"""Attention over latents: absorbed (DeepSeek), unpacked to heads (MiniCPM3), and narrowed by an indexer (DSA)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_context import MissingTensorError
from solver.engines.llamacpp.compute_graph import F32, I32, I64
from solver.engines.llamacpp.compute_layers import attend, matrix, norm, store, turned
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_context import Context
    from solver.engines.llamacpp.compute_graph import Node
    from tensors.cache import CacheTerm

__all__ = ["absorbed", "unpacked"]


def absorbed(here: Context, block: int, source: Node, term: CacheTerm, *, rope: bool) -> Node:
    """Attention over a latent: keys and values are unpacked by absorbing their matrices into queries and results."""
    graph, tokens = here.graph, here.tokens
    up_key, up_value = here.need(block, "attn_k_b"), here.need(block, "attn_v_b")
    plain, rank, heads = up_key.extents[0], up_key.extents[1], up_key.extents[2]
    part = term.key_values - rank
    indexed = here.has_indexer
    low = source
    if here.of(block, "attn_q_a") is not None:
        low = norm(here, graph.product(here.need(block, "attn_q_a"), source), block, "attn_q_a_norm")
    chosen = _chosen(here, block, source, low) if indexed else None
    query = graph.product(here.need(block, "attn_q_b", "attn_q"), low)
    query = graph.view(query, plain + part, heads, tokens)
    both = graph.product(here.need(block, "attn_kv_a_mqa"), source)
    row = both.strides[1]
    latent = graph.view(both, rank, tokens, strides=(row,))
    turned_key = graph.view(both, part, 1, tokens, strides=(row, row))
    flat = graph.view(query, plain, heads, tokens, strides=query.strides[1:3])
    turned_query = graph.view(query, part, heads, tokens, strides=query.strides[1:3])
    if rope:
        turned_key = graph.like("rope", turned_key, here.positions())
        turned_query = graph.like("rope", turned_query, here.positions())
    latent = norm(here, latent, block, "attn_kv_a_norm")
    lifted = graph.make("mul_mat", (up_key, graph.permute(flat, 0, 2, 1, 3)), rank, tokens, heads)
    query = graph.make("concat", (graph.permute(lifted, 0, 2, 1, 3), turned_query), rank + part, heads, tokens)
    latent = graph.view(latent, rank, 1, tokens)
    key = graph.make("concat", (latent, turned_key), rank + part, 1, tokens)
    for node in (query, latent, key):
        graph.run(node)
    keys, _ = store(here, block, "full", key, None, term)
    mask = here.mask("full", here.cells(term))
    if chosen is not None:
        mask = _narrowed(here, mask, chosen)
    values = graph.view(keys, rank, *keys.extents[1:], strides=keys.strides[1:])
    result = attend(here, block, query, keys, values, mask, up=up_value)
    gate = here.of(block, "attn_gate")
    if gate is not None:
        result = graph.like("mul", result, graph.like("unary", graph.product(gate, source)))
    return matrix(here, result, block, "attn_output")


def unpacked(here: Context, block: int, source: Node, term: CacheTerm) -> Node:
    """Attention over heads that are unpacked from a latent before they are cached."""
    graph, tokens = here.graph, here.tokens
    key, value, heads = term.key_values // term.heads, term.value_values // term.heads, term.heads
    rank = here.need(block, "attn_kv_a_norm").extents[0]
    low = source
    if here.of(block, "attn_q_a") is not None:
        low = norm(here, graph.product(here.need(block, "attn_q_a"), source), block, "attn_q_a_norm")
    query = graph.product(here.need(block, "attn_q_b", "attn_q"), low)
    query = graph.view(query, key, query.extents[0] // key, tokens)
    both = graph.product(here.need(block, "attn_kv_a_mqa"), source)
    row = both.strides[1]
    part = both.extents[0] - rank
    latent = norm(here, graph.view(both, rank, tokens, strides=(row,)), block, "attn_kv_a_norm")
    wide = graph.product(here.need(block, "attn_kv_b"), latent)
    each = key - part + value
    shape = (each * F32, each * F32 * heads)
    flat = graph.view(wide, key - part, heads, tokens, strides=shape)
    values = graph.dense(graph.view(wide, value, heads, tokens, strides=shape))
    query = graph.like("rope", query, here.positions())
    turned_key = graph.like("rope", graph.view(both, part, 1, tokens, strides=(row, row)), here.positions())
    repeated = graph.make("repeat", (turned_key,), part, heads, tokens)
    keys = graph.make("concat", (flat, repeated), key, heads, tokens)
    query, keys = (turned(here, node, "full", "k", key) for node in (query, keys))
    values = turned(here, values, "full", "v", value)
    for node in (query, values, keys):
        graph.run(node)
    cached_keys, cached_values = store(here, block, "full", keys, values, term)
    mask = here.mask("full", here.cells(term))
    result = turned(here, attend(here, block, query, cached_keys, cached_values, mask), "full", "v", value)
    return matrix(here, result, block, "attn_output")


def _chosen(here: Context, block: int, source: Node, low: Node) -> Node:
    """Return which cells every token attends to: the indexer's own choice, or that of an earlier block."""
    graph, tokens, streams = here.graph, here.tokens, here.streams
    weights = here.of(block, "indexer.proj")
    term = here.term(block, CacheKind.INDEXER)
    if weights is None or term is None:
        if here.chosen is None:
            raise MissingTensorError(f"blk.{block}.indexer.proj.weight")
        return here.chosen
    width = term.key_values
    query = graph.product(here.need(block, "indexer.attn_q_b"), low)
    heads = query.extents[0] // width
    query = graph.like("rope", graph.view(query, width, heads, tokens), here.positions())
    key = norm(here, graph.product(here.need(block, "indexer.attn_k"), source), block, "indexer.k_norm")
    key = graph.like("rope", graph.view(key, width, 1, tokens), here.positions())
    order = 64
    while width % (2 * order) == 0:
        order *= 2
    turn = here.filled("turn indexer", F32, order, order)
    query, key = graph.product(turn, query), graph.product(turn, key)
    cells = here.cells(term)
    cache = here.indexer_cache(block, width, cells)
    flat = graph.view(key, width, tokens, strides=(key.strides[2],))
    graph.run(graph.into("set_rows", cache, flat, here.filled("k cells indexer", I64, tokens)))
    scores = graph.product(weights, source)
    keys = graph.view(cache, width, 1, cells, streams)
    query = graph.view(query, width, heads, tokens // streams, streams)
    scores = graph.like("scale", graph.view(scores, heads, tokens // streams, 1, streams))
    mask = here.mask("indexer", cells)
    scores = graph.make("indexer", (query, keys, scores, mask), cells, tokens // streams, 1, streams)
    kept = min(cells, here.inventory.architecture.index_topk or cells)
    best = graph.make("top_k", (scores,), kept, tokens // streams, 1, streams, value=I32)
    here.chosen = graph.dense(best)
    return here.chosen


def _narrowed(here: Context, mask: Node, chosen: Node) -> Node:
    """Return a mask that leaves only the chosen cells open: closed everywhere, then opened row by row."""
    graph = here.graph
    cells, tokens, _, streams = mask.extents
    closed = graph.like("fill", mask)
    kept = chosen.extents[0]
    indices = graph.view(chosen, kept, tokens, streams)
    zeros = graph.constant(1, kept, tokens, streams)
    zeros = graph.like("fill", zeros)
    open_cells = graph.view(closed, 1, cells, tokens, streams)
    opened = graph.into("set_rows", open_cells, zeros, indices)
    opened = graph.view(opened, cells, tokens, 1, streams)
    return graph.like("add", opened, mask)
