"""Which search answers which question, and each of the two alone against trying every placement."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from support.problems import NO_RULES, best_by_trying, every_placement, problem_of, random_problem, with_times
from support.timed import GB, PLAIN_OBJECTIVES, askable, barred, growing, joined, near, timed, within

from solver.effort import Effort
from solver.exact import prefix
from solver.exact.prefix import TableError
from solver.exact.searches import ChainAnswers, PrefixAnswers
from solver.limits import NO_LIMITS, Limits, kept_by
from solver.objectives import OBJECTIVES
from solver.problem import Placement, Stage
from solver.provers import ExactSearch
from solver.solution import Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from solver.objectives import Objective
    from solver.problem import Problem

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
PLAIN = growing(timed(problem_of((4, 5, 6, 7), (15, 9, 15)), (GB, GB, 2 * GB)), (1, 1, 1, 1))
FALLING = timed(PLAIN, (GB, GB, (5, 4, 3, 2)))
UNLIKE_RATES = joined(PLAIN, near(1, GB), ("n0", "n1", near(1)), activation_bytes=3)
# Their budgets alone tell 24 nodes apart: any four hold everything.
MANY = problem_of((1,) * 40, tuple(range(20, 44)))


@pytest.mark.parametrize(
    ("problem", "name", "limits", "expected"),
    [
        *((PLAIN, name, NO_LIMITS, name != "latency") for name in PLAIN_OBJECTIVES),
        (PLAIN, "nodes", within(max_latency_ns=99), False),
        (PLAIN, "balance", within(max_slowest_ns=9, min_tokens=1, max_nodes=3), True),
        (FALLING, "balance", NO_LIMITS, True),
        (FALLING, "throughput", NO_LIMITS, False),
        (FALLING, "balance", within(max_slowest_ns=9), False),
        (UNLIKE_RATES, "load", NO_LIMITS, True),
        (UNLIKE_RATES, "throughput", NO_LIMITS, False),
        (UNLIKE_RATES, "load", within(max_slowest_ns=9), False),
        (replace(PLAIN, rules=replace(NO_RULES, min_blocks=2)), "nodes", NO_LIMITS, False),
        (joined(PLAIN, near(1), ("n0", "n1", barred()), activation_bytes=0), "nodes", NO_LIMITS, False),
        (MANY, "nodes", NO_LIMITS, True),
        (MANY, "load", within(max_nodes=2), True),
        (MANY, "load", NO_LIMITS, False),
    ],
)
def test_the_prefix_search_answers_where_more_is_never_worse_and_few_nodes_are_needed(
    problem: Problem, name: str, limits: Limits, expected: bool
) -> None:
    assert expected is PrefixAnswers(problem).answer(name, limits)


@pytest.mark.parametrize(
    ("problem", "seconds", "expected"),
    [
        (PLAIN, 60, True),
        (replace(PLAIN, rules=replace(NO_RULES, min_blocks=2)), 60, True),
        (joined(PLAIN, near(1), ("n0", "n1", barred()), activation_bytes=0), 60, True),
        (MANY, 60, False),
        (problem_of((1,) * 40, (2,) * 400), 60, True),
        (problem_of((1,) * 60, tuple(range(20, 34))), 60, True),
        (problem_of((1,) * 60, tuple(range(20, 31))), 1e-9, True),
        (problem_of((1,) * 60, tuple(range(20, 34))), 1e-9, False),
        (problem_of((1,), (0,)), 60, True),
    ],
    ids=["plain", "two blocks", "a forbidden link", "24 unlike", "400 equal", "14 unlike", "11 unlike and no time",
         "14 unlike and no time", "no node"],
)  # fmt: skip
def test_the_chain_search_answers_where_states_are_few(problem: Problem, seconds: float, expected: bool) -> None:
    """Whatever the rules; in no time what takes about a second."""
    assert expected is ChainAnswers(problem).answer("nodes", replace(EFFORT, time_limit_seconds=seconds))


def test_the_fewest_of_many_unlike_nodes_are_found_among_the_largest() -> None:
    """A table of all 24 would be too large; one of the few that can be needed is not, and chooses among all."""
    answers = PrefixAnswers(MANY)
    alone = Placement((Stage(0, 40, "n20"),))
    limits = within(max_load_bytes=21)
    found = answers.find(limits)

    assert (Placement((Stage(0, 40, "n23"),)), alone) == (answers.find(NO_LIMITS), answers.canonical(NO_LIMITS))
    assert found is not None
    assert {"n22", "n23"} == {stage.node for stage in found.stages}
    assert Placement((Stage(0, 20, "n0"), Stage(20, 40, "n1"))) == answers.canonical(limits)


def test_where_only_too_many_kinds_of_nodes_could_tell_the_search_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 6 on nodes of 10 and less hold one each: arithmetic takes eight nodes for enough, and there are ten."""
    problem = problem_of((6,) * 11, (10, 10, 10, 10, 10, 10, 9, 9, 9, 9, 9))
    monkeypatch.setattr(prefix, "_MOST_CELLS", 60)

    assert PrefixAnswers(problem).answer("nodes", within(max_nodes=7)) is True
    with pytest.raises(TableError):
        PrefixAnswers(problem).find(NO_LIMITS)


def test_layouts_are_kept_for_the_next_question_as_long_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one used longest ago goes first; the last one stays whatever its size."""
    answers = PrefixAnswers(PLAIN)
    laid_out: list[int] = []
    original = prefix.lay_out_search

    def lay_out(problem: Problem, groups: tuple[object, ...], nodes: int) -> object:
        laid_out.append(nodes)
        return original(problem, groups, nodes)  # type: ignore[arg-type]

    monkeypatch.setattr("solver.exact.searches.lay_out_search", lay_out)
    for limits in (within(max_nodes=1), within(max_nodes=2), within(max_nodes=1), within(max_nodes=2)):
        answers.answer("load", limits)

    assert [1, 2] == laid_out
    monkeypatch.setattr("solver.exact.searches._MOST_KEPT_CELLS", 1)
    for limits in (within(max_nodes=1), within(max_nodes=2), within(max_nodes=2), within(max_nodes=1)):
        answers.answer("load", limits)

    assert [1, 2, 2, 1] == laid_out


def declines(*_: object, **__: object) -> bool:
    """Stand for a search that answers nothing."""
    return False


@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("hundred", range(4))
def test_the_chain_search_alone_finds_the_best_of_all_placements(
    hundred: int, ruled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every objective and of two together: forbidden links, numbers of blocks, and measured times that fall."""
    monkeypatch.setattr(PrefixAnswers, "answer", declines)
    seen: set[str] = set()
    for seed in range(100 * hundred, 100 * hundred + 100):
        random = Random(50_000 + seed)
        problem = with_times(random_problem(random, 6, 4, ruled=ruled), random)
        wanted = tuple(random.sample(askable(problem), random.choice((1, 2))))
        seen |= {objective.name for objective in wanted} | kinds_of(problem)
        assert_best(problem, wanted)
    hard = {"a forbidden link", "at least two blocks"} if ruled else {"a forbidden link"}

    assert {*PLAIN_OBJECTIVES, *hard, "falling times"} <= seen


@pytest.mark.parametrize("hundred", range(4))
def test_the_prefix_search_alone_finds_the_best_of_all_placements(
    hundred: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all objectives that it answers, on problems with rules that it can follow."""
    monkeypatch.setattr(ChainAnswers, "answer", declines)
    seen: set[str] = set()
    for seed in range(100 * hundred, 100 * hundred + 100):
        random = Random(70_000 + seed)
        problem = with_times(random_problem(random, 6, 4, ruled=seed % 2 == 1), random)
        problem = replace(problem, rules=replace(problem.rules, min_blocks=1), links=replace(problem.links, pairs=()))
        answers = PrefixAnswers(problem)
        answered = [objective for objective in askable(problem) if answers.answer(objective.name, NO_LIMITS)]
        by_time = answers.answer("throughput", NO_LIMITS)
        for objective in random.sample(answered, min(2, len(answered))):
            wanted = (objective, OBJECTIVES["nodes"]) if by_time and objective.name != "nodes" else (objective,)
            seen |= {objective.name for objective in wanted}
            assert_best(problem, wanted)

    assert {*PLAIN_OBJECTIVES} - {"latency"} == seen


def assert_best(problem: Problem, wanted: tuple[Objective, ...]) -> None:
    """Expect the values, and the placement itself, that trying every placement gives; no other prover helps."""
    best = best_by_trying(problem, wanted)
    solution = solve(problem, wanted, EFFORT, provers=(ExactSearch(problem),))

    if best is None:
        assert Outcome.INFEASIBLE is solution.outcome
        return
    assert Outcome.OPTIMAL is solution.outcome
    assert best.values == tuple(level.value for level in solution.levels)
    assert best.values == tuple(level.bound for level in solution.levels)
    assert best.placement == solution.placement


def kinds_of(problem: Problem) -> set[str]:
    """Return what makes a problem hard for other searches."""
    tables = [node.stage_ns for node in problem.nodes if node.stage_ns is not None]
    kinds = {
        "a forbidden link": problem.has_forbidden_links,
        "at least two blocks": problem.rules.min_blocks > 1,
        "falling times": any(list(table) != sorted(table) for table in tables),
    }
    return {kind for kind, there in kinds.items() if there}


@pytest.mark.parametrize("hundred", range(3))
def test_within_any_limits_both_searches_find_the_same_placement_or_none(hundred: int) -> None:
    """The canonical one, against every placement that keeps to them."""
    answered = {PrefixAnswers: 0, ChainAnswers: 0}
    for seed in range(100 * hundred, 100 * hundred + 100):
        random = Random(90_000 + seed)
        problem = with_times(random_problem(random, 6, 4, ruled=seed % 2 == 1), random)
        placements = list(every_placement(problem))
        limits = NO_LIMITS
        for objective in random.sample(askable(problem), 3):
            if placements:
                limits = objective.at_most(limits, objective.cost(problem, random.choice(placements)))
        kept = sum(kept_by(problem, limits, placement) for placement in placements)
        nodes = min(
            (len(placement.stages) for placement in placements if kept_by(problem, limits, placement)), default=None
        )
        prefix_answers, chain_answers = PrefixAnswers(problem), ChainAnswers(problem)
        found = chain_answers.find(limits)
        answered[ChainAnswers] += 1

        assert (kept > 0) == (found is not None)
        if found is not None:
            assert nodes == len(found.stages)
            assert kept_by(problem, limits, found)
            assert nodes == chain_answers.least("nodes", limits)[0]
        if prefix_answers.answer("nodes", limits):
            answered[PrefixAnswers] += 1
            assert found == prefix_answers.canonical(limits)
    assert min(answered.values()) > 10
