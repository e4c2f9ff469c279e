"""The best by number of nodes: each point is what solving that count alone gives."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import NO_RULES, problem_of, random_problem, with_times

from solver import frontier
from solver.effort import Effort
from solver.errors import InputError
from solver.frontier import Point, best_by_nodes, unbeaten
from solver.objectives import OBJECTIVES, Sense, objectives_named
from solver.solution import Level, Outcome, Solution
from solver.solve import solve

if TYPE_CHECKING:
    from solver.effort import Progress
    from solver.limits import Value
    from solver.objectives import Objective
    from solver.problem import Problem

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
SIX = problem_of((3, 3, 3, 3, 3, 3), (12, 10, 7, 7))


def best_of(problem: Problem, wanted: str, counts: range) -> tuple[Point, ...]:
    return best_by_nodes(problem, objectives_named(wanted), counts, EFFORT)


def alone(problem: Problem, wanted: str, count: int) -> Solution:
    own = problem.rules.max_nodes
    most = count if own is None else min(count, own)
    return solve(replace(problem, rules=replace(problem.rules, max_nodes=most)), objectives_named(wanted), EFFORT)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    wanted=st.sampled_from(("balance", "load", "headroom", "throughput", "latency", "balance,load")),
    ruled=st.booleans(),
)
def test_a_point_is_what_solving_that_count_alone_gives(seed: int, wanted: str, ruled: bool) -> None:
    """More nodes never make it worse, and it is on no more than it may be on."""
    random = Random(seed)
    problem = random_problem(random, 5, 3, ruled=ruled)
    if wanted in ("throughput", "latency"):
        problem = with_times(problem, random)
    points = best_of(problem, wanted, range(1, 6))

    assert [1, 2, 3, 4, 5] == [point.most_nodes for point in points]
    for point in points:
        expected = alone(problem, wanted, point.most_nodes)
        assert (expected.outcome, expected.levels) == (point.solution.outcome, point.solution.levels)
        assert expected.placement == point.solution.placement
        assert point.used == (None if expected.placement is None else len(expected.placement.stages))
        assert point.used is None or point.used <= point.most_nodes
    answered = [point for point in points if point.solution.levels]
    assert answered == list(points[len(points) - len(answered) :])
    costs = [better_is_less(point) for point in answered]
    assert all(fewer >= more for fewer, more in pairwise(costs))


def better_is_less(point: Point) -> Value:
    level = point.solution.levels[0]
    return level.value if level.objective.sense is Sense.MIN else -level.value


def test_points_start_where_they_are_asked_to() -> None:
    points = best_of(SIX, "balance", range(2, 4))

    assert [(2, Outcome.OPTIMAL, Fraction(9, 10)), (3, Outcome.OPTIMAL, Fraction(3, 4))] == [
        (point.most_nodes, point.solution.outcome, point.solution.levels[0].value) for point in points
    ]


def test_too_few_nodes_are_a_point_without_a_placement() -> None:
    assert [(1, None, Outcome.INFEASIBLE), (2, 2, Outcome.OPTIMAL)] == [
        (point.most_nodes, point.used, point.solution.outcome) for point in best_of(SIX, "balance", range(1, 3))
    ]


@pytest.mark.parametrize(
    ("problem", "different"),
    [
        (SIX, 4),
        (replace(SIX, rules=replace(NO_RULES, max_nodes=2)), 2),
        (replace(SIX, rules=replace(NO_RULES, exclude=("n3",))), 3),
        (replace(SIX, rules=replace(NO_RULES, min_blocks=3)), 2),
        (replace(SIX, rules=replace(NO_RULES, min_blocks=7)), 1),
    ],
    ids=["nodes", "its own rule", "excluded", "runs of three", "no stage at all"],
)
def test_more_nodes_than_can_be_used_are_not_asked_about_again(
    problem: Problem, different: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int | None] = []

    def noted(tried: Problem, objectives: tuple[Objective, ...], effort: Effort, progress: Progress) -> Solution:
        asked.append(tried.rules.max_nodes)
        return solve(tried, objectives, effort, progress)

    monkeypatch.setattr(frontier, "solve", noted)
    points = best_of(problem, "balance", range(1, 1001))

    assert list(range(1, different + 1)) == asked
    assert list(range(1, 1001)) == [point.most_nodes for point in points]
    assert {points[different - 1].solution.placement} == {point.solution.placement for point in points[different:]}


def test_an_interrupt_ends_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(tried: Problem, objectives: tuple[Objective, ...], effort: Effort, progress: Progress) -> Solution:
        return replace(solve(tried, objectives, effort, progress), interrupted=tried.rules.max_nodes == 3)

    monkeypatch.setattr(frontier, "solve", interrupted)

    assert [1, 2, 3] == [point.most_nodes for point in best_of(SIX, "balance", range(1, 5))]


def test_all_points_share_one_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one spends is gone for the next, in the solver's own units and in seconds; the last still has a moment."""
    given: list[Effort] = []

    def costly(tried: Problem, objectives: tuple[Objective, ...], effort: Effort, progress: Progress) -> Solution:
        given.append(effort)
        return replace(solve(tried, objectives, effort, progress), deterministic_time=0.75)

    monkeypatch.setattr(frontier, "solve", costly)
    best_by_nodes(SIX, objectives_named("balance"), range(1, 5), Effort(60, 2.0, 1, 0))
    assert [2.0, 1.25, 0.5, 0.0] == [effort.deterministic_limit for effort in given]
    assert all(before.time_limit_seconds > after.time_limit_seconds for before, after in pairwise(given))

    given.clear()
    best_by_nodes(SIX, objectives_named("balance"), range(1, 3), Effort(1e-9, None, 1, 0))
    assert [0.01, 0.01] == [effort.time_limit_seconds for effort in given]


def test_facts_that_an_objective_needs_are_asked_for() -> None:
    with pytest.raises(InputError) as caught:
        best_of(SIX, "latency", range(1, 3))

    assert (
        "objective latency: node n0 has neither a bandwidth nor measured times; expected one of them for every node. "
        "Give it, or exclude the node."
    ) == str(caught.value)


def point_of(count: int, value: Value, objective: str = "balance", outcome: Outcome = Outcome.OPTIMAL) -> Point:
    level = Level(OBJECTIVES[objective], value, value, (), "cp-sat")
    return Point(count, count, Solution(outcome, None, (level,), interrupted=False, deterministic_time=0.0, wall_ms=0))


def test_what_no_fewer_nodes_equal_is_unbeaten_where_small_is_good() -> None:
    points = tuple(point_of(count, value) for count, value in enumerate((9, 9, 5, 6, 5, 4), start=1))

    assert [1, 3, 6] == [point.most_nodes for point in unbeaten(points)]


def test_what_no_fewer_nodes_equal_is_unbeaten_where_large_is_good() -> None:
    points = tuple(point_of(count, value, "throughput") for count, value in enumerate((3, 3, 5, 4, 5, 6), start=1))

    assert [1, 3, 6] == [point.most_nodes for point in unbeaten(points)]


def test_points_without_a_placement_are_never_unbeaten() -> None:
    none = Solution(Outcome.INFEASIBLE, None, (), interrupted=False, deterministic_time=0.0, wall_ms=0)
    unknown = replace(none, outcome=Outcome.UNKNOWN)
    points = (
        Point(1, None, none),
        Point(2, None, unknown),
        point_of(3, 7, outcome=Outcome.FEASIBLE),
        point_of(4, 7),
        point_of(5, 6),
    )

    assert [3, 5] == [point.most_nodes for point in unbeaten(points)]
    assert () == unbeaten(points[:2])


@settings(max_examples=60, deadline=None)
@given(values=st.lists(st.integers(0, 6), max_size=8), objective=st.sampled_from(("balance", "throughput")))
def test_each_unbeaten_point_beats_all_on_fewer_nodes_and_each_other_does_not(
    values: list[int], objective: str
) -> None:
    points = tuple(point_of(count, value, objective) for count, value in enumerate(values, start=1))
    expected = [
        point
        for number, point in enumerate(points)
        if all(better_is_less(point) < better_is_less(other) for other in points[:number])
    ]

    assert expected == list(unbeaten(points))
