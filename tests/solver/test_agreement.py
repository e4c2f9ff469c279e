"""The searches and the CP-SAT model against trying every placement, and against each other where that takes long."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import NO_LINKS, NO_RULES, best_by_trying, larger_problem, problem_of, random_problem
from support.strategies import problems, ruled_problems

from solver.effort import Effort
from solver.objectives import objectives_named
from solver.problem import Ends, Link, LinkPair, Links
from solver.problem_file import checked
from solver.provers import ClosedForm, ConstraintSolver, ExactSearch
from solver.solution import Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from support.problems import Best

    from solver.problem import Problem
    from solver.provers import Prover
    from solver.solution import Solution

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


def by_search(problem: Problem, wanted: str) -> Solution:
    return solved(problem, wanted, ExactSearch(problem))


def by_model(problem: Problem, wanted: str) -> Solution:
    return solved(problem, wanted, ConstraintSolver())


def solved(problem: Problem, wanted: str, prover: Prover) -> Solution:
    return solve(problem, objectives_named(wanted), EFFORT, provers=(ClosedForm(), prover))


def nodes_of(solution: Solution) -> list[str] | None:
    return None if solution.placement is None else [stage.node for stage in solution.placement.stages]


def assert_best(best: Best | None, solution: Solution) -> None:
    """Expect the outcome, every value and bound, and the placement itself of the oracle."""
    if best is None:
        assert Outcome.INFEASIBLE is solution.outcome
        assert solution.placement is None
        return
    assert Outcome.OPTIMAL is solution.outcome
    assert best.values == tuple(level.value for level in solution.levels)
    assert best.values == tuple(level.bound for level in solution.levels)
    assert best.placement == solution.placement


def assert_both_best(problem: Problem, wanted: str) -> None:
    best = best_by_trying(problem, objectives_named(wanted))

    assert_best(best, by_model(problem, wanted))
    assert_best(best, by_search(problem, wanted))


@pytest.mark.parametrize("hundred", range(11))
def test_both_return_the_canonical_best_of_all_placements(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        random = Random(seed)
        assert_both_best(random_problem(random, 6, 4), random.choice(LISTS))


@pytest.mark.parametrize("hundred", range(11))
def test_both_return_the_canonical_best_under_rules(hundred: int) -> None:
    """Rules may contradict each other."""
    for seed in range(100 * hundred, 100 * hundred + 100):
        random = Random(10_000 + seed)
        assert_both_best(random_problem(random, 6, 4, ruled=True), random.choice(LISTS))


@settings(max_examples=60, deadline=None)
@given(problem=problems(), wanted=st.sampled_from(LISTS))
def test_any_small_problem_gets_its_canonical_best(problem: Problem, wanted: str) -> None:
    assert_both_best(problem, wanted)


@settings(max_examples=60, deadline=None)
@given(problem=ruled_problems(), wanted=st.sampled_from(LISTS))
def test_any_small_problem_with_rules_gets_its_canonical_best(problem: Problem, wanted: str) -> None:
    assert_both_best(problem, wanted)


@settings(max_examples=40, deadline=None)
@given(problem=ruled_problems(), wanted=st.sampled_from(LISTS))
def test_cp_sat_needs_no_bound_of_others(problem: Problem, wanted: str) -> None:
    """Alone it proves the same, so that it can prove again what others proved."""
    objectives = objectives_named(wanted)
    solution = solve(problem, objectives, EFFORT, provers=(ConstraintSolver(),))

    assert_best(best_by_trying(problem, objectives), solution)


@pytest.mark.parametrize("fifteen", range(8))
def test_search_and_model_agree_on_larger_problems(fifteen: int) -> None:
    """Two methods that share no search: the same values as fractions, and the same placement."""
    for seed in range(15 * fifteen, 15 * fifteen + 15):
        random = Random(seed)
        problem = larger_problem(random, ruled=seed % 2 == 1)
        wanted = random.choice(("nodes", "load", "balance", "nodes,load", "nodes,balance"))
        searched, modelled = by_search(problem, wanted), by_model(problem, wanted)

        assert searched.outcome in (Outcome.OPTIMAL, Outcome.INFEASIBLE)
        assert searched.outcome is modelled.outcome
        assert [level.value for level in searched.levels] == [level.value for level in modelled.levels]
        assert searched.placement == modelled.placement


# A third of one node's budget is out of reach for floats: the blocks are one byte from each other.
REAL = tuple(10**12 // 3 + index for index in range(12))


@pytest.mark.parametrize("wanted", LISTS)
def test_real_sizes_overflow_nothing(wanted: str) -> None:
    """Blocks of a third of a terabyte on budgets beyond a terabyte, a byte apart: exact, by both methods."""
    budgets = (10**12, 10**12 + 1, 4 * 10**12 // 3, 2 * 10**12, 2 * 10**12 - 1)
    problem = problem_of(REAL[:9], budgets, ends=Ends(7 * 10**9, 9 * 10**9, 7 * 10**9, 1))
    searched, modelled = by_search(problem, wanted), by_model(problem, wanted)

    assert Outcome.OPTIMAL is searched.outcome
    assert [(level.value, level.bound) for level in searched.levels] == [
        (level.value, level.bound) for level in modelled.levels
    ]
    assert searched.placement == modelled.placement


def test_ratios_that_floats_cannot_tell_apart_are_told_apart() -> None:
    """On budgets near 2^60 a byte more is nothing to a float: the fullest node is the first, by one byte."""
    budget = 2**60 - 1
    problem = problem_of((2**57 + 1, 2**57), (budget, budget - 7))
    level = by_search(problem, "balance").levels[0]

    assert Fraction(2**57 + 1, budget) == level.value == level.bound
    assert float(level.value) == float(Fraction(2**57, budget - 7))


@pytest.mark.parametrize("exponent", [53, 54, 55])
def test_bounds_of_cp_sat_are_exact_where_floats_have_gaps(exponent: int) -> None:
    """Sums beyond 2^53 bytes are no floats, so the objective's value is never read as one."""
    random = Random(exponent)
    weights = tuple(random.randrange(2 ** (exponent - 1), 2**exponent) | 1 for _ in range(10))
    problem = problem_of(weights, tuple(sum(weights) * share // 30 for share in (10, 12, 9, 11)))

    assert by_search(problem, "load").levels[0].value == by_model(problem, "load").levels[0].value


def test_what_is_too_large_for_cp_sat_is_unknown_and_not_wrong() -> None:
    """Its sums are of 64 bits; the exact search goes on to 2^61 bytes."""
    problem = checked(problem_of((2**59 + 1, 2**59), (2**60, 2**60 - 1)), "problem")

    assert Outcome.OPTIMAL is by_search(problem, "load").outcome
    assert Outcome.UNKNOWN is by_model(problem, "load").outcome


@pytest.mark.parametrize(
    ("weights", "budgets", "ends"),
    [
        pytest.param((0,), (5,), (0, 0, 0, 0), id="a block of no bytes"),
        pytest.param((0, 0, 0), (5, 5), (0, 0, 0, 0), id="only blocks of no bytes"),
        pytest.param((0,), (0,), (0, 0, 0, 0), id="no bytes on no budget"),
        pytest.param((3, 0, 0, 3), (3, 3), (0, 0, 0, 0), id="blocks of no bytes between"),
        pytest.param((7,), (7,), (0, 0, 0, 0), id="one block that fills one node"),
        pytest.param((7,), (6,), (0, 0, 0, 0), id="one block too large by a byte"),
        pytest.param((1, 2), (9, 9, 9, 9, 9), (0, 0, 0, 0), id="more nodes than blocks"),
        pytest.param((1, 2), (0, 0), (0, 0, 0, 0), id="no budget at all"),
        pytest.param((1, 2), (0, 3), (0, 0, 0, 0), id="one budget of none"),
        pytest.param((4,), (10,), (3, 6, 6, 0), id="one block with both ends tied"),
        pytest.param((4, 4), (14,), (6, 6, 6, 0), id="tied ends that fit one node only when paid once"),
        pytest.param((4, 4), (13, 10), (6, 6, 6, 0), id="tied ends that are paid twice on two nodes"),
        pytest.param((1, 1, 1), (9, 9), (0, 9, 9, 0), id="a tied part larger than the input"),
        pytest.param((1, 1, 1), (4, 2), (0, 0, 0, 2), id="host bytes on the first node"),
    ],
)
@pytest.mark.parametrize("wanted", ["nodes,balance", "load,nodes"])
def test_edges(
    weights: tuple[int, ...], budgets: tuple[int, ...], ends: tuple[int, int, int, int], wanted: str
) -> None:
    """Nothing is divided by nothing, and nothing is placed on a node without a budget."""
    assert_both_best(problem_of(weights, budgets, ends=Ends(*ends)), wanted)


FIVES = problem_of((2, 2, 2, 2), (5, 5, 9))
BARRED = Link(latency_ns=0, bytes_per_second=None, forbidden=True)
NEAR = Link(latency_ns=7, bytes_per_second=None, forbidden=False)


def barring(*ways: tuple[str, str]) -> Links:
    return replace(NO_LINKS, pairs=tuple(LinkPair(source, target, BARRED) for source, target in ways))


@pytest.mark.parametrize(
    ("changes", "nodes"),
    [
        pytest.param({"first": "n2", "last": "n2"}, ["n2"], id="first is last and holds all"),
        pytest.param({"first": "n0", "last": "n0"}, None, id="first is last and cannot hold all"),
        pytest.param({"pins": ((0, "n0"), (0, "n0"))}, ["n0", "n1"], id="a pin twice"),
        pytest.param({"pins": ((0, "n0"), (0, "n1"))}, None, id="a block pinned to two nodes"),
        pytest.param({"pins": ((0, "n0"), (2, "n0"), (1, "n1"))}, None, id="a pin between two of another node"),
        pytest.param({"pins": ((0, "n0"), (3, "n0"))}, None, id="pins farther apart than the node holds"),
        pytest.param({"first": "n0", "pins": ((0, "n1"),)}, None, id="first and a pin that contradict each other"),
        pytest.param(
            {"exclude": ("n2",), "order": ("n2", "n1", "n0")}, ["n1", "n0"], id="an order of an excluded node"
        ),
        pytest.param({"exclude": ("n2",), "first": "n2"}, None, id="an excluded first"),
        pytest.param({"exclude": ("n0", "n1", "n2")}, None, id="all excluded"),
        pytest.param({"order": ("n2", "n0", "n1"), "last": "n2"}, ["n2"], id="an order that leaves one node"),
        pytest.param({"order": ("n1", "n0"), "exclude": ("n2",)}, ["n1", "n0"], id="an order against the list"),
        pytest.param({"min_blocks": 5}, None, id="more blocks a node than there are"),
        pytest.param({"min_blocks": 4}, ["n2"], id="as many blocks a node as there are"),
        pytest.param({"max_nodes": 1, "exclude": ("n2",)}, None, id="too few nodes"),
        pytest.param({"max_nodes": 99}, ["n2"], id="more nodes allowed than there are"),
    ],
)
def test_rules_at_their_edges(changes: dict[str, object], nodes: list[str] | None) -> None:
    """The fewest nodes under rules, or that there is no placement; by trying all, by search and by model."""
    problem = replace(FIVES, rules=replace(NO_RULES, **changes))  # type: ignore[arg-type]

    assert_both_best(problem, "nodes")
    assert nodes == nodes_of(by_model(problem, "nodes"))


@pytest.mark.parametrize(
    ("links", "nodes"),
    [
        (barring(("n0", "n1")), ["n1", "n0"]),
        (barring(("n0", "n1"), ("n1", "n0")), None),
        (barring(("n0", "n2"), ("n2", "n0")), ["n0", "n1"]),
    ],
    ids=["one way", "both ways", "to a node that is out"],
)
def test_forbidden_links_at_their_edges(links: Links, nodes: list[str] | None) -> None:
    problem = replace(FIVES, links=links, rules=replace(NO_RULES, exclude=("n2",)))

    assert_both_best(problem, "nodes,balance")
    assert nodes == nodes_of(by_model(problem, "nodes"))


def test_nodes_that_a_link_tells_apart_are_taken_in_the_order_of_their_classes() -> None:
    """Four equal nodes, two of them with a link to the last: three classes, and one group to the search."""
    links = replace(NO_LINKS, pairs=(LinkPair("n0", "n3", NEAR), LinkPair("n2", "n3", NEAR)))
    problem = problem_of((3, 3, 3, 3), (3, 3, 3, 3), links=links)

    assert_both_best(problem, "nodes,balance")
    assert ["n0", "n2", "n1", "n3"] == nodes_of(by_search(problem, "nodes"))
