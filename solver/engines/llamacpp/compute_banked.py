"""A residual stream that is banked every few blocks and mixed from its bank before every part (kimi-k3.cpp).

What a part reads is a weighted sum of all banked streams and the current one; the weights are a softmax of scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_context import MissingTensorError
from solver.engines.llamacpp.compute_forward import forward
from solver.engines.llamacpp.compute_graph import F32
from solver.engines.llamacpp.compute_latent import absorbed
from solver.engines.llamacpp.compute_layers import norm
from solver.engines.llamacpp.compute_recurrent import recurrent
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_context import Context
    from solver.engines.llamacpp.compute_families import Traits
    from solver.engines.llamacpp.compute_graph import Node

__all__ = ["banked"]


def banked(here: Context, kind: Traits, stream: Node) -> Node:
    """Return the rows that have logits after all blocks, from the embeddings of a micro-batch.

    Raises:
        MissingTensorError: a block has neither a latent nor a state, or the header does not say which blocks bank.
    """
    graph = here.graph
    every = here.inventory.architecture.banked_every
    if every is None:
        raise MissingTensorError("no size of residual blocks")
    bank: Node | None = None
    for block in here.blocks:
        current = _mixed(here, bank, stream, here.need(block, "attn_res_score"))
        banks = block % every == 0
        if banks:
            row = graph.view(stream, stream.extents[0], 1, stream.extents[1])
            bank = row if bank is None else _joined(here, bank, row)
        current = norm(here, current, block, "attn_norm")
        graph.run(current)
        current = _attended(here, block, current)
        stream = current if banks else graph.like("add", stream, current)
        current = norm(here, _mixed(here, bank, stream, here.need(block, "ffn_res_score")), block, "ffn_norm")
        stream = graph.like("add", stream, forward(here, kind, block, current))
    head = len(here.assignment.slots) - 1
    stream = _mixed(here, bank, stream, here.whole("output_res_score.weight", head))
    return graph.rows(stream, here.output_rows())


def _attended(here: Context, block: int, source: Node) -> Node:
    latent = here.term(block, CacheKind.LATENT)
    return recurrent(here, block, source) if latent is None else absorbed(here, block, source, latent, rope=False)


def _joined(here: Context, bank: Node, row: Node) -> Node:
    width, count, tokens = bank.extents[:3]
    return here.graph.make("concat", (bank, row), width, count + 1, tokens)


def _mixed(here: Context, bank: Node | None, stream: Node, score: Node) -> Node:
    """Return the sum of the bank and the current stream [hidden, tokens], weighted by their scores."""
    if bank is None:
        return stream
    graph = here.graph
    width, count, tokens = bank.extents[:3]
    scores = []
    for source, rows in ((bank, count), (stream, 1)):
        scored = graph.like("mul", graph.like("rms_norm", source), score)
        scored = graph.make("sum_rows", (scored,), 1, *source.extents[1:3])
        scores.append(graph.view(scored, rows, tokens) if source is bank else scored)
    chances = graph.like("soft_max", graph.make("concat", tuple(scores), count + 1, tokens))
    row = (count + 1) * F32
    of_bank, of_stream = (graph.dense(graph.view(chances, rows, tokens, strides=(row,))) for rows in (count, 1))
    summed = graph.make("weighted_sum", (bank, of_bank), width, tokens)
    return graph.like("add", summed, graph.like("mul", stream, of_stream))
