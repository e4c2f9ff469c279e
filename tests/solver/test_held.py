"""What a device holds beside its stage is load of it, and of a memory whatever is placed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support.problems import problem_of

from solver.errors import InputError
from solver.measures import stage_load
from solver.planning import plan
from solver.problem import Placement, Problem, Stage
from solver.problem_file import problem_from_document, problem_to_document
from solver.rules import violations


def held(problem: Problem, *amounts: int) -> Problem:
    """Return a problem whose nodes hold these bytes beside their stages."""
    nodes = tuple(replace(node, held_bytes=size) for node, size in zip(problem.nodes, amounts, strict=True))
    return replace(problem, nodes=nodes)


def test_it_counts_as_other_bytes_and_leaves_the_budget_as_it_is() -> None:
    problem = held(
        problem_of(
            (
                4,
                4,
            ),
            (
                10,
                10,
            ),
        ),
        2,
        3,
    )
    load = stage_load(problem, Stage(1, 2, "n1"))

    assert (4, 3, 7, 10) == (load.weight_bytes, load.other_bytes, load.load_bytes, load.budget_bytes)
    whole = Placement((Stage(0, 2, "n1"),))
    assert ['"n1" would hold 11 bytes with a budget of 10'] == [v.witness for v in violations(problem, whole)]


def test_only_nodes_that_are_used_hold_it() -> None:
    """The fullest load counts it, so that a node which holds less is the better one."""
    best = plan(
        held(
            problem_of(
                (4,),
                (
                    10,
                    10,
                    10,
                ),
            ),
            3,
            1,
            2,
        ),
        "load",
    )

    assert (["n1"], 5) == ([stage.node for stage in best.stages], best.solution.levels[0].value)
    assert [0, 5, 0] == [pool.load_bytes for pool in best.pools]


def test_balance_is_of_the_whole_load_over_the_whole_budget() -> None:
    best = plan(
        held(
            problem_of(
                (
                    4,
                    4,
                ),
                (
                    20,
                    10,
                ),
            ),
            4,
            0,
        ),
        "balance",
    )

    assert Fraction(4, 10) == best.solution.levels[0].value == best.solution.levels[0].bound


def test_a_node_that_it_fills_by_itself_takes_nothing() -> None:
    without = plan(held(problem_of((4,), (10,)), 11), "nodes")

    assert ("No node may take a block: what one holds beside any stage is more than its budget.",) == without.reasons[
        :1
    ]


def test_a_document_says_it_where_there_is_some_and_refuses_more_of_a_pool_than_there_is() -> None:
    problem = held(
        problem_of(
            (4,),
            (
                10,
                10,
            ),
        ),
        0,
        3,
    )
    document = problem_to_document(problem)

    assert [None, 3] == [node.get("held_bytes") for node in document["nodes"]]
    assert problem == problem_from_document(document, "p")
    document["pools"] = [{"name": "ram", "budget_bytes": 5, "machine": "n0", "held_bytes": 6}]
    with pytest.raises(InputError) as caught:
        problem_from_document(document, "p")
    assert "p, pools[0].held_bytes: 6 is above budget_bytes 5; expected a part of it. Lower it." == str(caught.value)
