"""Several devices of one machine: they take a stage each and count as one node."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.problems import NO_RULES, problem_of

from solver.effort import Effort
from solver.measures import nodes_used
from solver.objectives import objectives_named
from solver.problem import Placement, Problem, Stage
from solver.problem_file import problem_from_document, problem_to_document
from solver.rules import violations
from solver.solution import Outcome
from solver.solve import solve

BRIEF = Effort(time_limit_seconds=20.0, deterministic_limit=None, workers=1, seed=0)


def two_machines() -> Problem:
    """Return six equal blocks, two cards in one machine and one card in another, of two blocks each."""
    problem = problem_of((1, 1, 1, 1, 1, 1), (2, 2, 2))
    machines = ("desk", "desk", None)
    return replace(
        problem, nodes=tuple(replace(node, machine=name) for node, name in zip(problem.nodes, machines, strict=True))
    )


ALL_THREE = Placement((Stage(0, 2, "n0"), Stage(2, 4, "n1"), Stage(4, 6, "n2")))


def test_devices_of_one_machine_are_one_node() -> None:
    assert 2 == nodes_used(two_machines(), ALL_THREE)
    assert 3 == nodes_used(problem_of((1, 1, 1, 1, 1, 1), (2, 2, 2)), ALL_THREE)


def test_a_device_may_bear_the_name_of_another_machine() -> None:
    """A machine called n2 and a device called n2 of no machine are two nodes."""
    problem = two_machines()
    nodes = tuple(replace(node, machine="n2") if node.machine else node for node in problem.nodes)

    assert 2 == nodes_used(replace(problem, nodes=nodes), ALL_THREE)


def test_the_rule_on_nodes_counts_machines() -> None:
    rules = replace(NO_RULES, max_nodes=2)

    assert () == violations(replace(two_machines(), rules=rules), ALL_THREE)


def test_equal_devices_of_different_machines_are_told_apart() -> None:
    """Which machine a stage is on matters to the count of nodes."""
    assert [2, 1] == [group.count for group in two_machines().classes]


def test_machines_survive_the_document_and_stand_in_no_other() -> None:
    problem = two_machines()
    document = problem_to_document(problem)

    assert problem == problem_from_document(document, "problem.json")
    assert ["desk", "desk", None] == [node.get("machine") for node in document["nodes"]]
    assert "machine" not in document["nodes"][2]


def test_counted_devices_of_a_document_stand_in_its_machine() -> None:
    document = {
        "schema": "layerfit/problem/1",
        "blocks": [{"weight_bytes": 1}],
        "nodes": [{"name": "card", "budget_bytes": 2, "count": 2, "machine": "desk"}],
    }
    problem = problem_from_document(document, "problem.json")

    assert [("card-1", "desk"), ("card-2", "desk")] == [(node.name, node.machine) for node in problem.nodes]


def test_what_does_not_count_nodes_is_solved() -> None:
    solution = solve(two_machines(), objectives_named("balance"), BRIEF)

    assert Outcome.OPTIMAL == solution.outcome
    assert [2, 2, 2] == [stage.end - stage.start for stage in solution.placement.stages]  # type: ignore[union-attr]


def test_machines_are_counted_where_several_devices_are_used() -> None:
    """Three devices of two blocks each are needed, and two of them stand in one machine."""
    solution = solve(two_machines(), objectives_named("nodes,balance"), BRIEF)

    assert (Outcome.OPTIMAL, [2, 1]) == (solution.outcome, [level.value for level in solution.levels])


@pytest.mark.parametrize(("most", "outcome"), [(1, Outcome.INFEASIBLE), (2, Outcome.OPTIMAL)])
def test_the_rule_on_nodes_limits_machines_in_every_search(most: int, outcome: Outcome) -> None:
    problem = replace(two_machines(), rules=replace(NO_RULES, max_nodes=most))

    assert outcome == solve(problem, objectives_named("load"), BRIEF).outcome
