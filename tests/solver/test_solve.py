"""The searches and the CP-SAT model against trying every placement."""

from __future__ import annotations

from random import Random

import pytest
from support.problems import best_by_trying, random_problem

from solver.effort import Effort
from solver.objectives import objectives_named
from solver.provers import ClosedForm, ConstraintSolver, ExactSearch, provers_for
from solver.exact.prefix import applies
from solver.solve import Outcome, solve

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
LISTS = (
    "nodes",
    "balance",
    "load",
    "nodes,balance",
    "balance,nodes",
    "load,balance",
    "nodes,load",
    "load,nodes,balance",
)


def agree(seed: int, *, ruled: bool, exact: bool) -> None:
    random = Random(seed)
    problem = random_problem(random, 6, 4, ruled=ruled)
    objectives = objectives_named(random.choice(LISTS))
    best = best_by_trying(problem, objectives)
    if exact and not applies(problem):
        return
    provers = (ClosedForm(), ExactSearch(problem)) if exact else (ClosedForm(), ConstraintSolver())
    solution = solve(problem, objectives, EFFORT, provers=provers)

    if best is None:
        assert Outcome.INFEASIBLE is solution.outcome
        return
    assert Outcome.OPTIMAL is solution.outcome
    assert best.values == tuple(level.value for level in solution.levels)
    assert best.values == tuple(level.bound for level in solution.levels)
    assert best.placement == solution.placement


@pytest.mark.parametrize("hundred", range(20))
def test_the_exact_search_returns_the_canonical_best_of_all_placements(hundred: int) -> None:
    for seed in range(100):
        agree(1000 * hundred + seed, ruled=False, exact=True)


@pytest.mark.parametrize("hundred", range(20))
def test_the_exact_search_returns_the_canonical_best_under_rules(hundred: int) -> None:
    for seed in range(100):
        agree(1000 * hundred + 100 + seed, ruled=True, exact=True)


@pytest.mark.parametrize("hundred", range(20))
def test_cp_sat_returns_the_canonical_best_of_all_placements(hundred: int) -> None:
    for seed in range(100):
        agree(1000 * hundred + seed, ruled=False, exact=False)


@pytest.mark.parametrize("hundred", range(20))
def test_cp_sat_returns_the_canonical_best_under_rules(hundred: int) -> None:
    for seed in range(100):
        agree(1000 * hundred + 100 + seed, ruled=True, exact=False)
