"""The model of shared memories agrees with trying every placement: what is possible, least costs, the canonical one."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pooled import canonical_key, every_pooled_placement, pooled_problem, pooled_problems
from support.timed import askable

from solver.effort import Clock, Effort
from solver.limits import NO_LIMITS, kept_by
from solver.model import pooled_run
from solver.objectives import OBJECTIVES, Objective
from solver.rules import violations

if TYPE_CHECKING:
    from solver.problem import Placement, Problem


def clock() -> Clock:
    return Clock(Effort(60, None, 1, 0))


def unheard(_value: int, _bound: int) -> None:
    """Hear a value and a bound without a word."""


def agrees(problem: Problem, placements: list[Placement], objective: Objective, start: Placement | None) -> None:
    """Ask for the least cost of an objective, and for what is better than it."""
    least = min(objective.cost(problem, placement) for placement in placements)
    if objective.name in pooled_run.MINIMISED:
        answer = pooled_run.minimise(objective.name, problem, NO_LIMITS, clock(), start, unheard, at_least=0)

        assert (least, True) == (answer.lower, answer.settled)
    else:
        better = pooled_run.find(problem, objective.below(NO_LIMITS, least), clock(), start)
        answer = pooled_run.find(problem, objective.at_most(NO_LIMITS, least), clock(), start)

        assert (None, True) == (better.placement, better.settled)
    assert answer.placement is not None
    assert () == violations(problem, answer.placement)
    assert least == objective.cost(problem, answer.placement)


@settings(max_examples=40)
@given(problem=pooled_problems(), data=st.data())
def test_the_model_finds_the_best_placement_that_the_rules_allow(problem: Problem, data: st.DataObject) -> None:
    placements = list(every_pooled_placement(problem))
    found = pooled_run.find(problem, NO_LIMITS, clock(), None)

    assert (bool(placements), True) == (found.placement is not None, found.settled)
    if placements:
        start = data.draw(st.none() | st.sampled_from(placements))
        agrees(problem, placements, data.draw(st.sampled_from(askable(problem))), start)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_agrees_on_larger_problems(name: str) -> None:
    """Of up to four blocks on four devices; where nothing is allowed, nothing is found."""
    random = Random(name)
    for _ in range(15):
        problem = pooled_problem(random, 4, 4)
        placements = list(every_pooled_placement(problem))
        if not placements or OBJECTIVES[name] not in askable(problem):
            assert bool(placements) == (pooled_run.find(problem, NO_LIMITS, clock(), None).placement is not None)
            continue
        agrees(problem, placements, OBJECTIVES[name], random.choice((None, random.choice(placements))))


@settings(max_examples=40)
@given(problem=pooled_problems(), data=st.data())
def test_what_keeps_to_limits_is_found_and_nothing_else(problem: Problem, data: st.DataObject) -> None:
    """Limits that a level fixes are those of some placement's costs, in any number."""
    placements = list(every_pooled_placement(problem))
    if not placements:
        return
    aim = data.draw(st.sampled_from(placements))
    limits = NO_LIMITS
    for objective in data.draw(st.lists(st.sampled_from(askable(problem)), max_size=3)):
        tighten = data.draw(st.sampled_from((objective.at_most, objective.below)))
        limits = tighten(limits, objective.cost(problem, aim))
    kept = [placement for placement in placements if kept_by(problem, limits, placement)]
    found = pooled_run.find(problem, limits, clock(), data.draw(st.none() | st.just(aim)))

    assert (bool(kept), True) == (found.placement is not None, found.settled)
    assert found.placement is None or found.placement in kept


@settings(max_examples=40)
@given(problem=pooled_problems(), data=st.data())
def test_the_canonical_placement_is_found_from_any_start(problem: Problem, data: st.DataObject) -> None:
    placements = list(every_pooled_placement(problem))
    if not placements:
        return
    objective = data.draw(st.sampled_from(askable(problem)))
    least = min(objective.cost(problem, placement) for placement in placements)
    best = [placement for placement in placements if objective.cost(problem, placement) == least]
    limits = objective.at_most(NO_LIMITS, least)
    answer = pooled_run.canonical_placement(problem, limits, clock(), data.draw(st.sampled_from(best)))

    assert (min(best, key=lambda placement: canonical_key(problem, placement)), True) == (
        answer.placement,
        answer.settled,
    )
