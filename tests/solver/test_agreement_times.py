"""Times, links, measured stages and growing caches: search and model against trying every placement."""

from __future__ import annotations

from random import Random

import pytest
from support.problems import best_by_trying, random_problem, with_times

from solver.effort import Effort
from solver.objectives import objectives_named
from solver.provers import ClosedForm, ConstraintSolver, ExactSearch, Prover
from solver.solution import Outcome
from solver.solve import solve

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
LISTS = (
    "latency",
    "throughput",
    "headroom",
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
    "headroom,throughput",
)
CASES = [
    (method, ruled, hundred)
    for method, hundreds in (("search", 10), ("model", 5))
    for ruled in (False, True)
    for hundred in range(hundreds)
]


@pytest.mark.parametrize(("method", "ruled", "hundred"), CASES)
def test_both_return_the_canonical_best_of_all_placements(method: str, ruled: bool, hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        agree(Random(seed), method, ruled=ruled)


def agree(random: Random, method: str, *, ruled: bool) -> None:
    problem = with_times(random_problem(random, 6, 4, ruled=ruled), random)
    wanted = random.choice(LISTS)
    if ("context" in wanted or "tokens" in wanted) and not any(b.cache_bytes_per_token for b in problem.blocks):
        return
    objectives = objectives_named(wanted)
    prover: Prover = ExactSearch(problem) if method == "search" else ConstraintSolver()
    best = best_by_trying(problem, objectives)
    solution = solve(problem, objectives, EFFORT, provers=(ClosedForm(), prover))

    if best is None:
        assert Outcome.INFEASIBLE is solution.outcome
        return
    assert Outcome.OPTIMAL is solution.outcome
    assert best.values == tuple(level.value for level in solution.levels)
    assert best.values == tuple(level.bound for level in solution.levels)
    assert best.placement == solution.placement
