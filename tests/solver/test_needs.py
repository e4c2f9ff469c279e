"""Objectives refused by name: where facts are missing, and where figures are beyond what searches can count."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.problems import NO_RULES, best_by_trying, problem_of
from support.timed import GB, PLAIN_OBJECTIVES, barred, growing, joined, near, timed

from solver.effort import Effort
from solver.errors import InputError
from solver.objectives import OBJECTIVES, objectives_named
from solver.solution import Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from solver.problem import Problem

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
NEITHER = (
    "node n1 has neither a bandwidth nor measured times; expected one of them for every node. "
    "Give it, or exclude the node."
)
UNKNOWN = "block 1 does not say how its cache grows; expected cache_bytes_per_token. Give it."
NONE_GROWS = "no block has a cache that grows; expected one, or any length fits. Leave it out."
PLAIN = problem_of((4, 4), (20, 20, 0))
PAIR = problem_of((4, 4), (20, 20))


@pytest.mark.parametrize(
    ("name", "problem", "problem_there"),
    [
        ("latency", timed(PLAIN, (GB, None, GB)), NEITHER),
        ("throughput", timed(PLAIN, ((5, 6), None, GB)), NEITHER),
        ("context", growing(PLAIN, (1, None)), UNKNOWN),
        ("tokens", growing(PLAIN, (1, None)), UNKNOWN),
        ("context", growing(PLAIN, (0, 0)), NONE_GROWS),
        ("tokens", growing(PLAIN, (0, 0)), NONE_GROWS),
    ],
)
def test_an_objective_is_refused_by_name_where_facts_are_missing(
    name: str, problem: Problem, problem_there: str
) -> None:
    with pytest.raises(InputError) as caught:
        solve(problem, objectives_named(f"nodes,{name}"), EFFORT)

    assert f"objective {name}: {problem_there}" == str(caught.value)


@pytest.mark.parametrize("name", PLAIN_OBJECTIVES)
def test_an_objective_is_not_refused_for_facts_that_it_does_not_need(name: str) -> None:
    """Of a node without a budget, or one that is excluded, no speed need be known; nor caches for times."""
    excluding = problem_of((4, 4), (20, 20, 0, 20), rules=replace(NO_RULES, exclude=("n3",)))
    facts = timed(excluding, (GB, (5, 6), None, None))
    growing_facts = growing(problem_of((4, 4), (20, 20)), (0, 1))

    OBJECTIVES[name].needs(growing_facts if name in {"context", "tokens"} else facts, name)


YEARS = 2**59
TOO_LONG = "expected at most 2^60, some 36 years. Give rates in bytes a second and times in nanoseconds."
TOO_LARGE = "expected at most 2^61. Give sizes in bytes."


def read(*bytes_: int, rates: tuple[int, int]) -> Problem:
    return timed(PAIR, rates, active=bytes_)


@pytest.mark.parametrize(
    ("name", "problem", "problem_there"),
    [
        (
            "latency",
            read(YEARS, YEARS + 1, rates=(GB, 2 * GB)),
            f"one token could take {2 * YEARS + 1} ns; {TOO_LONG}",
        ),
        ("throughput", timed(PAIR, ((YEARS,), (1, YEARS + 1))), f"one token could take {2 * YEARS + 2} ns; {TOO_LONG}"),
        (
            "latency",
            joined(read(0, 1, rates=(GB, GB)), near(YEARS), activation_bytes=0),
            f"one token could take {2 * YEARS + 1} ns; {TOO_LONG}",
        ),
        (
            "latency",
            joined(read(0, 0, rates=(GB, GB)), near(1, 1), activation_bytes=2**30),
            f"one token could take {2 * (2**30 * 10**9 + 1)} ns; {TOO_LONG}",
        ),
        (
            "context",
            growing(PAIR, (2**53, 1), fixed=(0, 0)),
            f"a context of 256 tokens takes {2**61 + 256 + 8} bytes together; {TOO_LARGE}",
        ),
        (
            "tokens",
            growing(PAIR, (1, 1), fixed=(2**60, 2**60)),
            f"a context of 256 tokens takes {2**61 + 512 + 8} bytes together; {TOO_LARGE}",
        ),
        (
            "tokens",
            growing(problem_of((4, 4), (2**60, 2**60, 1)), (1, 1)),
            f"the budgets are {2**61 + 1} bytes together; {TOO_LARGE}",
        ),
    ],
    ids=["rates", "measured", "hops", "transfers", "growth", "fixed", "budgets"],
)
def test_figures_that_searches_cannot_count_are_refused(name: str, problem: Problem, problem_there: str) -> None:
    """Before they overflow, or a sum of times is taken for "never"."""
    with pytest.raises(InputError) as caught:
        solve(problem, objectives_named(name), EFFORT)

    assert f"objective {name}: {problem_there}" == str(caught.value)


@pytest.mark.parametrize("wanted", ["latency", "throughput", "nodes,latency", "throughput,latency"])
@pytest.mark.parametrize(
    "problem",
    [
        timed(problem_of((4, 4), (5, 5)), (GB, GB // 2), active=(YEARS // 2 - 3, YEARS // 2)),
        joined(timed(problem_of((4, 4), (5, 5)), ((YEARS // 2,), (1,))), near(YEARS // 2, None), activation_bytes=0),
    ],
    ids=["rates", "measured and hops"],
)
def test_times_up_to_the_most_that_is_counted_are_exact(problem: Problem, wanted: str) -> None:
    objectives = objectives_named(wanted)
    best = best_by_trying(problem, objectives)
    solution = solve(problem, objectives, EFFORT)

    assert best is not None
    assert (Outcome.OPTIMAL, best.placement) == (solution.outcome, solution.placement)
    assert best.values == tuple(level.value for level in solution.levels)
    assert best.values == tuple(level.bound for level in solution.levels)


@pytest.mark.parametrize("wanted", ["tokens", "context", "nodes,tokens", "tokens,load"])
def test_bytes_up_to_the_most_that_is_counted_are_exact(wanted: str) -> None:
    budget = 2**60
    problem = growing(problem_of((4, 4), (budget, budget)), (1, 2**51), fixed=(2**59, 3))
    objectives = objectives_named(wanted)
    best = best_by_trying(problem, objectives)
    solution = solve(problem, objectives, EFFORT)

    assert best is not None
    assert (Outcome.OPTIMAL, best.values) == (solution.outcome, tuple(level.value for level in solution.levels))


def test_caches_that_do_not_fit_when_empty_leave_no_tokens_and_bar_nothing() -> None:
    """What is there of them now fits; a level on tokens that ends at 0 must not take placements from the next."""
    problem = growing(problem_of((5, 5, 5), (9, 9, 9)), (1, 1, 1), fixed=(10, 10, 10))
    solution = solve(problem, objectives_named("tokens,context,nodes"), EFFORT)

    assert Outcome.OPTIMAL is solution.outcome
    assert [0, 0, 3] == [level.value for level in solution.levels]


def test_a_forbidden_link_is_counted_too() -> None:
    """Its time stands in tables that are laid out before anything is barred."""
    problem = joined(
        read(1, 1, rates=(GB, GB)), near(1), ("n0", "n1", replace(barred(), latency_ns=2 * YEARS)), activation_bytes=0
    )
    with pytest.raises(InputError):
        OBJECTIVES["latency"].needs(problem, "latency")
