"""Short solving within one clock."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.problems import problem_of

from solver import trials
from solver.effort import Clock, Effort
from solver.solution import Outcome, Solution
from solver.solve import solve
from solver.trials import Trials

if TYPE_CHECKING:
    from solver.objectives import Objective
    from solver.problem import Problem

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=2.0, workers=1, seed=0)


def test_what_one_trial_spends_is_gone_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the solver's own units; no trial takes more than three seconds."""
    given: list[Effort] = []

    def half_a_unit(problem: Problem, objectives: tuple[Objective, ...], effort: Effort) -> Solution:
        given.append(effort)
        return replace(solve(problem, objectives, effort), deterministic_time=0.75)

    monkeypatch.setattr(trials, "solve", half_a_unit)
    tried = Trials(Clock(EFFORT))
    fitting = [tried.fits(problem_of((3,), (5,))) for _ in range(4)]

    assert [True, True, True, False] == fitting
    assert [2.0, 1.25, 0.5] == [effort.deterministic_limit for effort in given]
    assert {3.0} == {effort.time_limit_seconds for effort in given}


def test_nothing_is_said_to_fit_when_the_time_is_spent() -> None:
    assert not Trials(Clock(replace(EFFORT, time_limit_seconds=0))).fits(problem_of((3,), (5,)))


def test_a_trial_returns_what_solving_returns() -> None:
    tried = Trials(Clock(EFFORT))

    assert Outcome.INFEASIBLE is tried.solve(problem_of((9,), (5,)), "nodes").outcome
    assert "balance" == tried.solve(problem_of((3,), (5,)), "balance").levels[0].objective.name


def test_an_interrupt_of_a_trial_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(problem: Problem, objectives: tuple[Objective, ...], effort: Effort) -> Solution:
        return replace(solve(problem, objectives, effort), interrupted=True)

    monkeypatch.setattr(trials, "solve", interrupted)

    with pytest.raises(KeyboardInterrupt):
        Trials(Clock(EFFORT)).fits(problem_of((3,), (5,)))
