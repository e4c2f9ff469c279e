"""What a placement amounts to: the loads of its stages and the figures that objectives are about.

Every number that a person sees is computed here, from the problem and the names in a placement alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solver.problem import Placement, Problem, Stage

__all__ = ["StageLoad", "imbalance", "largest_fill", "largest_load", "nodes_used", "stage_load", "weighted_imbalance"]


@dataclass(frozen=True, slots=True)
class StageLoad:
    """What one stage puts on its node, and what the node allows."""

    weight_bytes: int
    cache_bytes: int
    other_bytes: int
    budget_bytes: int

    @property
    def load_bytes(self) -> int:
        """Return the bytes of all kinds together."""
        return self.weight_bytes + self.cache_bytes + self.other_bytes


def stage_load(problem: Problem, stage: Stage) -> StageLoad:
    """Return the load of a stage: its items, what is shared counted once where the stage holds all of them."""
    items = problem.items[stage.start : stage.end]
    whole = len(items) == len(problem.items)
    return StageLoad(
        weight_bytes=sum(item.weight_bytes for item in items) - (problem.shared_bytes if whole else 0),
        cache_bytes=sum(item.cache_bytes for item in items),
        other_bytes=sum(item.other_bytes for item in items),
        budget_bytes=problem.nodes_by_name[stage.node].budget_bytes,
    )


def nodes_used(problem: Problem, placement: Placement) -> int:
    """Return how many nodes hold a stage; devices of one machine are one node."""
    used = (problem.nodes_by_name[stage.node] for stage in placement.stages)
    return len({(node.machine is None, node.machine or node.name) for node in used})


def largest_load(problem: Problem, placement: Placement) -> int:
    """Return the load of the fullest stage in bytes."""
    return max(load.load_bytes for load in _loads(problem, placement))


def largest_fill(problem: Problem, placement: Placement) -> Fraction:
    """Return the largest load/budget."""
    return max(Fraction(load.load_bytes, load.budget_bytes) for load in _loads(problem, placement))


def imbalance(problem: Problem, placement: Placement) -> Fraction:
    """Return the largest load over the share, Σ loads / nodes used; 1 where nothing is loaded."""
    loads = [load.load_bytes for load in _loads(problem, placement)]
    return Fraction(max(loads) * len(loads), sum(loads)) if sum(loads) else Fraction(1)


def weighted_imbalance(problem: Problem, placement: Placement) -> Fraction:
    """Return the largest load/budget over Σ loads / Σ budgets of the nodes used; 1 where nothing is loaded."""
    loads = _loads(problem, placement)
    total = sum(load.load_bytes for load in loads)
    budget = sum(load.budget_bytes for load in loads)
    return largest_fill(problem, placement) * Fraction(budget, total) if total else Fraction(1)


def _loads(problem: Problem, placement: Placement) -> tuple[StageLoad, ...]:
    return tuple(stage_load(problem, stage) for stage in placement.stages)
