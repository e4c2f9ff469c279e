"""Attention over a window and a compressed past, within several residual streams (src/models/deepseek4.cpp).

Compressors keep the last tokens of every sequence as a state and write one cell for every 4 (chosen by an indexer) or
128 tokens. The residual stream is several streams, mixed before and after every part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_context import MissingTensorError, row_bytes
from solver.engines.llamacpp.compute_forward import forward
from solver.engines.llamacpp.compute_graph import F16, F32, I32, I64, Node
from solver.engines.llamacpp.compute_layers import attend, norm, store, turned
from solver.engines.llamacpp.compute_streams import head_mixed, mixed, spread
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_context import Context
    from solver.engines.llamacpp.compute_families import Traits
    from tensors.cache import CacheTerm

__all__ = ["compressed"]

_CHOSEN_RATIO = 4
_CELL_MULTIPLE = 256


def compressed(here: Context, kind: Traits, rows: Node) -> Node:
    """Return the rows that have logits after all blocks, from the embeddings of a micro-batch.

    Raises:
        MissingTensorError: a block lacks a tensor or a cache of its kind.
    """
    graph, tokens = here.graph, here.tokens
    window = here.term(here.blocks[0], CacheKind.WINDOW)
    if window is None:
        raise MissingTensorError("no window")
    graph.run(here.mask("window", here.cells(window)))
    count = here.whole("output_hc_fn.weight", len(here.assignment.slots) - 1).extents[1]
    width = rows.extents[0]
    streams = graph.make("repeat", (graph.view(rows, width, 1, tokens),), width, count, tokens)
    for block in here.blocks:
        mix = mixed(here, block, "hc_attn", streams)
        current = _attention(here, block, norm(here, mix.result, block, "attn_norm"))
        streams = spread(here, current, streams, mix)
        mix = mixed(here, block, "hc_ffn", streams)
        for node in (streams, mix.after, mix.between):
            graph.run(node)
        current = forward(here, kind, block, norm(here, mix.result, block, "ffn_norm"))
        streams = spread(here, current, streams, mix)
    flat = graph.rows(graph.view(streams, width * count, tokens), here.output_rows())
    return head_mixed(here, graph.view(flat, width, count, flat.extents[1]))


def _attention(here: Context, block: int, source: Node) -> Node:
    graph, tokens = here.graph, here.tokens
    low = norm(here, graph.product(here.need(block, "attn_q_a"), source), block, "attn_q_a_norm")
    key = norm(here, graph.product(here.need(block, "attn_kv"), source), block, "attn_kv_a_norm", "attn_kv_norm")
    width = key.extents[0]
    query = graph.product(here.need(block, "attn_q_b"), low)
    heads = query.extents[0] // width
    query = graph.like("rms_norm", graph.view(query, width, heads, tokens))
    query = graph.like("rope", query, here.positions())
    key = graph.like("rope", graph.view(key, width, 1, tokens), here.positions())
    past = here.term(block, CacheKind.LATENT)
    chooses = past is not None and past.tokens_per_cell == _CHOSEN_RATIO
    if chooses and past is not None:
        _written(here, block, source, past, "attn_compressor", "csa")
        index = here.term(block, CacheKind.INDEXER)
        if index is None:
            raise MissingTensorError(f"blk.{block}: no index is kept")
        _written(here, block, source, index, "indexer_compressor", "indexer")
        chosen: Node | None = _chosen(here, block, low, source, index)
    elif past is not None:
        _written(here, block, source, past, "attn_compressor", "hca")
        chosen = None
    else:
        chosen = None
    result = _attended(here, block, query, key, past, chosen)
    result = graph.like("rope", graph.view(result, width, heads, tokens), here.positions())
    first = here.need(block, "attn_output_a")
    inner, rank, groups = first.extents[0], first.extents[1], first.extents[2]
    grouped = graph.permute(graph.view(result, inner, groups, tokens), 0, 2, 1, 3)
    grouped = graph.permute(graph.product(first, grouped), 0, 2, 1, 3)
    return graph.product(here.need(block, "attn_output_b"), graph.dense(grouped, rank * groups, tokens))


def _attended(here: Context, block: int, query: Node, key: Node, past: CacheTerm | None, chosen: Node | None) -> Node:
    """Return attention over the window of a block and its compressed past, as [width · heads, tokens]."""
    graph = here.graph
    window = here.term(block, CacheKind.WINDOW)
    if window is None:
        raise MissingTensorError(f"blk.{block}: no window")
    width = key.extents[0]
    query, key = (turned(here, node, "window", "k", width) for node in (query, key))
    graph.run(query)
    graph.run(key)
    keys, _ = store(here, block, "window", key, None, window)
    mask = here.mask("window", here.cells(window))
    if past is not None:
        cells = _cells(here, past)
        label = "csa" if chosen is not None else "hca"
        keys = _joined_keys(here, keys, _cache(here, block, past, label), cells)
        other = here.mask(label, cells)
        if chosen is not None:
            other = _opened(here, other, chosen)
        mask = graph.make("concat", (mask, other), mask.extents[0] + cells, *mask.extents[1:], value=mask.value)
    sinks = here.of(block, "attn_sinks")
    result = attend(here, block, query, keys, keys, mask, sinks=sinks, shared=True)
    return turned(here, result, "window", "k", width)


def _joined_keys(here: Context, keys: Node, cache: Node, cells: int) -> Node:
    """Return the cells of window and past in one run, of the type of the cache."""
    width, _, near, streams = keys.extents
    far = here.graph.view(cache, width, 1, cells, streams)
    far.size = cache.size
    joined = here.graph.make("concat", (keys, far), width, 1, near + cells, streams, value=F16)
    joined.size = row_bytes(here.settings.type_k, width) * (near + cells) * streams
    return joined


def _cells(here: Context, term: CacheTerm) -> int:
    cells = -(-here.settings.sequence_tokens // term.tokens_per_cell)
    return -(-cells // _CELL_MULTIPLE) * _CELL_MULTIPLE


def _cache(here: Context, block: int, term: CacheTerm, label: str) -> Node:
    key = (f"cache {label} {block}", block)
    if key not in here.weights:
        cells, width = _cells(here, term), term.key_values
        cache = here.graph.cache(here.cache_place(block), F16, width, cells, here.streams)
        cache.size = row_bytes(here.settings.type_k, width) * cells * here.streams
        here.weights[key] = cache
    return here.weights[key]


def _written(here: Context, block: int, source: Node, term: CacheTerm, stem: str, label: str) -> None:
    """Compress what stands in a state and in the micro-batch into cells, write them, and keep what is not full."""
    graph, tokens, ratio = here.graph, here.tokens, term.tokens_per_cell
    overlaps = ratio == _CHOSEN_RATIO
    depth = ratio * (2 if overlaps else 1)
    states = depth * here.sequences
    made = []
    for part in ("kv", "gate"):
        values = graph.product(here.need(block, f"{stem}_{part}"), source)
        if part == "gate":
            table = here.need(block, f"{stem}_ape")
            place = here.filled(f"{label} places", I32, tokens)
            values = graph.like("add", values, graph.make("get_rows", (table, place), table.extents[0], tokens))
        wide = values.extents[0]
        state = graph.view(_state(here, block, f"{label} {part}", wide, states), wide, states)
        made.append((values, state, graph.make("concat", (state, values), wide, states + tokens)))
    blocks = tokens // ratio + here.sequences
    reads = here.filled(f"{label} reads", I32, depth * blocks)
    width = term.key_values
    cells = [(_overlapping if overlaps else _plain)(here, whole, reads, width, ratio, blocks) for _, _, whole in made]
    weighted = graph.like("mul", cells[0], graph.like("soft_max", cells[1]))
    cell = graph.make("sum_rows", (weighted,), 1, width, blocks)
    cell = norm(here, graph.dense(graph.permute(cell, 1, 0, 2, 3)), block, f"{stem}_norm")
    cell = graph.like("rope", cell, here.filled(f"{label} positions", I32, blocks))
    cell = _turned(here, cell, label, width)
    cache = _cache(here, block, term, label)
    flat = graph.view(cell, width, blocks, strides=(cell.strides[2],))
    graph.run(graph.into("set_rows", cache, flat, here.filled(f"{label} cells", I64, blocks)))
    kept = min(tokens, states)
    for values, state, _ in made:
        rows = here.filled(f"{label} kept", I32, kept)
        taken = graph.make("get_rows", (values, rows), values.extents[0], kept)
        graph_target = here.filled(f"{label} kept at", I32, kept)
        graph.run(graph.into("set_rows", state, taken, graph_target))


def _state(here: Context, block: int, name: str, width: int, rows: int) -> Node:
    key = (f"state {block} {name}", block)
    if key not in here.weights:
        here.weights[key] = here.graph.cache(here.cache_place(block), F32, width, rows)
    return here.weights[key]


def _turned(here: Context, cell: Node, label: str, width: int) -> Node:
    """Return a cell turned before it is cached: always for the indexer, else where the cache is quantised."""
    if label == "indexer":
        return here.graph.product(_index_turn(here, width), cell)
    return turned(here, cell, label, "k", width)


def _index_turn(here: Context, width: int) -> Node:
    order = 64
    while width % (2 * order) == 0:
        order *= 2
    return here.filled("turn indexer", F32, order, order)


def _plain(here: Context, whole: Node, reads: Node, width: int, ratio: int, blocks: int) -> Node:
    graph = here.graph
    rows = graph.make("get_rows", (whole, reads), width, ratio * blocks)
    return graph.dense(graph.permute(graph.view(rows, width, ratio, blocks), 1, 0, 2, 3))


def _overlapping(here: Context, whole: Node, reads: Node, width: int, ratio: int, blocks: int) -> Node:
    """Return the tokens of every cell and of the one before it, [tokens, width, cells]."""
    graph = here.graph
    wide, count = whole.extents[:2]
    empty = graph.view(graph.like("scale", graph.view(whole, wide)), wide, 1)
    whole = graph.make("concat", (whole, empty), wide, count + 1)
    rows = graph.make("get_rows", (whole, reads), wide, 2 * ratio * blocks)
    halves = []
    for _ in range(2):
        half = graph.dense(graph.view(rows, width, ratio * blocks, strides=(rows.strides[1],)))
        halves.append(graph.view(half, width, ratio, blocks))
    both = graph.make("concat", tuple(halves), width, 2 * ratio, blocks)
    return graph.dense(graph.permute(both, 1, 0, 2, 3))


def _chosen(here: Context, block: int, low: Node, source: Node, term: CacheTerm) -> Node:
    """Return which cells of the past every token attends to."""
    graph, tokens, streams = here.graph, here.tokens, here.streams
    width, cells = term.key_values, _cells(here, term)
    query = graph.product(here.need(block, "indexer.attn_q_b"), low)
    heads = query.extents[0] // width
    query = graph.like("rope", graph.view(query, width, heads, tokens), here.positions())
    query = graph.product(_index_turn(here, width), query)
    scores = graph.like("scale", graph.product(here.need(block, "indexer.proj"), source))
    keys = graph.view(_cache(here, block, term, "indexer"), width, 1, cells, streams)
    query = graph.view(query, width, heads, tokens // streams, streams)
    scores = graph.view(scores, heads, tokens // streams, 1, streams)
    mask = here.mask("indexer", cells)
    scores = graph.make("indexer", (query, keys, scores, mask), cells, tokens // streams, 1, streams)
    kept = min(cells, here.inventory.architecture.index_topk or cells)
    return graph.dense(graph.make("top_k", (scores,), kept, tokens // streams, 1, streams, value=I32))


def _opened(here: Context, mask: Node, chosen: Node) -> Node:
    """Return a mask that leaves only the chosen cells open."""
    graph = here.graph
    cells, tokens, _, streams = mask.extents
    closed = graph.like("fill", mask)
    kept = chosen.extents[0]
    zeros = graph.constant(1, kept, tokens, streams)
    zeros.value, zeros.size = mask.value, kept * tokens * streams * mask.value
    zeros.strides = (mask.value, mask.value, kept * mask.value, kept * tokens * mask.value)
    zeros = graph.like("fill", zeros)
    opened = graph.into(
        "set_rows", graph.view(closed, 1, cells, tokens, streams), zeros, graph.view(chosen, kept, tokens, streams)
    )
    return graph.like("add", graph.view(opened, cells, tokens, 1, streams), mask)
