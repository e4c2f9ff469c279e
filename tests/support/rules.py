"""What a split rule does with a problem."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from solver.baselines import STRATEGIES, NoPlacement
from solver.problem import Ends
from support.problems import problem_of

if TYPE_CHECKING:
    from solver.problem import Problem

__all__ = ["HEAD", "MIB", "counts", "equal", "reason"]

MIB = 2**20


def counts(name: str, problem: Problem) -> dict[str, int]:
    """Return the blocks of every node that a rule uses, in the order of its stages."""
    answer = STRATEGIES[name].place(problem)
    assert not isinstance(answer, NoPlacement), answer.reason
    return {stage.node: stage.end - stage.start for stage in answer}


def reason(name: str, problem: Problem) -> str:
    answer = STRATEGIES[name].place(problem)
    assert isinstance(answer, NoPlacement)
    return answer.reason


def equal(blocks: int, budgets: tuple[int, ...], weight: int = 10, ends: Ends | None = None) -> Problem:
    """Return equal blocks on nodes n0, n1 and so on."""
    problem = problem_of((weight,) * blocks, budgets)
    return problem if ends is None else replace(problem, ends=ends)


HEAD = Ends(input_bytes=0, output_bytes=5, tied_bytes=0, host_bytes=0)
