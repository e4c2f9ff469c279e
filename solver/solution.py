"""What a search ends with: its outcome, its placement, and each objective with its bounds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solver.limits import Value
    from solver.objectives import Objective
    from solver.problem import Placement

__all__ = ["Bound", "Level", "Outcome", "Solution", "Unreached"]


class Outcome(StrEnum):
    """How a question ended."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound and the prover that it comes from."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Level:
    """One objective with its value, its best bound and all bounds.

    `proof` is the cheapest prover that suffices, or "none". `bound` is None where an
    earlier level is open or nothing is known.
    """

    objective: Objective
    value: Value
    bound: Value | None
    bounds: tuple[Bound, ...]
    proof: str


@dataclass(frozen=True, slots=True)
class Unreached:
    """One objective of a question without an answer: no value, but the bounds that any answer keeps to."""

    objective: Objective
    bound: Value | None
    bounds: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Solution:
    """The outcome with its placement (None unless optimal or feasible) and levels.

    `unreached` are the objectives where the outcome is unknown, in order; it is empty otherwise.

    `refuted_by` is the prover that showed that there is no placement, None unless infeasible. `canonical` is False
    where the time ran out before the one placement among equals was found.
    """

    outcome: Outcome
    placement: Placement | None
    levels: tuple[Level, ...]
    interrupted: bool
    deterministic_time: float
    wall_ms: int
    refuted_by: str | None = None
    canonical: bool = True
    unreached: tuple[Unreached, ...] = ()
