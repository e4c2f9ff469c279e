"""Attention whose cells are chosen by the block, for every group of heads (src/models/minimax-m3.cpp).

An index of few values a token scores blocks of positions; the best blocks of every group stay open in a mask of its
own, and all groups attend at once. It needs fused attention and a run of cells for every sequence: else the blocks
attend to everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_context import MissingTensorError
from solver.engines.llamacpp.compute_graph import F16, F32, I32, I64, Node
from solver.engines.llamacpp.compute_layers import matrix, norm, store, turned
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_context import Context
    from tensors.cache import CacheTerm

__all__ = ["is_selected", "selected"]

_RESERVED_POSITIONS = 256
"""src/llama-kv-cache-msa.cpp (get_n_pos): an empty cache has no more when graphs are reserved."""


def is_selected(here: Context, block: int) -> bool:
    """Return whether a block chooses the cells that it attends to."""
    alone = here.sequences == 1 or not here.settings.unified
    # A graph of one token a sequence gathers cells instead; where it runs does not depend on that.
    several = here.tokens > here.streams
    return here.flash and alone and several and here.of(block, "indexer.q_proj") is not None


def selected(here: Context, block: int, source: Node, term: CacheTerm) -> Node:
    """Return attention of a normalised source [hidden, tokens] over the chosen cells of a block.

    Raises:
        MissingTensorError: the header does not say how large a block of positions is.
    """
    graph, tokens = here.graph, here.tokens
    width, value_width = term.key_values // term.heads, term.value_values // term.heads
    query, key, value = (matrix(here, source, block, f"attn_{name}") for name in "qkv")
    query = graph.view(query, width, query.extents[0] // width, tokens)
    key, value = graph.view(key, width, term.heads, tokens), graph.view(value, value_width, term.heads, tokens)
    query = graph.like("rope", norm(here, query, block, "attn_q_norm"), here.positions())
    key = graph.like("rope", norm(here, key, block, "attn_k_norm"), here.positions())
    index, cache = _index(here, block, source)
    query, key = (turned(here, node, "full", "k", width) for node in (query, key))
    value = turned(here, value, "full", "v", value_width)
    for node in (query, key, value):
        graph.run(node)
    keys, values = store(here, block, "full", key, value, term)
    results = [
        _of_stream(here, (query, keys, values), _mask(here, block, index, cache, term)) for _ in range(here.streams)
    ]
    result = results[0]
    for other in results[1:]:
        result = graph.make("concat", (result, other), result.extents[0], result.extents[1] + other.extents[1])
    return matrix(here, turned(here, result, "full", "v", value_width), block, "attn_output")


def _index(here: Context, block: int, source: Node) -> tuple[Node, Node]:
    """Return the index queries [width, groups, tokens] and the cache of index keys, written."""
    graph, tokens = here.graph, here.tokens
    term = here.term(block, CacheKind.INDEXER)
    if term is None:
        raise MissingTensorError(f"blk.{block}: no index is kept")
    width = term.key_values
    query = graph.product(here.need(block, "indexer.q_proj"), source)
    key = graph.view(graph.product(here.need(block, "indexer.k_proj"), source), width, 1, tokens)
    query = norm(here, graph.view(query, width, query.extents[0] // width, tokens), block, "indexer.q_norm")
    query = graph.like("rope", query, here.positions())
    key = graph.like("rope", norm(here, key, block, "indexer.k_norm"), here.positions())
    cache = here.indexer_cache(block, width, here.cells(term))
    flat = graph.view(key, width, tokens, strides=(key.strides[2],))
    graph.run(graph.into("set_rows", cache, flat, here.filled("k cells indexer", I64, tokens)))
    return query, cache


def _mask(here: Context, block: int, index: Node, cache: Node, term: CacheTerm) -> Node:
    """Return the mask [cells, tokens, 1, groups] of one sequence that leaves the chosen cells open."""
    graph, streams = here.graph, here.streams
    each, cells = here.tokens // streams, here.cells(term)
    width, groups = index.extents[0], index.extents[1]
    size, best = here.inventory.architecture.index_block_tokens, here.inventory.architecture.index_topk
    if not size or not best:
        raise MissingTensorError(f"blk.{block}: no size of index blocks")
    positions = -(-_RESERVED_POSITIONS // size) * size
    count = positions // size
    bias = graph.view(here.filled("index bias", F32, count, here.tokens), count, 1, each)
    visible = graph.view(here.filled("index mask", F32, positions, here.tokens), positions, 1, each)
    cell_of = graph.view(here.filled("cell of position", I32, positions, streams), positions)
    block_of = graph.view(here.filled("block of cell", I32, cells, streams), cells)
    own = graph.view(cache, width, cells)
    own.size = cache.size // streams
    gathered = graph.make("get_rows", (own, cell_of), width, positions)
    scores = graph.make("mul_mat", (gathered, graph.view(index, width, groups * each)), positions, groups * each)
    scores = _added(graph.view(scores, positions, groups, each), visible)
    blocks = graph.like("add", graph.make("pool", (scores,), count, groups, each), bias)
    kept = min(best, count)
    chosen = graph.make("top_k", (blocks,), kept, groups, each, value=I32)
    closed = graph.make("cast", (graph.like("scale", bias),), count, 1, each, value=F16)
    closed = graph.make("repeat", (closed,), count, groups, each, value=F16)
    zeros = graph.like("scale", graph.make("cast", (chosen,), kept, groups, each))
    opened = graph.into(
        "set_rows",
        graph.view(closed, 1, count, groups * each),
        graph.view(zeros, 1, kept, groups * each),
        graph.view(chosen, kept, groups * each),
    )
    opened = graph.dense(graph.permute(graph.view(opened, count, groups, each), 0, 2, 1, 3))
    opened = graph.dense(graph.permute(graph.view(opened, count, each * groups), 1, 0, 2, 3))
    by_cell = graph.make("get_rows", (opened, block_of), each * groups, cells)
    by_cell = graph.dense(graph.permute(by_cell, 1, 0, 2, 3))
    return graph.make(
        "cast",
        (graph.view(_added(graph.view(by_cell, cells, each, groups), _causal(here, cells)), cells, each, 1, groups),),
        cells,
        each,
        1,
        groups,
        value=F16,
    )


def _causal(here: Context, cells: int) -> Node:
    """Return the mask of all cells in 32 bits, made once for all blocks."""
    key = ("mask in 32 bits", 0)
    if key not in here.weights:
        mask = here.mask("full", cells)
        here.weights[key] = here.graph.make("cast", (mask,), *mask.extents)
    return here.graph.view(here.weights[key], cells, here.tokens // here.streams, 1)


def _added(target: Node, other: Node) -> Node:
    """Return a sum in the place of its first part."""
    return Node("add", target.extents, target.strides, target.value, (target, other), target.root or target)


def _of_stream(here: Context, inputs: tuple[Node, Node, Node], mask: Node) -> Node:
    """Return what one sequence attends to, [width · heads, tokens]; all groups are one batch of heads."""
    graph = here.graph
    query, keys, values = inputs
    each, groups = here.tokens // here.streams, mask.extents[3]
    width, heads = query.extents[0], query.extents[1]
    grouped = graph.permute(graph.view(query, width, heads // groups, groups, each), 0, 2, 3, 1)
    views = []
    for cache in (keys, values):
        one = graph.view(cache, *cache.extents[:3], strides=cache.strides[1:])
        one.size = cache.size // here.streams
        views.append(graph.permute(one, 0, 3, 1, 2))
    result = graph.make("flash_attention", (grouped, *views, mask), values.extents[0], heads // groups, each, groups)
    result = graph.permute(result, 0, 1, 3, 2)
    if groups > 1:
        result = graph.dense(result)
    return graph.view(result, values.extents[0] * heads, each)
