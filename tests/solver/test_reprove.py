"""Proofs reached again by another method: claims that are false are found, and true ones stand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from support.plan_documents import (
    EFFORT,
    SPREAD,
    THREES,
    claim_of,
    document_of,
    found_in,
    places,
    planned,
    suboptimal,
)
from support.plans import unknown_plan
from support.planted import Planted, says
from support.problems import problem_of
from support.replicated import REPLICAS, sites
from support.timed import GB, timed

from solver.effort import Effort
from solver.objectives import OBJECTIVES, objectives_named
from solver.planning import plan, project
from solver.problem import Placement, Stage
from solver.recheck import Finding, Reproof, reproved
from solver.solution import Level, Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from collections.abc import Mapping


def reproof(document: Mapping[str, Any], effort: Effort = EFFORT) -> Reproof:
    return reproved(claim_of(document), effort)


def test_a_proof_by_the_exact_search_is_reached_again_by_cp_sat_alone() -> None:
    found = reproof(planned())

    assert (Outcome.OPTIMAL, True, ()) == (found.solution.outcome, found.reached, found.findings)
    assert ["cp-sat", "cp-sat"] == [level.proof for level in found.solution.levels]


def test_a_proof_by_cp_sat_goes_through_every_prover() -> None:
    two = Placement((Stage(0, 2, "n0"), Stage(2, 3, "n1")))
    prover = Planted([says(2, two), says(Fraction(6, 7))], name="cp-sat")
    solution = solve(THREES, objectives_named("nodes,balance"), EFFORT, provers=(prover,))
    found = reproof(document_of(project(THREES, None, solution, two)))

    assert (True, ()) == (found.reached, found.findings)
    assert ["closed form", "exact search"] == [level.proof for level in found.solution.levels]


@pytest.mark.parametrize("weights", [(9, 9), (4, 4, 4, 2)], ids=["by arithmetic", "by search"])
def test_an_infeasible_plan_is_proved_again(weights: tuple[int, ...]) -> None:
    """By CP-SAT alone, without the closed form that may have proved it."""
    document = document_of(plan(problem_of(weights, (5, 5, 5)), "nodes,balance", EFFORT))
    found = reproof(document)

    assert (Outcome.INFEASIBLE, True, ()) == (found.solution.outcome, found.reached, found.findings)


def test_a_wrong_proof_stands_the_audit_and_not_the_proof() -> None:
    """Every figure follows from the inputs; only the claim that nothing is better is false."""
    document = document_of(suboptimal(optimal=True), "nodes")

    assert () == found_in(document)
    assert (
        Finding("objective nodes", "3 is called optimal, 2 is better"),
        Finding("objective nodes", "the bound 3 is above 2, which is reached"),
    ) == reproof(document).findings


def test_a_feasible_plan_with_a_true_bound_is_not_contradicted_by_a_better_one() -> None:
    document = document_of(suboptimal(optimal=False), "nodes")

    assert () == found_in(document)
    assert (True, ()) == (reproof(document).reached, reproof(document).findings)


def test_a_wrong_claim_that_nothing_fits_is_found() -> None:
    nothing = unknown_plan(interrupted=False)
    refuted = replace(nothing.solution, outcome=Outcome.INFEASIBLE, unreached=())
    document = document_of(replace(nothing, solution=refuted, problem=THREES))

    assert () == found_in(document)
    assert (Finding("outcome", "infeasible is said, and there is a placement"),) == reproof(document).findings


def test_a_placement_for_a_problem_without_one_is_found() -> None:
    document = planned()
    for node in document["inputs"]["problem"]["nodes"]:
        node["budget_bytes"] = 3

    assert (Finding("outcome", "optimal is said, infeasible is proved"),) == reproof(document).findings


def test_a_proof_that_is_not_reached_in_time_is_no_finding() -> None:
    found = reproof(planned(), Effort(60, 1e-7, 1, 0))

    assert (False, ()) == (found.reached, found.findings)


def test_levels_behind_one_that_differs_are_not_compared() -> None:
    """They answer another question: here the balance of two nodes beside that of three."""
    nodes = suboptimal(optimal=False).solution
    balance = Level(OBJECTIVES["balance"], Fraction(3, 7), None, (), "none")
    solution = replace(nodes, levels=(*nodes.levels, balance))
    document = document_of(project(THREES, None, solution, SPREAD))

    assert () == found_in(document)
    assert () == reproof(document).findings


def test_entries_that_do_not_match_the_objectives_are_a_finding_and_no_crash() -> None:
    document = planned()
    document["objective"].reverse()

    assert ["objective"] == places(document)
    assert () == reproof(document).findings


def test_a_plan_with_replicas_is_proved_again_by_sets_of_nodes() -> None:
    """The closed form and the search of teams proved it; they are not asked again."""
    found = reproof(document_of(plan(sites(2, 25), "throughput", EFFORT), "throughput"))

    assert (Outcome.OPTIMAL, True, ()) == (found.solution.outcome, found.reached, found.findings)
    assert ["set search"] == [level.proof for level in found.solution.levels]


def test_a_wrong_proof_of_replicas_is_found() -> None:
    """One chain of single nodes is called the best, with a bound to match."""
    problem = sites(2, 25)
    single = Placement((Stage(0, 4, "n0"), Stage(4, 8, "n1")))
    solution = solve(
        problem, objectives_named("throughput"), EFFORT, provers=(Planted([says(10, single)], name="exact search"),)
    )
    document = document_of(project(problem, None, solution, single), "throughput")

    assert (
        Finding("objective throughput", "100000000.0 is called optimal, 200000000.0 is better"),
        Finding("objective throughput", "the bound 100000000.0 is below 200000000.0, which is reached"),
    ) == reproof(document).findings


def test_a_proof_by_sets_of_nodes_goes_through_the_other_search() -> None:
    problem = sites(2, 25)
    best = solve(problem, objectives_named("throughput"), EFFORT).placement
    prover = Planted([says(5, best)], name="set search")
    solution = solve(problem, objectives_named("throughput"), EFFORT, provers=(prover,))
    found = reproof(document_of(project(problem, None, solution, best), "throughput"))

    assert (True, ()) == (found.reached, found.findings)
    assert {"closed form", "exact search"} >= {level.proof for level in found.solution.levels}


def test_that_nothing_fits_with_replicas_is_proved_again_for_single_nodes_by_cp_sat() -> None:
    problem = replace(timed(problem_of((9, 9), (5, 5, 5)), (GB, GB, GB)), rules=REPLICAS)
    found = reproof(document_of(plan(problem, "throughput", EFFORT), "throughput"))

    assert (Outcome.INFEASIBLE, True, ()) == (found.solution.outcome, found.reached, found.findings)
    assert "cp-sat" == found.solution.refuted_by
