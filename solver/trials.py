"""Problems near one that has no placement, each solved for a short while, all within one clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.objectives import OBJECTIVES
from solver.solve import solve

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Clock
    from solver.problem import Problem
    from solver.solution import Solution

__all__ = ["Trials"]

_SECONDS_EACH = 3.0


@dataclass(frozen=True, slots=True)
class Trials:
    """What is left of the time for finding out why, and what would help."""

    clock: Clock

    def solve(self, problem: Problem, objective: str) -> Solution:
        """Return what is found out about a problem in a little time.

        Raises:
            KeyboardInterrupt: an interrupt ended the search.
        """
        left = replace(
            self.clock.effort,
            time_limit_seconds=min(_SECONDS_EACH, self.clock.seconds_left),
            deterministic_limit=self.clock.deterministic_left,
        )
        solution = solve(problem, (OBJECTIVES[objective],), left)
        self.clock.deterministic_time += solution.deterministic_time
        if solution.interrupted:
            raise KeyboardInterrupt
        return solution

    def fits(self, problem: Problem) -> bool:
        """Return whether a placement was found."""
        return not self.clock.spent and self.solve(problem, "nodes").placement is not None

    def fits_built(self, build: Callable[[], Problem | None]) -> bool:
        """Return whether a placement was found of a problem that takes time to build; None is no problem."""
        if self.clock.spent:
            return False
        problem = build()
        return problem is not None and self.fits(problem)
