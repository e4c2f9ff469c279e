"""Even splits: the same number of blocks on every node, in the order listed, whatever they weigh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.baselines.offered import in_runs, not_enough_blocks, usable_nodes
from solver.engines.servers.partition import extra_at_the_end, extra_before_the_last

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.baselines.strategy import Answer
    from solver.problem import Problem

__all__ = ["sglang", "vllm"]


def vllm(problem: Problem) -> Answer:
    """Give what is left over one each to the nodes before the last."""
    return _even(problem, extra_before_the_last)


def sglang(problem: Problem) -> Answer:
    """Give what is left over one each to the last nodes."""
    return _even(problem, extra_at_the_end)


def _even(problem: Problem, cut: Callable[[int, int], tuple[int, ...]]) -> Answer:
    nodes = usable_nodes(problem)
    none = not_enough_blocks(problem, nodes)
    return none or in_runs(zip(nodes, cut(len(problem.blocks), len(nodes)), strict=True))
