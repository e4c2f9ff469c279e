"""The searches and the CP-SAT model against trying every placement."""

from __future__ import annotations

from random import Random

import pytest
from support.problems import best_by_trying, random_problem, with_times

from solver.effort import Effort
from solver.objectives import objectives_named
from solver.provers import ClosedForm, ConstraintSolver, ExactSearch
from solver.solve import Outcome, solve

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
MEMORY = (
    "nodes",
    "balance",
    "load",
    "headroom",
    "nodes,balance",
    "balance,nodes",
    "load,balance",
    "nodes,load",
    "load,nodes,balance",
    "nodes,headroom",
)
TIMES = (
    *MEMORY,
    "latency",
    "throughput",
    "context",
    "tokens",
    "nodes,latency",
    "latency,nodes",
    "latency,balance",
    "balance,latency",
    "throughput,nodes",
    "nodes,throughput",
    "throughput,latency",
    "nodes,throughput,balance",
    "tokens,nodes",
    "nodes,tokens",
    "context,latency",
)


def agree(seed: int, *, ruled: bool, timed: bool, exact: bool) -> None:
    random = Random(seed)
    problem = random_problem(random, 6, 4, ruled=ruled)
    if timed:
        problem = with_times(problem, random)
    objectives = objectives_named(random.choice(TIMES if timed else MEMORY))
    if any(objective.name in ("context", "tokens") for objective in objectives) and not any(
        block.cache_bytes_per_token for block in problem.blocks
    ):
        return
    best = best_by_trying(problem, objectives)
    provers = (ClosedForm(), ExactSearch(problem)) if exact else (ClosedForm(), ConstraintSolver())
    solution = solve(problem, objectives, EFFORT, provers=provers)

    if best is None:
        assert Outcome.INFEASIBLE is solution.outcome
        return
    assert Outcome.OPTIMAL is solution.outcome
    assert best.values == tuple(level.value for level in solution.levels)
    assert best.values == tuple(level.bound for level in solution.levels)
    assert best.placement == solution.placement


CASES = [(ruled, timed, hundred) for ruled in (False, True) for timed in (False, True) for hundred in range(10)]


@pytest.mark.parametrize(("ruled", "timed", "hundred"), CASES)
def test_exact_searches_return_the_canonical_best_of_all_placements(ruled: bool, timed: bool, hundred: int) -> None:
    for seed in range(100):
        agree(1000 * hundred + seed, ruled=ruled, timed=timed, exact=True)


@pytest.mark.parametrize(("ruled", "timed", "hundred"), CASES)
def test_cp_sat_returns_the_canonical_best_of_all_placements(ruled: bool, timed: bool, hundred: int) -> None:
    for seed in range(100):
        agree(1000 * hundred + seed, ruled=ruled, timed=timed, exact=False)
