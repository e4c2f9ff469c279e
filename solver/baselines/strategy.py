"""A split rule of an engine as a value: what it is called, where it stands, and how it places a problem."""

from __future__ import annotations

from dataclasses import dataclass
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

    A rule knows nothing of the rules of a problem, and its stages need not fit.
    """

    name: str
    title: str
    source: str
    rule: Callable[[Problem], Answer]

    def place(self, problem: Problem) -> Answer:
        """Return the stages that the rule makes, which cover all blocks in order, or why it makes none."""
        return self.rule(problem)
