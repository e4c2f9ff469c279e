"""Options: every way that every artifact of a model could be served on a pool of nodes, best first.

`options` is the plain arithmetic, `rank` the order, both as docs/options.md states them; `solver.options.exact` asks
the solver the same question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.options.artifact import Artifact, Shape
from solver.options.option import Method, Option, Place, PlacedStage, Verdict
from solver.options.policy import DEFAULT_POLICY, Overhead, Policy
from solver.options.pool import PoolNode, memory_from_class
from solver.options.pool_file import PoolFile, read_pool
from solver.options.quantisation import bits_of, quant_of
from solver.options.ranking import quality, rank
from solver.options.simple import simple_options

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "DEFAULT_POLICY",
    "Artifact",
    "Method",
    "Option",
    "Overhead",
    "Place",
    "PlacedStage",
    "Policy",
    "PoolFile",
    "PoolNode",
    "Shape",
    "Verdict",
    "bits_of",
    "memory_from_class",
    "options",
    "quality",
    "quant_of",
    "rank",
    "read_pool",
]


def options(
    artifacts: Sequence[Artifact],
    nodes: Sequence[PoolNode],
    context_tokens: int,
    policy: Policy = DEFAULT_POLICY,
) -> tuple[Option, ...]:
    """Return every option of the plain arithmetic, best first.

    `context_tokens` is llama.cpp's pool of tokens or vLLM's longest sequence; 0 asks for no cache.
    """
    return rank(simple_options(artifacts, nodes, context_tokens, policy))
