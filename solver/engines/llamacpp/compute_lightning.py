"""Lightning attention: a state that decays, and a square of decays within the micro-batch (src/models/minimax-01.cpp).

The square grows with the tokens of one sequence, so the engine reserves for one sequence, however many there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_context import MissingTensorError
from solver.engines.llamacpp.compute_graph import F32
from solver.engines.llamacpp.compute_layers import norm
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_context import Context
    from solver.engines.llamacpp.compute_graph import Node

__all__ = ["is_lightning", "lightning"]


def is_lightning(here: Context, block: int) -> bool:
    """Return whether a block mixes tokens by a decaying state and a gate behind a second norm."""
    stems = ("attn_norm_2", "attn_qkv", "attn_gate")
    return here.term(block, CacheKind.RECURRENT) is not None and all(here.of(block, stem) is not None for stem in stems)


def lightning(here: Context, block: int, source: Node) -> Node:
    """Return lightning attention of a normalised source [hidden, tokens].

    Raises:
        MissingTensorError: the header does not say how many heads share the width of a block.
    """
    graph, tokens = here.graph, here.tokens
    inner = here.need(block, "attn_norm_2").extents[0]
    heads = here.inventory.architecture.heads
    if not heads or inner % heads:
        raise MissingTensorError(f"blk.{block}: {heads} heads of {inner} values")
    head = inner // heads
    slopes = here.filled("slopes", F32, heads)
    _state(here, block, "r", 0)
    packed = graph.like("unary", graph.product(here.need(block, "attn_qkv"), source))
    packed = graph.view(packed, 3 * head, heads, tokens)
    query, key, value = (graph.view(packed, head, heads, tokens, strides=packed.strides[1:3]) for _ in range(3))
    old = graph.view(_state(here, block, "s", head * inner), head, head, heads)
    of_query, of_key = (
        graph.like("unary", graph.like("scale", here.filled(name, F32, 1, heads, tokens)))
        for name in ("decay of queries", "decay of keys")
    )
    square = here.filled("decay of the square", F32, tokens, tokens, heads)
    square = graph.like("unary", graph.like("scale", square))
    past = graph.product(old, graph.permute(graph.like("mul", query, of_query), 0, 2, 1, 3))
    scores = graph.product(graph.permute(key, 0, 2, 1, 3), graph.permute(query, 0, 2, 1, 3))
    scores = graph.like("mul", scores, square)
    turned = _turned(here, value)
    result = graph.like("add", past, graph.product(turned, scores))
    graph.run(result)
    decay = graph.like("unary", graph.like("scale", graph.like("scale", slopes)))
    kept = graph.like("mul", old, graph.view(decay, 1, 1, heads))
    added = graph.product(_turned(here, graph.like("mul", key, of_key)), turned)
    states = here.state(block, "s", head * inner)
    graph.run(graph.into("cpy", graph.view(states, head * inner), graph.like("add", kept, added)))
    result = graph.view(graph.dense(graph.permute(result, 0, 2, 1, 3)), inner, tokens)
    result = norm(here, result, block, "attn_norm_2")
    gate = graph.like("unary", graph.product(here.need(block, "attn_gate"), source))
    return graph.product(here.need(block, "attn_output"), graph.like("mul", gate, result))


def _turned(here: Context, source: Node) -> Node:
    """Return a dense copy [tokens, head, heads] of [head, heads, tokens]."""
    return here.graph.dense(here.graph.permute(source, 1, 2, 0, 3))


def _state(here: Context, block: int, name: str, width: int) -> Node:
    """Return the state of one sequence; those of the others are gathered and put back."""
    graph, others = here.graph, here.sequences - 1
    cache = here.state(block, name, width)
    graph.run(graph.into("scale", graph.view(graph.view(cache, width, here.sequences), width)))
    result = graph.make("get_rows", (cache, here.state_ids(1)), width, 1)
    graph.run(result)
    ids = here.state_ids(others)
    extra = graph.make("get_rows", (cache, ids), width, others)
    graph.run(graph.into("cpy", graph.view(cache, width, others), extra))
    return result
