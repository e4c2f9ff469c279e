"""Several residual streams, mixed into one before a part of a block and spread again behind it (hyper-connections)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_context import Context
    from solver.engines.llamacpp.compute_graph import Node

__all__ = ["Mix", "head_mixed", "mixed", "spread"]


class Mix(NamedTuple):
    """What a part reads [hidden, tokens], and how its result goes back: weights `after` it and `between` streams."""

    result: Node
    after: Node
    between: Node


def mixed(here: Context, block: int, stem: str, streams: Node) -> Mix:
    """Return the mix of streams [hidden, streams, tokens] that a part of a block reads."""
    graph = here.graph
    width, count, tokens = streams.extents[:3]
    flat = graph.like("rms_norm", graph.view(streams, width * count, tokens))
    mixes = graph.product(here.need(block, f"{stem}_fn"), flat)
    scale, base = here.need(block, f"{stem}_scale"), here.need(block, f"{stem}_base")
    weights = []
    for _ in range(2):
        current = graph.view(mixes, count, tokens, strides=(mixes.strides[1],))
        current = graph.like("add", graph.like("mul", current, graph.view(scale, 1)), graph.view(base, count))
        weights.append(graph.like("scale", graph.like("unary", current)))
    before, after = weights
    between = graph.make("mix_weights", (mixes, scale, base), count, count, tokens)
    result = graph.make("mix", (streams, before), width, tokens)
    return Mix(result, after, between)


def spread(here: Context, current: Node, streams: Node, mix: Mix) -> Node:
    """Return the streams behind a part."""
    return here.graph.make("spread", (current, streams, mix.after, mix.between), *streams.extents[:3])


def head_mixed(here: Context, streams: Node) -> Node:
    """Return the mix that the head reads, stream by stream."""
    graph = here.graph
    slot = len(here.assignment.slots) - 1
    width, count, rows = streams.extents[:3]
    flat = graph.like("rms_norm", graph.view(streams, width * count, rows))
    weights = graph.product(here.whole("output_hc_fn.weight", slot), flat)
    weights = graph.like("mul", weights, here.whole("output_hc_scale.weight", slot))
    weights = graph.like("add", weights, here.whole("output_hc_base.weight", slot))
    weights = graph.like("scale", graph.like("unary", weights))
    result: Node | None = None
    for _ in range(count):
        stream = graph.view(streams, width, rows, strides=(streams.strides[2],))
        weight = graph.view(weights, 1, rows, strides=(weights.strides[1],))
        current = graph.like("mul", stream, weight)
        result = current if result is None else graph.like("add", result, current)
    return streams if result is None else result
