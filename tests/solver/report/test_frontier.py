"""The best by number of nodes as a document, as a table and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from jsonschema import ValidationError
from support.problems import problem_of

from solver.effort import Effort
from solver.frontier import Point, best_by_nodes
from solver.objectives import objectives_named
from solver.report.frontier import frontier_document, frontier_table, frontier_text
from solver.report.plan_json import instance_sha256
from solver.report.terminal import Paint
from solver.solution import Outcome, Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Validate = Callable[[Mapping[str, Any]], None]

PROBLEM = problem_of((3000, 3000, 3000), (6000, 7000, 4000))
OBJECTIVES = objectives_named("balance,load")
POINTS = best_by_nodes(PROBLEM, OBJECTIVES, range(1, 4), Effort(60, None, 1, 0))
LOST = Solution(Outcome.UNKNOWN, None, (), interrupted=True, deterministic_time=0.0, wall_ms=0)


def test_the_document_has_every_point_with_its_levels_and_stages(validate_document: Validate) -> None:
    document = frontier_document(PROBLEM, OBJECTIVES, POINTS)
    validate_document(document)
    first, second, third = document["points"]

    assert ("layerfit/frontier/1", instance_sha256(PROBLEM), ["balance", "load"]) == (
        document["schema"],
        document["instance_sha256"],
        document["objective"],
    )
    assert {"max_nodes": 1, "nodes_used": None, "outcome": "infeasible", "objective": [], "stages": []} == first
    assert (2, 2, "optimal") == tuple(second[name] for name in ("max_nodes", "nodes_used", "outcome"))
    assert [("balance", 6, 7), ("load", None, None)] == [
        tuple(level[name] for name in ("name", "numerator", "denominator")) for level in second["objective"]
    ]
    assert [6000, 6000, "bytes"] == [second["objective"][1][name] for name in ("value", "bound", "unit")]
    assert {(1, "n0"), (2, "n1")} == {(stage["end"] - stage["start"], stage["node"]) for stage in second["stages"]}
    assert [0, 3] == [third["stages"][0]["start"], third["stages"][-1]["end"]]


@pytest.mark.parametrize("points", [(), (Point(7, None, LOST),)], ids=["no point", "nothing known"])
def test_a_document_without_answers_is_a_document(points: tuple[Point, ...], validate_document: Validate) -> None:
    document = frontier_document(PROBLEM, OBJECTIVES, points)
    validate_document(document)

    assert [point.most_nodes for point in points] == [point["max_nodes"] for point in document["points"]]


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_nodes", 0), ("nodes_used", 0), ("outcome", "proved"), ("objective", None), ("stages", None), ("speed", 3)],
)
def test_the_schema_refuses_what_no_point_can_be(name: str, value: object, validate_document: Validate) -> None:
    document = frontier_document(PROBLEM, OBJECTIVES, POINTS)
    document["points"][1][name] = value

    with pytest.raises(ValidationError):
        validate_document(document)


def test_a_row_has_each_objective_with_its_bound_and_proof() -> None:
    table = frontier_table(OBJECTIVES, (*POINTS[:2], Point(7, None, LOST)))

    assert (
        "max_nodes", "nodes_used", "outcome",
        "balance (ratio)", "balance bound", "balance proof",
        "load (bytes)", "load bound", "load proof",
    ) == table.columns  # fmt: skip
    assert (
        (1, None, "infeasible", None, None, None, None, None, None),
        (2, 2, "optimal", "0.857143", "0.857143", "exact search", 6000, 6000, "exact search"),
        (7, None, "unknown", None, None, None, None, None, None),
    ) == table.rows


def test_the_text_is_the_table() -> None:
    expected = [
        "max nodes  nodes used  outcome     load (bytes)  load bound  load proof",
        "        1              infeasible",
        "        2           2  optimal            6,000       6,000  exact search",
    ]
    points = best_by_nodes(PROBLEM, objectives_named("load"), range(1, 3), Effort(60, None, 1, 0))

    assert expected == frontier_text(objectives_named("load"), points, Paint(enabled=False)).splitlines()
