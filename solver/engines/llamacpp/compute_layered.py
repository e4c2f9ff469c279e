"""Gemma 3n and 4: embeddings of every block beside the token's own, and blocks that read the cache of an earlier one.

src/models/gemma4.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_context import MissingTensorError
from solver.engines.llamacpp.compute_graph import F32, I32
from solver.engines.llamacpp.compute_layers import attend, matrix, norm, store, turned
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_context import Context
    from solver.engines.llamacpp.compute_graph import Node
    from tensors.cache import CacheTerm

__all__ = ["attention", "layer_embeddings", "with_layer_embedding"]


def attention(here: Context, block: int, source: Node) -> Node:
    """Return attention whose values are normalised too; without a cache of its own, over that of an earlier block."""
    graph, tokens = here.graph, here.tokens
    own = here.term(block, CacheKind.FULL, CacheKind.WINDOW)
    width = here.need(block, "attn_q_norm").extents[0]
    term = own or _shared(here, width)
    query = matrix(here, source, block, "attn_q")
    query = norm(here, graph.view(query, width, query.extents[0] // width, tokens), block, "attn_q_norm")
    query = graph.like("rope", query, here.positions())
    label = term.kind.value
    key = value = None
    if own is not None:
        keys = matrix(here, source, block, "attn_k")
        values = matrix(here, source, block, "attn_v") if here.of(block, "attn_v") is not None else keys
        key, value = (graph.view(node, width, term.heads, tokens) for node in (keys, values))
        key = norm(here, key, block, "attn_k_norm")
        value = graph.like("rms_norm", value)
        key = graph.like("rope", key, here.positions())
        key = turned(here, key, label, "k", width)
        value = turned(here, value, label, "v", width)
    query = turned(here, query, label, "k", width)
    for node in (query, key, value):
        if node is not None:
            graph.run(node)
    cached_keys, cached_values = store(here, term.block, label, key, value, term)
    mask = here.mask(label, here.cells(term))
    result = attend(here, block, query, cached_keys, cached_values, mask)
    return matrix(here, turned(here, result, label, "v", width), block, "attn_output")


def _shared(here: Context, width: int) -> CacheTerm:
    """Return the last cache whose heads are as wide as those of a block without one."""
    terms = [term for items in here.terms.values() for term in items if term.key_values == width * term.heads]
    if not terms:
        raise MissingTensorError("attn_k")
    return max(terms, key=lambda term: term.block)


def layer_embeddings(here: Context, embedded: Node) -> Node | None:
    """Return the embeddings of every block, [width, tokens, blocks], None where the model has none."""
    graph, tokens = here.graph, here.tokens
    table, project = here.weight("per_layer_token_embd.weight", -1), here.weight("per_layer_model_proj.weight", 0)
    scale = here.weight("per_layer_proj_norm.weight", 0)
    if table is None or project is None or scale is None:
        return None
    width = scale.extents[0]
    blocks = table.extents[0] // width
    rows = graph.make("get_rows", (table, here.filled("layer tokens", I32, tokens)), table.extents[0], tokens)
    rows = graph.like("scale", graph.view(rows, width, blocks, tokens))
    graph.run(rows)
    projected = graph.like("scale", graph.product(project, embedded))
    projected = graph.like("mul", graph.like("rms_norm", graph.view(projected, width, blocks, tokens)), scale)
    both = graph.like("scale", graph.like("add", projected, rows))
    return graph.dense(graph.permute(both, 0, 2, 1, 3))


def with_layer_embedding(here: Context, block: int, residual: Node, embeddings: Node) -> Node:
    """Return the residual after a block's own embedding has been let through a gate and added."""
    graph, tokens = here.graph, here.tokens
    width = embeddings.extents[0]
    gate = graph.like("unary", graph.product(here.need(block, "inp_gate"), residual))
    own = graph.view(embeddings, width, tokens, strides=(width * F32,))
    added = graph.product(here.need(block, "proj"), graph.like("mul", gate, own))
    return graph.like("add", residual, norm(here, added, block, "post_norm"))
