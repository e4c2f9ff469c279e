"""The longest context whose own needs beside stages leave room for it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from support.problems import problem_of

from solver.effort import Clock, Effort, silent
from solver.errors import InputError
from solver.longer_context import longest_context
from solver.objectives import objectives_named
from solver.solve import solve

if TYPE_CHECKING:
    from solver.problem import Problem
    from solver.solution import Solution

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
ASKED = 1024


def at(tokens: int, per_token: int, *, budget: int = 20_000, step: int = 1) -> Problem:
    """Return a problem of two blocks whose caches take a byte a token each; beside stages more tokens take more."""
    problem = problem_of((1000, 1000), (budget, budget))
    blocks = tuple(
        replace(block, cache_bytes=tokens, cache_bytes_per_token=1, active_bytes=1) for block in problem.blocks
    )
    held = 10 + tokens // step * step * per_token
    nodes = tuple(replace(node, held_bytes=held) for node in problem.nodes)
    return replace(problem, blocks=blocks, nodes=nodes, context_tokens=tokens)


def found(problem: Problem, objectives: str = "context", most_nodes: int = 2) -> int:
    """Return the longest context of a problem as it is on so many nodes."""
    solution = solve(problem, objectives_named(objectives), EFFORT)
    if solution.placement is None or len(solution.placement.stages) > most_nodes:
        return 0
    return int(solution.levels[-1].value)


@pytest.mark.parametrize(("per_token", "step"), [(0, 1), (1, 1), (3, 1), (7, 1), (1, 4096), (9, 256)])
@pytest.mark.parametrize("objectives", ["context", "nodes,context"])
def test_it_is_the_longest_step_of_all_that_holds_its_own(per_token: int, step: int, objectives: str) -> None:
    """Every step is tried: that context fits with what it takes itself, and no longer one does."""

    def sized(tokens: int) -> Problem:
        return at(tokens, per_token, step=step)

    asked = sized(ASKED)
    # What is asked for at least decides how few nodes there are.
    fewest = int(solve(asked, objectives_named("nodes"), EFFORT).levels[0].value)
    most = fewest if objectives.startswith("nodes") else 2
    proper = max(
        tokens
        for tokens in range(ASKED, 22_000, 256)
        if found(replace(asked, nodes=sized(tokens).nodes), objectives, most) >= tokens
    )
    settled = longest_context(asked, objectives_named(objectives), sized, Clock(EFFORT), silent)

    assert proper == found(settled, objectives)
    assert settled.nodes[0].held_bytes >= sized(proper).nodes[0].held_bytes


def test_what_is_asked_for_stays_where_no_longer_context_fits_or_nothing_is_held() -> None:
    tight = at(ASKED, 5, budget=1000 + ASKED + 10 + 5 * ASKED)
    wanted = objectives_named("context")

    settled = longest_context(tight, wanted, lambda tokens: at(tokens, 5, budget=10**4), Clock(EFFORT), silent)
    assert tight == settled
    free = replace(tight, nodes=tuple(replace(node, held_bytes=0) for node in tight.nodes))
    assert free is longest_context(free, wanted, lambda _: tight, Clock(EFFORT), silent)


def test_a_context_that_the_engine_refuses_is_none() -> None:
    limit = 6_144

    def sized(tokens: int) -> Problem:
        if tokens > limit:
            raise InputError("context", "too long")
        return at(tokens, 1)

    settled = longest_context(at(ASKED, 1), objectives_named("context"), sized, Clock(EFFORT), silent)

    assert sized(limit).nodes == settled.nodes


def test_more_tokens_never_leave_room_for_more_of_them() -> None:
    """What the search takes for granted, here where it is so."""
    asked = at(ASKED, 3)
    longest = [found(replace(asked, nodes=at(tokens, 3).nodes)) for tokens in range(ASKED, 20_000, 2560)]

    assert all(one >= other for one, other in pairwise(longest))


class _SpentAfter(Clock):
    """A clock that runs out after so many questions."""

    def __init__(self, questions: int) -> None:
        super().__init__(EFFORT)
        self.questions = questions

    @property
    def spent(self) -> bool:
        return self.questions <= 0


@pytest.mark.parametrize("per_token", [3, 7])
def test_nothing_is_solved_once_the_time_is_up(per_token: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it ends: while steps are tried, and while what is set aside is settled."""

    def watched(problem: Problem, *rest: Any) -> Solution:
        clock.questions -= 1
        return solve(problem, *rest)

    monkeypatch.setattr("solver.longer_context.solve", watched)
    for questions in range(1, 20):
        clock = _SpentAfter(questions)
        longest_context(at(ASKED, per_token), objectives_named("context"), lambda t: at(t, per_token), clock, silent)

        assert clock.questions >= 0
