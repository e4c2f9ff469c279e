"""Why nothing fits: each kind of reason in full, with what was found to help behind it."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from support.problems import NO_LINKS, NO_RULES, problem_of

from solver import trials
from solver.effort import Effort
from solver.objectives import OBJECTIVES
from solver.planning import plan
from solver.problem import Ends, Link, LinkPair, Problem, Rules
from solver.reasons import reasons_why_infeasible
from solver.solution import Outcome, Solution
from solver.solve import solve

if TYPE_CHECKING:
    from solver.objectives import Objective

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
BARRED = Link(latency_ns=0, bytes_per_second=None, forbidden=True)
NO_WAY = tuple(LinkPair(source, target, BARRED) for source, target in (("n0", "n1"), ("n1", "n0")))


def infeasible(problem: Problem) -> tuple[str, ...]:
    """Return the reasons of a problem that has no placement."""
    assert Outcome.INFEASIBLE is solve(problem, (OBJECTIVES["nodes"],), EFFORT).outcome
    return reasons_why_infeasible(problem, None, EFFORT)


def fits(problem: Problem) -> bool:
    return solve(problem, (OBJECTIVES["nodes"],), EFFORT).placement is not None


def with_nodes_like(problem: Problem, name: str) -> Problem:
    return replace(problem, nodes=(*problem.nodes, replace(problem.nodes_by_name[name], name="extra")))


def with_rules(problem: Problem, **rules: object) -> Problem:
    return replace(problem, rules=replace(NO_RULES, **rules))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("problem", "reasons"),
    [
        (
            problem_of((1, 2), (0, 0)),
            (
                "No node may take a block: none has a budget after its reserve.",
                "With a budget of 3 B for n0 it fits.",
            ),
        ),
        (
            with_rules(problem_of((1,), (9, 9)), exclude=("n0", "n1")),
            ("The model fits but for these rules, and together they leave no placement: exclude n0; exclude n1.",),
        ),
        (
            with_rules(problem_of((10,), (9, 9)), exclude=("n0", "n1")),
            ("No node may take a block: every node is excluded.",),
        ),
        (
            with_rules(problem_of((10,), (9, 0)), exclude=("n0",)),
            (
                "No node may take a block: every node is excluded or has no budget after its reserve.",
                "With a budget of 10 B for n1 it fits.",
            ),
        ),
    ],
    ids=["no budget", "all excluded", "all excluded and too small", "both"],
)
def test_no_node_may_take_a_block(problem: Problem, reasons: tuple[str, ...]) -> None:
    """What would help is said here too."""
    assert reasons == infeasible(problem)


def test_a_block_that_fits_no_node_is_named_with_the_largest_budget() -> None:
    """The head belongs to the last block."""
    problem = problem_of((3, 3, 4096), (9, 4000, 50), ends=Ends(0, 100, 0, 0))

    expected = (
        "Block 2 with what belongs to it takes 4.10 KiB (4,196 bytes), "
        "more than the largest budget, 3.91 KiB (4,000 bytes) on n1."
    )

    assert expected == infeasible(problem)[0]


def test_one_block_with_tied_ends_takes_them_once() -> None:
    assert (
        "Block 0 with what belongs to it takes 14 B, more than the largest budget, 13 B on n0.",
        "With 1 B more memory for n0 it fits.",
    ) == infeasible(problem_of((4,), (13,), ends=Ends(4, 6, 0, 0)))
    assert (
        "Block 0 with what belongs to it takes 10 B, more than the largest budget, 9 B on n0.",
        "With 1 B more memory for n0 it fits.",
    ) == infeasible(problem_of((4,), (9,), ends=Ends(4, 6, 4, 0)))


def test_budgets_that_are_too_small_together_are_short_by_so_much() -> None:
    """Two nodes hold 11 of 12 bytes; another of the smaller kind is enough, and one byte less would not be."""
    problem = problem_of((3, 3, 3, 3), (6, 5))

    assert (
        "The budgets together hold 11 B and the model needs 12 B: short by 1 B.",
        "With 1 B more memory for n1 it fits.",
        "With one more node like n1, with a budget of 5 B, it fits.",
    ) == infeasible(problem)
    assert fits(with_nodes_like(problem, "n1"))


def test_blocks_that_do_not_divide_are_a_near_miss() -> None:
    """Room for 15 bytes in all, and blocks of 4 fill 4 of 5 each: the budgets must hold 8 on one."""
    problem = problem_of((4, 4, 4, 2), (5, 5, 5))

    assert (
        "The budgets together hold 1 B more than the model needs, but blocks do not divide and no order of the nodes "
        "takes them all."
    ) == infeasible(problem)[0]
    assert (
        "The nearest miss puts 6 B on n2, 1 B above its budget: every budget would have to be 20.00 % larger.",
        "With 1 B more memory for n0 it fits.",
        "With one more node like n0, with a budget of 5 B, it fits.",
    ) == infeasible(problem)[1:]


@pytest.mark.parametrize("budgets", [(5, 5, 5), (5000, 5001, 5002), (4999, 5600, 4100)])
def test_budgets_that_grow_by_what_the_near_miss_says_are_enough(budgets: tuple[int, ...]) -> None:
    """The share is rounded up where it is not exact, by less than what makes the difference."""
    scale = budgets[0]
    problem = problem_of((*((4 * scale // 5,) * 3), scale // 2), budgets)
    (share,) = re.findall(r"would have to be ([\d.]+) % larger", " ".join(infeasible(problem)))

    def grown(percent: Fraction) -> Problem:
        nodes = tuple(
            replace(node, budget_bytes=int(node.budget_bytes * (1 + percent / 100))) for node in problem.nodes
        )
        return replace(problem, nodes=nodes)

    assert fits(grown(Fraction(share)))
    assert not fits(grown(Fraction(share) - Fraction(2, 100)))


def test_a_near_miss_that_is_not_proved_nearest_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def limited(problem: Problem, objectives: tuple[Objective, ...], effort: Effort) -> Solution:
        solution = solve(problem, objectives, effort)
        return replace(solution, outcome=Outcome.FEASIBLE) if solution.placement is not None else solution

    monkeypatch.setattr(trials, "solve", limited)

    assert re.fullmatch(
        r"The nearest miss found puts 6 B on n\d, 1 B above its budget: "
        r"every budget would have to be at most 20\.00 % larger\.",
        reasons_why_infeasible(problem_of((4, 4, 4, 2), (5, 5, 5)), None, EFFORT)[1],
    )


@pytest.mark.parametrize(
    ("rules", "conflict"),
    [
        (
            replace(NO_RULES, pins=((0, "n0"), (2, "n0"), (1, "n1"))),
            "these rules, and together they leave no placement: block 0 on n0; block 2 on n0",
        ),
        (
            replace(NO_RULES, pins=((1, "n0"), (1, "n1"))),
            "these rules, and together they leave no placement: block 1 on n0; block 1 on n1",
        ),
        (
            replace(NO_RULES, first="n0", last="n0", max_nodes=1),
            "this rule, which leaves no placement: at most 1 node",
        ),
        (
            replace(NO_RULES, order=("n0", "n1"), first="n1", last="n0"),
            "these rules, and together they leave no placement: last n0; order n0, n1",
        ),
        (replace(NO_RULES, min_blocks=4), "this rule, which leaves no placement: at least 4 blocks a node"),
        (replace(NO_RULES, exclude=("n0",)), "this rule, which leaves no placement: exclude n0"),
        (replace(NO_RULES, first="n1", exclude=("n1",)), "this rule, which leaves no placement: exclude n1"),
    ],
    ids=[
        "a split pin",
        "a block pinned twice",
        "one node",
        "order against ends",
        "too few blocks",
        "excluded",
        "first excluded",
    ],
)
def test_rules_that_leave_nothing_are_the_reason(rules: Rules, conflict: str) -> None:
    """Those alone that are needed for it."""
    problem = replace(problem_of((3, 3, 3), (7, 7)), rules=rules)

    assert f"The model fits but for {conflict}." == infeasible(problem)[0]
    assert fits(replace(problem, rules=NO_RULES))


def test_forbidden_links_that_leave_nothing_are_the_reason() -> None:
    problem = replace(problem_of((3, 3, 3), (7, 7)), links=replace(NO_LINKS, pairs=NO_WAY))

    assert (
        "The model fits but for this rule, which leaves no placement: the forbidden links.",
        "With 2 B more memory for n0 it fits.",
        "With one more node like n0, with a budget of 7 B, it fits.",
    ) == infeasible(problem)
    assert fits(with_nodes_like(problem, "n0"))


def test_rules_and_links_that_leave_nothing_only_together_are_named_together() -> None:
    """Links lead on from n2 alone, which is to be the last."""
    links = replace(NO_LINKS, pairs=(*NO_WAY, *(LinkPair(node, "n2", BARRED) for node in ("n0", "n1"))))
    problem = with_rules(problem_of((3, 3, 3), (7, 7, 4), links=links), last="n2")

    assert (
        "The model fits but for these rules, and together they leave no placement: last n2; the forbidden links."
        == infeasible(problem)[0]
    )


def test_rules_on_a_problem_that_is_too_large_anyway_are_not_the_reason() -> None:
    problem = with_rules(problem_of((9, 9), (9, 8)), first="n1")

    assert "Block" not in infeasible(problem)[0]
    assert "The budgets together hold 17 B and the model needs 18 B: short by 1 B." == infeasible(problem)[0]


def test_what_could_not_be_told_apart_in_time_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules are there, no search ends in time, and no split rule fits: that blocks do not divide is not known."""

    def spent(problem: Problem, objectives: tuple[Objective, ...], effort: Effort) -> Solution:
        return solve(problem, objectives, replace(effort, time_limit_seconds=1e-9))

    monkeypatch.setattr(trials, "solve", spent)

    expected = (
        "The budgets together hold 5 B more than the model needs; "
        "which rules or links leave no placement could not be told in a short time."
    )

    problem = with_rules(problem_of((1, 1, 1, 7), (9, 6)), min_blocks=5)

    assert (expected,) == reasons_why_infeasible(problem, None, EFFORT)


def test_an_interrupt_ends_the_search_for_reasons_and_not_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing fits: that is proved, and said."""

    def interrupted(problem: Problem, objectives: tuple[Objective, ...], effort: Effort) -> Solution:
        return replace(solve(problem, objectives, effort), interrupted=True)

    monkeypatch.setattr(trials, "solve", interrupted)
    found = plan(problem_of((4, 4, 4, 2), (5, 5, 5)))

    assert (Outcome.INFEASIBLE, True) == (found.outcome, found.solution.interrupted)
    assert ("No placement exists; the search for the reason was interrupted.",) == found.reasons
