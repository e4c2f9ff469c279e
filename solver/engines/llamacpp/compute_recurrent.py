"""Mixers that keep a state a sequence: Mamba, Mamba 2, gated delta nets, short convolutions (src/models/*-base.cpp).

A state is read as rows of the whole cache of states, changed, and copied back; the copies are recorded at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_context import MissingTensorError
from solver.engines.llamacpp.compute_graph import F32
from solver.engines.llamacpp.compute_layers import matrix, norm
from solver.engines.llamacpp.compute_lightning import is_lightning, lightning
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_context import Context
    from solver.engines.llamacpp.compute_graph import Node

__all__ = ["recurrent"]


def recurrent(here: Context, block: int, source: Node) -> Node:
    """Return what the recurrent mixer of a block makes of a normalised source [hidden, tokens].

    Raises:
        MissingTensorError: the block has none that is known here.
    """
    if is_lightning(here, block):
        return lightning(here, block, source)
    if here.of(block, "shortconv.conv") is not None:
        return _short_convolution(here, block, source)
    if here.of(block, "ssm_conv1d_q") is not None:
        return _kimi_delta(here, block, source)
    if here.of(block, "ssm_alpha") is not None or here.of(block, "ssm_ba") is not None:
        return _delta_net(here, block, source)
    if here.of(block, "ssm_x") is not None:
        return _mamba(here, block, source)
    return _mamba2(here, block, source)


def _state_values(here: Context, block: int) -> int:
    term = here.term(block, CacheKind.RECURRENT)
    if term is None:
        raise MissingTensorError(f"blk.{block}: no state")
    return term.state_values


def _states(here: Context, block: int, name: str, width: int, reader: Node | None = None) -> Node:
    """Return the states of the sequences, [width, sequences]; with a reader of its own, that reader's result.

    States beyond those of the sequences in the batch are gathered apart; there are none when a batch is reserved for.
    """
    graph, sequences = here.graph, here.sequences
    cache = here.state(block, name, width)
    states = graph.view(cache, width, sequences)
    graph.run(graph.into("scale", graph.view(states, width)))
    result = reader or graph.make("get_rows", (states, here.state_ids(sequences)), width, sequences)
    graph.run(result)
    extra = graph.make("get_rows", (states, here.state_ids(0)), width, 0)
    graph.run(graph.into("cpy", graph.view(cache, width, 0), extra))
    return result


def _keep(here: Context, block: int, name: str, width: int, value: Node) -> None:
    cache = here.state(block, name, width)
    here.graph.run(here.graph.into("cpy", here.graph.view(cache, width, here.sequences), value))


def _convolved(here: Context, block: int, mixed: Node, reach: int, channels: int) -> Node:
    """Return the causal convolution's input: the last values of each sequence, then the new ones of `mixed`."""
    graph, sequences, each = here.graph, here.sequences, here.sequence_tokens
    state = _states(here, block, "r", reach * channels)
    state = graph.view(state, reach, channels, sequences)
    joined = graph.make("concat", (state, graph.permute(mixed, 1, 0, 2, 3)), reach + each, channels, sequences)
    last = graph.view(joined, reach, channels, sequences, strides=joined.strides[1:3])
    _keep(here, block, "r", reach * channels, last)
    return joined


def _mamba(here: Context, block: int, source: Node) -> Node:
    graph, sequences, each = here.graph, here.sequences, here.sequence_tokens
    kernel = here.need(block, "ssm_conv1d")
    reach, inner = kernel.extents[0] - 1, kernel.extents[1]
    state_values = _state_values(here, block) - reach * inner
    width = state_values // inner
    small = here.need(block, "ssm_dt").extents[0]
    conv = _states(here, block, "r", reach * inner)
    conv = graph.view(conv, reach, inner, sequences)
    both = graph.product(here.need(block, "ssm_in"), graph.view(source, here.hidden, each, sequences))
    x, z = (graph.view(both, inner, each, sequences, strides=both.strides[1:3]) for _ in range(2))
    joined = graph.make("concat", (conv, graph.permute(x, 1, 0, 2, 3)), reach + each, inner, sequences)
    _keep(here, block, "r", reach * inner, graph.view(joined, reach, inner, sequences, strides=joined.strides[1:3]))
    x = graph.make("ssm_conv", (joined, kernel), inner, each, sequences)
    bias = here.of(block, "ssm_conv1d", "bias")
    x = graph.like("unary", graph.like("add", x, bias) if bias is not None else x)
    packed = graph.product(here.need(block, "ssm_x"), x)
    step = graph.view(packed, small, each, sequences, strides=packed.strides[1:3])
    b, c = (
        graph.view(packed, width, 1, each, sequences, strides=(width * F32, *packed.strides[1:3])) for _ in range(2)
    )
    if here.of(block, "ssm_dt_norm") is not None:
        step = norm(here, step, block, "ssm_dt_norm")
        b, c = norm(here, b, block, "ssm_b_norm"), norm(here, c, block, "ssm_c_norm")
    else:
        step = graph.dense(step)
    step = matrix(here, step, block, "ssm_dt")
    current = x
    heads = graph.view(x, 1, inner, each, sequences)
    result = _scan(here, block, heads, step, b, c, state_values, (width, 1, inner))
    y = graph.view(result, inner, each, sequences, strides=heads.strides[2:4])
    y = graph.like("add", y, graph.like("mul", current, here.need_bare(block, "ssm_d")))
    y = graph.like("glu", graph.dense(z), y)
    result = graph.product(here.need(block, "ssm_out"), y)
    return graph.view(result, result.extents[0], here.tokens)


def _scan(
    here: Context, block: int, x: Node, step: Node, b: Node, c: Node, values: int, shape: tuple[int, int, int]
) -> Node:
    """Return a selective scan: its results and, behind them, the new states, which are copied back."""
    graph, sequences = here.graph, here.sequences
    cache = here.state(block, "s", values)
    states = graph.view(graph.view(cache, values, sequences), *shape, sequences)
    count = x.extents[0] * x.extents[1] * x.extents[2] * x.extents[3]
    sources = (states, x, step, here.need_bare(block, "ssm_a"), b, c, here.state_ids(sequences))
    result = graph.make("ssm_scan", sources, count + values * sequences)
    result = _states(here, block, "s", values, reader=result)
    _keep(here, block, "s", values, graph.view(result, values * sequences))
    return result


def _mamba2(here: Context, block: int, source: Node) -> Node:
    graph, sequences, each = here.graph, here.sequences, here.sequence_tokens
    kernel = here.need(block, "ssm_conv1d")
    reach, channels = kernel.extents[0] - 1, kernel.extents[1]
    inner = here.need(block, "ssm_out").extents[0]
    state_values = _state_values(here, block) - reach * channels
    width = state_values // inner
    groups = (channels - inner) // (2 * width)
    conv = _states(here, block, "r", reach * channels)
    conv = graph.view(conv, reach, channels, sequences)
    mixed = graph.product(here.need(block, "ssm_in"), source)
    heads = mixed.extents[0] - inner - channels
    head = inner // heads
    mixed = graph.view(mixed, mixed.extents[0], each, sequences)
    rows = mixed.strides[1:3]
    z = graph.view(mixed, head, heads, each, sequences, strides=(head * F32, *rows))
    packed = graph.view(mixed, channels, each, sequences, strides=rows)
    step = graph.view(mixed, heads, each, sequences, strides=rows)
    joined = graph.make("concat", (conv, graph.permute(packed, 1, 0, 2, 3)), reach + each, channels, sequences)
    _keep(
        here, block, "r", reach * channels, graph.view(joined, reach, channels, sequences, strides=joined.strides[1:3])
    )
    packed = graph.make("ssm_conv", (joined, kernel), channels, each, sequences)
    bias = here.of(block, "ssm_conv1d", "bias")
    packed = graph.like("unary", graph.like("add", packed, bias) if bias is not None else packed)
    rows = packed.strides[1:3]
    x = graph.view(packed, head, heads, each, sequences, strides=(head * F32, *rows))
    b, c = (graph.view(packed, width, groups, each, sequences, strides=(width * F32, *rows)) for _ in range(2))
    step = graph.like("add", graph.dense(step), here.need_bare(block, "ssm_dt.bias"))
    result = _scan(here, block, x, step, b, c, state_values, (width, head, heads))
    y = graph.view(result, head, heads, each, sequences)
    y = graph.like("add", y, graph.like("mul", x, here.need_bare(block, "ssm_d")))
    y = graph.like("glu", graph.dense(z), y)
    if here.of(block, "ssm_norm") is not None:
        y = norm(here, graph.view(y, inner // groups, groups, each, sequences), block, "ssm_norm")
    return graph.product(here.need(block, "ssm_out"), graph.view(y, inner, here.tokens))


def _delta_net(here: Context, block: int, source: Node) -> Node:
    graph, sequences, each = here.graph, here.sequences, here.sequence_tokens
    kernel = here.need(block, "ssm_conv1d")
    reach, channels = kernel.extents[0] - 1, kernel.extents[1]
    head = here.need(block, "ssm_norm").extents[0]
    inner = here.need(block, "ssm_out").extents[0]
    heads, key_heads = inner // head, (channels - inner) // (2 * head)
    mixed = graph.product(here.need(block, "attn_qkv"), source)
    mixed = graph.view(mixed, channels, each, sequences)
    z = graph.product(here.need(block, "attn_gate"), source)
    beta = graph.product(here.need(block, "ssm_beta", "ssm_ba"), source)
    beta = graph.like("unary", graph.view(beta, 1, heads, each, sequences))
    alpha = graph.view(graph.product(here.need(block, "ssm_alpha", "ssm_ba"), source), heads, each, sequences)
    alpha = graph.like("unary", graph.like("add", alpha, here.need_bare(block, "ssm_dt.bias", "ssm_dt")))
    gate = graph.view(graph.like("mul", alpha, here.need_bare(block, "ssm_a")), 1, heads, each, sequences)
    joined = _convolved(here, block, mixed, reach, channels)
    state = graph.view(_states(here, block, "s", head * inner), head, head, heads, sequences)
    packed = graph.like("unary", graph.make("ssm_conv", (joined, kernel), channels, each, sequences))
    row = packed.strides[1]
    shape = (head * F32, row, row * each)
    query, key = (graph.view(packed, head, key_heads, each, sequences, strides=shape) for _ in range(2))
    value = graph.view(packed, head, heads, each, sequences, strides=shape)
    query, key = (graph.like("scale", graph.like("rms_norm", node)) for node in (query, key))
    output = _delta(here, block, query, key, value, gate, beta, state)
    normed = norm(here, output, block, "ssm_norm")
    gated = graph.like("mul", normed, graph.like("unary", graph.view(z, head, heads, each, sequences)))
    result = graph.product(here.need(block, "ssm_out"), graph.view(gated, inner, each, sequences))
    return graph.view(result, here.hidden, here.tokens)


def _delta(
    here: Context,
    block: int,
    query: Node,
    key: Node,
    value: Node,
    gate: Node,
    beta: Node,
    state: Node,
    *,
    late: bool = False,
) -> Node:
    """Return the results of a fused delta rule, [head, heads, tokens, sequences], with its new state copied back."""
    graph, sequences, each = here.graph, here.sequences, here.sequence_tokens
    head, heads = value.extents[0], value.extents[1]
    rows = here.tokens + head * sequences
    result = graph.make("delta_net", (query, key, value, gate, beta, state), head * heads, rows)
    output = graph.view(result, head, heads, each, sequences)
    if late:
        output = graph.dense(output)
    _keep(here, block, "s", head * head * heads, graph.view(result, head, head, heads, sequences))
    return output


def _short_convolution(here: Context, block: int, source: Node) -> Node:
    graph, sequences, each = here.graph, here.sequences, here.sequence_tokens
    kernel = here.need(block, "shortconv.conv")
    reach, width = kernel.extents[0] - 1, kernel.extents[1]
    packed = graph.product(here.need(block, "shortconv.in_proj"), graph.view(source, here.hidden, each, sequences))
    b, c, x = (graph.view(packed, width, each, sequences, strides=packed.strides[1:3]) for _ in range(3))
    mixed = graph.like("mul", b, x)
    joined = _convolved(here, block, mixed, reach, width)
    result = graph.make("ssm_conv", (joined, kernel), width, each, sequences)
    result = graph.product(here.need(block, "shortconv.out_proj"), graph.like("mul", c, result))
    return graph.view(result, result.extents[0], here.tokens)


def _kimi_delta(here: Context, block: int, source: Node) -> Node:
    graph, sequences, each = here.graph, here.sequences, here.sequence_tokens
    kernels = [here.need(block, f"ssm_conv1d_{part}") for part in "qkv"]
    taps = kernels[0].extents[0]
    inner = here.need(block, "attn_output").extents[0]
    head = here.need(block, "ssm_norm", "ssm_o_norm").extents[0]
    heads = inner // head
    reach = taps - 1
    conv = _states(here, block, "r", 3 * reach * inner)
    parts = []
    for part, kernel in zip("qkv", kernels, strict=True):
        current = graph.product(here.need(block, f"attn_{part}"), source)
        current = graph.view(current, inner, each, sequences)
        old = graph.view(conv, reach, inner, sequences)
        joined = graph.make("concat", (old, graph.permute(current, 1, 0, 2, 3)), reach + each, inner, sequences)
        last = graph.view(joined, reach, inner, sequences, strides=joined.strides[1:3])
        _keep(here, block, "r", 3 * reach * inner, last)
        mixed = graph.like("unary", graph.make("ssm_conv", (joined, kernel), inner, each, sequences))
        parts.append(graph.view(mixed, head, heads, each, sequences))
    query, key, value = parts
    decay = graph.product(here.need(block, "ssm_f_b"), graph.product(here.need(block, "ssm_f_a"), source))
    bias = here.of(block, "ssm_dt", "bias")
    decay = graph.like("add", decay, bias) if bias is not None else decay
    whole_gate = here.of(block, "ssm_g")
    if whole_gate is None:
        decay = graph.like("unary", decay)
    decay = graph.like("mul", graph.view(decay, head, heads, here.tokens), here.need_bare(block, "ssm_a"))
    if whole_gate is not None:
        decay = graph.like("scale", graph.like("unary", graph.like("scale", decay)))
    decay = graph.view(decay, head, heads, each, sequences)
    beta = graph.product(here.need(block, "ssm_beta"), source)
    beta = graph.like("unary", graph.view(beta, 1, heads, each, sequences))
    state = graph.view(_states(here, block, "s", head * inner), head, head, heads, sequences)
    query, key = (graph.like("scale", graph.like("rms_norm", node)) for node in (query, key))
    output = _delta(here, block, query, key, value, decay, beta, state, late=True)
    gate = graph.product(whole_gate, source) if whole_gate is not None else _low_rank_gate(here, block, source)
    normed = norm(here, graph.view(output, head, heads, here.tokens), block, "ssm_norm", "ssm_o_norm")
    gated = graph.like("mul", normed, graph.like("unary", graph.view(gate, head, heads, here.tokens)))
    return graph.product(here.need(block, "attn_output"), graph.dense(gated, inner, here.tokens))


def _low_rank_gate(here: Context, block: int, source: Node) -> Node:
    graph = here.graph
    return graph.product(here.need(block, "ssm_g_b"), graph.product(here.need(block, "ssm_g_a"), source))
