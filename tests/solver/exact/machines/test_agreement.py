"""On problems of shared memories the provers agree with trying every placement: value, and canonical placement."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from support.pooled import best_pooled, pooled_problem, pooled_problems
from support.timed import askable, within

from solver.effort import Clock, Effort
from solver.exact.machines import answers
from solver.exact.machines.search import MachineSearch
from solver.exact.states import TableError
from solver.limits import NO_LIMITS
from solver.objectives import OBJECTIVES
from solver.pooled_bounds import POOLED_BOUNDS
from solver.provers import MachineProver
from solver.question import Question
from solver.solution import Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from solver.limits import Limits, Value
    from solver.objectives import Objective
    from solver.problem import Problem

BRIEF = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)


def unheard(_best: Value | None, _bound: Value | None) -> None:
    """Hear nothing."""


def never() -> bool:
    """Say that there is time left."""
    return False


def assert_agrees(problem: Problem, wanted: tuple[Objective, ...]) -> bool:
    """Check an answer; return whether there was one to be canonical."""
    best = best_pooled(problem, wanted)
    solution = solve(problem, wanted, BRIEF)
    if best is None:
        assert Outcome.INFEASIBLE == solution.outcome
        return False
    assert (Outcome.OPTIMAL, best.values) == (solution.outcome, tuple(level.value for level in solution.levels))
    assert not solution.canonical or best.placement == solution.placement
    return solution.canonical


@pytest.mark.parametrize("fifty", range(8))
def test_every_list_of_objectives_ends_at_the_best_of_all_placements(fifty: int) -> None:
    seen: set[str] = set()
    canonical = 0
    for seed in range(50 * fifty, 50 * fifty + 50):
        random = Random(seed)
        problem = pooled_problem(random, random.choice((3, 4, 5)), random.choice((2, 3, 4)))
        wanted = tuple(random.sample(askable(problem), random.choice((1, 1, 2, 3))))
        seen |= {objective.name for objective in wanted}
        canonical += assert_agrees(problem, wanted)

    assert OBJECTIVES.keys() == seen
    assert canonical > 20


@settings(max_examples=60)
@given(pooled_problems(4, 3))
def test_least_left_with_hosts_and_then_quickest(problem: Problem) -> None:
    """Also of problems that have no hosts, or no times, with what can be asked of them."""
    asked = {objective.name: objective for objective in askable(problem)}
    assert_agrees(problem, tuple(asked[name] for name in ("offload", "latency", "nodes") if name in asked))


@pytest.mark.parametrize("fifty", range(6))
def test_the_search_alone_is_never_beyond_the_best_and_nearly_always_there(fifty: int) -> None:
    """Memories that several kinds of use share may leave it with a bound; then it says no more than that."""
    exact = asked = 0
    for seed in range(50 * fifty, 50 * fifty + 50):
        random = Random(9_000 + seed)
        problem = pooled_problem(random, 4, random.choice((2, 3, 4)))
        objective = random.choice(askable(problem))
        best = best_pooled(problem, (objective,))
        found = MachineProver(problem).prove(
            Question(problem, objective, NO_LIMITS, POOLED_BOUNDS[objective.name](problem, NO_LIMITS), None),
            Clock(BRIEF),
            unheard,
        )
        if best is None:
            assert found.placement is None
            continue
        asked += 1
        least = objective.cost(problem, best.placement)
        assert not found.impossible
        assert found.lower is None or found.lower <= least
        if found.placement is not None:
            assert least <= objective.cost(problem, found.placement)
            exact += found.lower == least == objective.cost(problem, found.placement)

    assert asked > 20
    assert exact > asked * 0.9


@pytest.mark.parametrize("fifty", range(3))
def test_no_bound_is_above_the_best_of_all_placements(fifty: int) -> None:
    """And none is left out where there is a placement."""
    for seed in range(50 * fifty, 50 * fifty + 50):
        problem = pooled_problem(Random(20_000 + seed), 4, 4)
        for objective in askable(problem):
            best = (
                best_pooled(problem, (objective,)) if seed % 3 == 0 or objective.name in ("nodes", "offload") else None
            )
            if best is None:
                continue
            bound = POOLED_BOUNDS[objective.name](problem, NO_LIMITS)
            assert bound is not None
            assert bound <= objective.cost(problem, best.placement)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_bound_is_reached_by_some_problem(name: str) -> None:
    """None is so loose that it never proves anything."""
    reached = 0
    for seed in range(150):
        problem = pooled_problem(Random(seed), 3, 3, ruled=False)
        if OBJECTIVES[name] in askable(problem):
            best = best_pooled(problem, (OBJECTIVES[name],))
            bound = POOLED_BOUNDS[name](problem, NO_LIMITS)
            reached += best is not None and bound == OBJECTIVES[name].cost(problem, best.placement)

    assert reached > 2


@pytest.mark.parametrize(
    "limits", [within(max_offload_bytes=10**6, max_latency_ns=10**6), within(max_offload_bytes=0, max_nodes=1)]
)
def test_a_placement_within_limits_keeps_to_them(limits: Limits) -> None:
    """Two limits at once are tried with either of them first."""
    found = 0
    for seed in range(60):
        problem = pooled_problem(Random(seed), 4, 3, timed=True)
        search = MachineSearch(problem)
        answer = answers.within(search, limits, never)
        if answer.placement is not None:
            found += 1
            assert search.keeps(answer.placement, limits)

    assert found > 10


def test_time_that_is_up_ends_a_search() -> None:
    search = MachineSearch(pooled_problem(Random(1), 4, 3))
    with pytest.raises(TableError):
        search.find(NO_LIMITS, ("offload",), lambda: True)
