"""A split rule of an engine as a value: what it is called, where it stands, and how it places a problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.problem import Problem, Stage

__all__ = ["Answer", "NoPlacement", "Strategy"]


@dataclass(frozen=True, slots=True)
class NoPlacement:
    """Why a rule gives no chain of stages, in a sentence."""

    reason: str


Answer: TypeAlias = "tuple[Stage, ...] | NoPlacement"


@dataclass(frozen=True, slots=True)
class Strategy:
    """A split rule. `source` is the engine's file and build, or the paper, that it is read from.

    A rule knows nothing of the rules of a problem, and its stages need not fit. `places_head` says that it knows of a
    head that moves by itself; for all others that stays with the last block.
    """

    name: str
    title: str
    source: str
    rule: Callable[[Problem], Answer]
    places_head: bool = False

    def place(self, problem: Problem) -> Answer:
        """Return the stages that the rule makes, which cover all blocks in order, or why it makes none."""
        if not problem.head_alone or self.places_head:
            return self.rule(problem)
        answer = self.rule(problem.with_head_folded())
        if isinstance(answer, NoPlacement):
            return answer
        blocks = problem.block_count
        return tuple(replace(stage, end=stage.end + 1) if stage.end == blocks else stage for stage in answer)
