"""The best by number of nodes as a document (`layerfit/frontier/1`), a table and text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solver.report.plan_json import instance_sha256, objective_documents, shown, span_document
from solver.report.table import Table
from solver.report.table_text import table_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.frontier import Point
    from solver.objectives import Objective
    from solver.problem import Problem
    from solver.report.terminal import Paint
    from solver.solution import Solution

__all__ = ["FRONTIER_SCHEMA", "frontier_document", "frontier_table", "frontier_text"]

FRONTIER_SCHEMA = "layerfit/frontier/1"


def frontier_document(problem: Problem, objectives: Sequence[Objective], points: Sequence[Point]) -> dict[str, Any]:
    """Return the document: for each point the most nodes allowed, the nodes used, the levels and the stages by name."""
    return {
        "schema": FRONTIER_SCHEMA,
        "instance_sha256": instance_sha256(problem),
        "objective": [objective.name for objective in objectives],
        "points": [
            {
                "max_nodes": point.most_nodes,
                "nodes_used": point.used,
                "outcome": point.solution.outcome.value,
                "objective": objective_documents(point.solution),
                "stages": []
                if point.solution.placement is None
                else [span_document(problem, stage) for stage in point.solution.placement.stages],
            }
            for point in points
        ],
    }


def frontier_table(objectives: Sequence[Objective], points: Sequence[Point]) -> Table:
    """Return the rows: nodes allowed and used, outcome, and for each objective its value, bound and proof."""
    columns = ["max_nodes", "nodes_used", "outcome"]
    for objective in objectives:
        columns += [f"{objective.name} ({objective.unit})", f"{objective.name} bound", f"{objective.name} proof"]
    rows = []
    for point in points:
        row: list[str | int | None] = [point.most_nodes, point.used, point.solution.outcome.value]
        for number in range(len(objectives)):
            row += _cells(point.solution, number)
        rows.append(tuple(row))
    return Table(tuple(columns), tuple(rows))


def frontier_text(objectives: Sequence[Objective], points: Sequence[Point], paint: Paint) -> str:
    """Return the table for a terminal."""
    return "".join(f"{line}\n" for line in table_lines(frontier_table(objectives, points), None, paint))


def _cells(solution: Solution, number: int) -> tuple[str | int | None, str | int | None, str | None]:
    """Return value, bound and proof of an objective; no value and no proof where there is no answer."""
    if solution.unreached:
        bound = solution.unreached[number].bound
        return (None, None if bound is None else _cell(shown(bound)), None)
    if not solution.levels:
        return (None, None, None)
    level = solution.levels[number]
    return (_cell(shown(level.value)), None if level.bound is None else _cell(shown(level.bound)), level.proof)


def _cell(value: float) -> str | int:
    return value if isinstance(value, int) else f"{value:.6g}"
