"""The parts that most blocks share: norms, products, caches and attention over them (src/llama-graph.cpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_context import Context, row_bytes
from solver.engines.llamacpp.compute_families import CENTRED
from solver.engines.llamacpp.compute_graph import F16, F32, HOST_PLACE, I64, Node, contiguous
from solver.engines.llamacpp.facts import HOST

if TYPE_CHECKING:
    from tensors.cache import CacheTerm

__all__ = ["attend", "matrix", "norm", "pinned", "store", "turned"]

_SMALL_BATCH_TOKENS = 32
"""Below it, norms are always pinned (src/llama-context.cpp, graph_get_cb)."""


def norm(here: Context, source: Node, block: int, *stems: str, place: bool = True) -> Node:
    """Return a normalised source, scaled and shifted where the model has tensors for it."""
    graph = here.graph
    weight = bias = None
    for stem in stems:
        weight = here.of(block, stem)
        bias = here.of(block, stem, "bias")
        if weight is not None:
            break
    result = graph.like("norm" if bias is not None or here.family in CENTRED else "rms_norm", source)
    if weight is not None:
        result = graph.like("mul", pinned(here, result, block) if place else result, weight)
    if bias is not None:
        result = graph.like("add", result, bias)
    return result


def pinned(here: Context, node: Node, block: int) -> Node:
    """Return a norm, held on its block's device where no slot is on the host, and in small batches."""
    if here.pinned and (here.tokens < _SMALL_BATCH_TOKENS or HOST not in here.assignment.slots):
        node.wanted = here.device(block)
    return node


def matrix(here: Context, source: Node, block: int, stem: str) -> Node:
    """Return a matrix product with its bias and scale where there are any."""
    graph = here.graph
    result = graph.product(here.need(block, stem), source)
    scale = here.of(block, stem, "scale")
    if scale is not None:
        result = graph.like("mul", result, scale)
    bias = here.of(block, stem, "bias")
    if bias is not None:
        result = graph.like("add", result, bias)
    return result


def turned(here: Context, node: Node, label: str, side: str, width: int) -> Node:
    """Return keys, queries or values turned by a Hadamard matrix, as they are before they are quantised.

    Only where the type of the cache is quantised and the head is a multiple of 64 wide; keys use the largest matrix
    that divides the head, values one of 64 (src/llama-kv-cache.cpp: attn_rot_k, attn_rot_v).
    """
    graph = here.graph
    kind = here.settings.type_k if side == "k" else here.settings.type_v
    if kind.block_values == 1 or width % 64:
        return node
    order = 64
    while side == "k" and width % (2 * order) == 0:
        order *= 2
    matrix_ = here.filled(f"turn {side} {label}", F32, order, order)
    values = node.extents[0] * node.extents[1] * node.extents[2] * node.extents[3]
    is_dense = node.strides == contiguous(node.extents, node.value)
    flat = graph.view(node, order, values // order) if is_dense else graph.dense(node, order, values // order)
    return graph.view(graph.product(matrix_, flat), *node.extents)


def store(
    here: Context, block: int, label: str, key: Node | None, value: Node | None, term: CacheTerm
) -> tuple[Node, Node]:
    """Write keys and values into the cache of a block and return views of all its cells, as attention reads them."""
    graph, settings = here.graph, here.settings
    cells, streams = here.cells(term), here.streams
    heads = term.heads
    place = here.cache_place(block)
    views: list[Node] = []
    written: list[Node] = []
    for kind, current, width, stored in (
        ("k", key, term.key_values, settings.type_k),
        ("v", value, term.value_values, settings.type_v),
    ):
        if not width:
            continue
        row = row_bytes(stored, width)
        cache = graph.cache(place, F16, width, cells, streams)
        cache.size = row * cells * streams
        transposed = kind == "v" and not here.flash
        if current is not None:
            # Without fused attention a value is stored by element, and so is its index.
            widest = max(item.value_values for items in here.terms.values() for item in items) if transposed else 1
            indices = here.filled(f"{kind} cells {label}", I64, here.tokens * widest)
            flat = _flat(here, current, width, dense=transposed)
            written.append(graph.into("set_rows", cache, flat, indices))
        head = width // heads
        if transposed:
            view = graph.view(
                cache, cells, heads, head, streams, strides=(cells * head * F16, cells * F16, cells * width * F16)
            )
        else:
            view = graph.view(cache, head, heads, cells, streams, strides=(row // heads, row, row * cells))
        view.size = cache.size
        views.append(view)
    for node in written:
        graph.run(node)
    return views[0], views[-1]


def _flat(here: Context, current: Node, width: int, *, dense: bool) -> Node:
    graph = here.graph
    strides = current.strides
    if dense and strides[2] != width * current.value:
        return graph.view(graph.dense(current, width, here.tokens), 1, width * here.tokens)
    if dense:
        return graph.view(graph.view(current, width, here.tokens), 1, width * here.tokens)
    return graph.view(current, width, here.tokens, strides=(strides[2],))


def attend(
    here: Context,
    block: int,
    query: Node,
    key: Node,
    value: Node,
    mask: Node,
    *,
    sinks: Node | None = None,
    up: Node | None = None,
    shared: bool = False,
) -> Node:
    """Return attention of queries [width, heads, tokens] over the cells of a cache, as [width · heads, tokens].

    `up` unpacks a latent; `shared`: values are the keys, or part of them, and lie like them.
    """
    graph, streams = here.graph, key.extents[3]
    each = query.extents[2] // streams
    query = graph.view(
        query,
        query.extents[0],
        query.extents[1],
        each,
        streams,
        strides=(query.strides[1], query.strides[2], query.strides[2] * each),
    )
    query, key = graph.permute(query, 0, 2, 1, 3), graph.permute(key, 0, 2, 1, 3)
    value = graph.permute(value, 0, 2, 1, 3)
    extra = () if sinks is None else (sinks,)
    if here.flash:
        result = graph.make(
            "flash_attention",
            (query, key, value, mask, *extra),
            value.extents[0],
            query.extents[2],
            query.extents[1],
            streams,
        )
        here.fused.append((result, block))
        if up is not None:
            result = graph.permute(result, 0, 2, 1, 3)
            result = graph.make("mul_mat", (up, result), up.extents[1], *result.extents[1:])
            result = graph.dense(graph.permute(result, 0, 2, 1, 3))
        result = graph.view(result, result.extents[0] * result.extents[1], result.extents[2] * result.extents[3])
    else:
        scores = graph.make("mul_mat", (key, query), key.extents[1], query.extents[1], query.extents[2], streams)
        scores = graph.like("soft_max", scores, mask, *extra)
        if up is not None or shared:
            value = graph.dense(_transposed(here, value))
        result = graph.make("mul_mat", (value, scores), value.extents[1], scores.extents[1], scores.extents[2], streams)
        if up is not None:
            result = graph.make("mul_mat", (up, result), up.extents[1], *result.extents[1:])
        result = graph.permute(result, 0, 2, 1, 3)
        result = graph.dense(result, result.extents[0] * result.extents[1], result.extents[2] * result.extents[3])
        if not here.settings.offloads_cache:
            result.wanted = HOST_PLACE
    graph.run(result)
    return result


def _transposed(here: Context, node: Node) -> Node:
    result = here.graph.permute(node, 1, 0, 2, 3)
    result.value = F32 if node.value == F32 else F16
    return result
