"""A problem, placements of it, and the loop over objectives with provers of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.effort import Effort
from solver.objectives import OBJECTIVES, objectives_named
from solver.problem import Placement, Stage
from solver.solve import solve
from support.problems import problem_of

if TYPE_CHECKING:
    from solver.problem import Problem
    from solver.provers import Prover
    from solver.solution import Solution

__all__ = ["ALL_ON_ONE", "BALANCE", "EFFORT", "EVEN", "LOAD", "NODES", "PROBLEM", "SPREAD", "planted"]

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
NODES = OBJECTIVES["nodes"]
BALANCE = OBJECTIVES["balance"]
LOAD = OBJECTIVES["load"]
# One node of 12 holds everything; two of 10 hold it evenly.
PROBLEM = problem_of((3, 3, 3, 3), (12, 10, 10))
ALL_ON_ONE = Placement((Stage(0, 4, "n0"),))
EVEN = Placement((Stage(0, 2, "n0"), Stage(2, 4, "n1")))
SPREAD = Placement((Stage(0, 1, "n1"), Stage(1, 3, "n0"), Stage(3, 4, "n2")))


def planted(*provers: Prover, wanted: str = "nodes", problem: Problem = PROBLEM, effort: Effort = EFFORT) -> Solution:
    return solve(problem, objectives_named(wanted), effort, provers=provers)
