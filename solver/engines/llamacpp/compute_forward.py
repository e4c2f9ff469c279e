"""Feed-forward parts of a block: dense, routed to experts, or both (src/llama-graph.cpp: build_ffn, build_moe_ffn)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from solver.engines.llamacpp.compute_context import MissingTensorError
from solver.engines.llamacpp.compute_families import NORMED_ROUTERS, SOFTMAX_ROUTERS
from solver.engines.llamacpp.compute_graph import I32
from solver.engines.llamacpp.compute_layers import matrix, norm

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_context import Context
    from solver.engines.llamacpp.compute_families import Traits
    from solver.engines.llamacpp.compute_graph import Node

__all__ = ["forward", "has_forward"]

_MOST_EXPERTS: Final = 512
"""src/llama-hparams.h (LLAMA_MAX_EXPERTS): bounds what a hostile header can make us record."""

_BIASES: Final = (("exp_probs_b", "bias"), ("exp_probs_b", "weight"), ("ffn_exp_probs_b", "bias"))


def has_forward(here: Context, block: int) -> bool:
    """Return whether a block has a feed-forward part."""
    return any(here.of(block, stem) is not None for stem in ("ffn_up", "ffn_up_exps", "ffn_gate_up_exps"))


def forward(here: Context, kind: Traits, block: int, source: Node) -> Node:
    """Return what the feed-forward part of a block makes of a normalised source."""
    graph = here.graph
    if here.of(block, "ffn_gate_inp") is None:
        return _dense(here, source, block, activation=kind.activation)
    routed = _routed(here, kind, block, source)
    if here.of(block, "ffn_routed_up") is not None:
        routed = norm(here, routed, block, "ffn_routed_norm")
        routed = graph.product(here.need(block, "ffn_routed_up"), routed)
    if kind.both_forwards and here.of(block, "ffn_up") is not None:
        return graph.like("scale", graph.like("add", _dense(here, source, block), routed))
    if here.of(block, "ffn_up_shexp") is None:
        return routed
    shared = _dense(here, source, block, "_shexp", activation=kind.activation)
    gate = here.of(block, "ffn_gate_inp_shexp")
    if gate is not None:
        shared = graph.like("mul", shared, graph.like("unary", graph.product(gate, source)))
    return graph.like("add", routed, shared)


def _dense(here: Context, source: Node, block: int, suffix: str = "", *, activation: str = "plain") -> Node:
    """Return a dense part: up, perhaps a gate, an activation, down."""
    graph = here.graph
    up = matrix(here, source, block, f"ffn_up{suffix}") if here.of(block, f"ffn_up{suffix}") is not None else source
    if here.of(block, f"ffn_gate{suffix}") is not None:
        gate = matrix(here, source, block, f"ffn_gate{suffix}")
        middle = _bounded(here, gate, up) if activation == "bounded" else graph.like("glu", gate, up)
    elif activation == "split":
        middle = graph.make("glu", (up,), up.extents[0] // 2, *up.extents[1:])
    else:
        middle = graph.like("unary", up)
        if activation == "squared":
            middle = graph.like("sqr", middle)
    return matrix(here, middle, block, f"ffn_down{suffix}")


def _routed(here: Context, kind: Traits, block: int, source: Node) -> Node:
    """Return the sum of a token's routed experts."""
    graph, tokens = here.graph, source.extents[1]
    counts = here.inventory.architecture.experts
    used = 1 if counts is None else counts.used
    if not 0 < used <= min(_MOST_EXPERTS, here.need(block, "ffn_gate_inp").extents[1]):
        raise MissingTensorError(f"blk.{block}: {used} experts for a token")
    chosen, weights = _choice(here, block, source, used)
    down_to_latent = here.of(block, "ffn_routed_down")
    if down_to_latent is not None:
        source = graph.product(down_to_latent, source)
    current = graph.view(source, source.extents[0], 1, tokens)
    if kind.early_experts:
        repeated = graph.make("repeat", (current,), source.extents[0], used, tokens)
        current = graph.like("mul", repeated, weights)
    middle = _expert_middle(here, kind, current, block, chosen, used)
    down = _by_expert(here, middle, block, "ffn_down_exps", chosen, used)
    if not kind.early_experts:
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


def _choice(here: Context, block: int, source: Node, used: int) -> tuple[Node, Node]:
    """Return which experts a token uses, and with which weights."""
    graph, tokens = here.graph, source.extents[1]
    router = here.need(block, "ffn_gate_inp")
    count = router.extents[1]
    logits = graph.product(router, source)
    bias = here.of(block, "ffn_gate_inp", "bias")
    if bias is not None:
        logits = graph.like("add", logits, bias)
    chances = logits
    weighs_late = bias is not None and here.family == "gpt-oss"
    if not weighs_late:
        chances = graph.like("soft_max" if here.family in SOFTMAX_ROUTERS else "unary", logits)
    corrections = (here.of(block, *name) for name in _BIASES)
    correction = next((node for node in corrections if node is not None), None)
    selection = chances if correction is None else graph.like("add", chances, correction)
    if here.family == "llama4":
        selection = logits
    order = graph.make("argsort", (selection,), count, tokens, value=I32)
    chosen = graph.view(order, used, tokens, strides=(order.strides[1],))
    weights = graph.make("get_rows", (graph.view(chances, 1, count, tokens), chosen), 1, used, tokens)
    if weighs_late:
        weights = graph.view(graph.like("soft_max", graph.view(weights, used, tokens)), 1, used, tokens)
    elif here.family in NORMED_ROUTERS:
        flat = graph.view(weights, used, tokens)
        total = graph.like("clamp", graph.make("sum_rows", (flat,), 1, tokens))
        weights = graph.view(graph.like("div", flat, total), 1, used, tokens)
    graph.run(weights)
    return chosen, weights


def _by_expert(here: Context, source: Node, block: int, stem: str, chosen: Node, used: int) -> Node:
    graph = here.graph
    weight = here.need(block, stem)
    result = graph.make("mul_mat_id", (weight, source, chosen), weight.extents[1], used, source.extents[2])
    bias = here.of(block, stem, "bias")
    return result if bias is None else graph.like("add_id", result, bias, chosen)


def _bounded(here: Context, gate: Node, up: Node) -> Node:
    """Return a gated activation whose both sides are bounded (situ): beta · tanh(gate / beta) · sigmoid(gate) · up."""
    graph = here.graph
    left = graph.like("scale", graph.like("unary", graph.like("scale", gate)))
    left = graph.like("mul", left, graph.like("unary", gate))
    return graph.like("mul", left, graph.like("scale", graph.like("unary", graph.like("scale", up))))


def _expert_middle(here: Context, kind: Traits, source: Node, block: int, chosen: Node, used: int) -> Node:
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
    return _bounded(here, gate, up) if kind.activation == "bounded" else graph.like("glu", gate, up)
