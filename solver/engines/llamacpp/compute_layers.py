"""The parts that most blocks share: norms, attention over a cache, feed-forward, routed experts (src/llama-graph.cpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_context import Context, row_bytes
from solver.engines.llamacpp.compute_graph import F16, F32, HOST_PLACE, I32, I64, Node, contiguous

if TYPE_CHECKING:
    from tensors.cache import CacheTerm

__all__ = ["CENTRED", "attend", "experts", "feed_forward", "matrix", "norm", "store", "turned"]


CENTRED = frozenset({"cohere2", "cohere2moe", "command-r", "dbrx", "mpt", "olmo", "orion"})
"""Families whose norms subtract the mean although they have no shift."""


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
    if weight is not None and place and _is_all_on_devices(here):
        result.wanted = here.device(block)
    if weight is not None:
        result = graph.like("mul", result, weight)
    if bias is not None:
        result = graph.like("add", result, bias)
    return result


def _is_all_on_devices(here: Context) -> bool:
    """Norms are pinned to their block's device only where every slot is on one, or for tiny batches."""
    if not here.pinned:
        return False
    return here.tokens < 32 or all(slot >= 0 for slot in here.assignment.slots)


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

    Only where the type of the cache is quantised and the head is a multiple of 64 wide; keys use the largest matrix that
    divides the head, values one of 64 (src/llama-kv-cache.cpp: attn_rot_k, attn_rot_v).
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
    softcap: int = 0,
) -> Node:
    """Return attention of queries [width, heads, tokens] over the cells of a cache, as [width · heads, tokens]."""
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
        for _ in range(softcap):
            scores = graph.like("scale", scores)
        scores = graph.like("soft_max", scores, mask, *extra)
        if up is not None:
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


def feed_forward(here: Context, source: Node, block: int, suffix: str = "", *, activation: str = "glu") -> Node:
    """Return a dense feed-forward part: up, perhaps a gate, an activation, down."""
    graph = here.graph
    up = matrix(here, source, block, f"ffn_up{suffix}") if here.of(block, f"ffn_up{suffix}") is not None else source
    if here.of(block, f"ffn_gate{suffix}") is not None:
        gate = matrix(here, source, block, f"ffn_gate{suffix}")
        middle = graph.like("glu", gate, up)
    elif activation == "split":
        middle = graph.make("glu", (up,), up.extents[0] // 2, *up.extents[1:])
    else:
        middle = graph.like("unary", up)
        if activation == "squared":
            middle = graph.like("sqr", middle)
    return matrix(here, middle, block, f"ffn_down{suffix}")


def experts(
    here: Context, source: Node, block: int, *, used: int, early: bool = False, routed_by: Node | None = None
) -> Node:
    """Return the sum of a token's routed experts; `early` weighs before them rather than after (llama4)."""
    graph, tokens = here.graph, source.extents[1]
    router = here.need(block, "ffn_gate_inp")
    count = router.extents[1]
    logits = graph.product(router, routed_by or source)
    bias = here.of(block, "ffn_gate_inp", "bias")
    if bias is not None:
        logits = graph.like("add", logits, bias)
    late_softmax = bias is not None and here.family == "gpt-oss"
    chances = logits if late_softmax else graph.like("soft_max" if here.family in _SOFTMAX else "unary", logits)
    selection = chances
    for name in (("exp_probs_b", "bias"), ("exp_probs_b", "weight"), ("ffn_exp_probs_b", "bias")):
        correction = here.of(block, *name)
        if correction is not None:
            selection = graph.like("add", chances, correction)
            break
    if here.family == "llama4":
        selection = logits
    order = graph.make("argsort", (selection,), count, tokens, value=I32)
    chosen = graph.view(order, used, tokens, strides=(order.strides[1],))
    weights = graph.make("get_rows", (graph.view(chances, 1, count, tokens), chosen), 1, used, tokens)
    if late_softmax:
        weights = graph.view(graph.like("soft_max", graph.view(weights, used, tokens)), 1, used, tokens)
    elif here.family in _NORMED:
        flat = graph.view(weights, used, tokens)
        total = graph.like("clamp", graph.make("sum_rows", (flat,), 1, tokens))
        weights = graph.view(graph.like("div", flat, total), 1, used, tokens)
    graph.run(weights)
    current = graph.view(source, source.extents[0], 1, tokens)
    if early:
        current = graph.like("mul", graph.make("repeat", (current,), source.extents[0], used, tokens), weights)
    middle = _expert_middle(here, current, block, chosen, used)
    down = _by_expert(here, middle, block, "ffn_down_exps", chosen, used)
    if not early:
        down = graph.like("mul", down, weights)
    graph.run(down)
    views = []
    for _ in range(used):
        views.append(graph.view(down, down.extents[0], tokens, strides=(down.strides[2],)))
        graph.run(views[-1])
    result = views[0]
    for view in views[1:]:
        result = graph.like("add", result, view)
        graph.run(result)
    return result if used > 1 else graph.dense(result)


def _by_expert(here: Context, source: Node, block: int, stem: str, chosen: Node, used: int) -> Node:
    graph = here.graph
    weight = here.need(block, stem)
    result = graph.make("mul_mat_id", (weight, source, chosen), weight.extents[1], used, source.extents[2])
    bias = here.of(block, stem, "bias")
    return result if bias is None else graph.like("add_id", result, bias, chosen)


def _expert_middle(here: Context, source: Node, block: int, chosen: Node, used: int) -> Node:
    graph = here.graph
    if here.of(block, "ffn_gate_up_exps") is not None:
        both = _by_expert(here, source, block, "ffn_gate_up_exps", chosen, used)
        half = both.extents[0] // 2
        gate, up = (graph.view(both, half, used, source.extents[2], strides=both.strides[1:3]) for _ in range(2))
        return graph.make("glu", (gate, up), half, used, source.extents[2])
    up = _by_expert(here, source, block, "ffn_up_exps", chosen, used)
    if here.of(block, "ffn_gate_exps") is None:
        result = graph.like("unary", up)
        return graph.like("sqr", result) if here.family.startswith("nemotron") else result
    gate = _by_expert(here, source, block, "ffn_gate_exps", chosen, used)
    return graph.like("glu", gate, up)


_SOFTMAX = frozenset(
    {
        "llama",
        "qwen2moe",
        "qwen3moe",
        "qwen35moe",
        "qwen3next",
        "jamba",
        "granitehybrid",
        "granitemoe",
        "dbrx",
        "grok",
        "hunyuan-moe",
        "olmoe",
        "phimoe",
        "maple",
        "mistral4",
        "arctic",
        "deepseek",
        "mistral3",
    }
)
_NORMED = frozenset(
    {
        "llama",
        "qwen3moe",
        "qwen35moe",
        "qwen3next",
        "granitehybrid",
        "granitemoe",
        "dbrx",
        "grok",
        "hunyuan-moe",
        "glm4moe",
        "deepseek2",
        "glm-dsa",
        "deepseek32",
        "minimax-m2",
        "minimax-m3",
        "bailingmoe2",
        "afmoe",
        "lfm2moe",
        "kimi-linear",
        "kimi-k3",
        "mistral4",
        "mistral3",
        "nemotron_h_moe",
        "maple",
        "glm5-next",
        "qwen4exp",
    }
)
