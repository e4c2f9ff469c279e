"""Every document that a command writes keeps its schema, whatever the answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from support.commands import Layerfit

    Validate = Callable[[Mapping[str, Any]], None]

PROBLEM = {
    "schema": "layerfit/problem/1",
    "blocks": [{"weight_bytes": 3, "cache_bytes": 1}, {"weight_bytes": 4}, {"weight_bytes": 4}],
    "nodes": [{"name": "a", "budget_bytes": 5, "count": 2}, {"name": "b", "budget_bytes": 8}],
}


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    """Return the path of a small problem."""
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(PROBLEM), encoding="utf-8")
    return path


def test_the_plan_of_the_built_in_example(layerfit: Layerfit, validate_document: Validate) -> None:
    """The first command that a newcomer types, as a document."""
    code, out, _ = layerfit("plan", "--json")
    document = json.loads(out)
    validate_document(document)

    assert (0, "optimal") == (code, document["outcome"])


def test_the_plan_of_an_abstract_problem_and_its_audit(
    problem: Path, tmp_path: Path, layerfit: Layerfit, validate_document: Validate
) -> None:
    """Without timings too; nothing of a model stands in it."""
    path = tmp_path / "plan.json"
    code, out, err = layerfit("plan", "--problem", problem, "--json", "--no-timings", "-o", path)
    document = json.loads(out)
    validate_document(document)
    audit = json.loads(layerfit("check", path, "--json").out)
    validate_document(audit)

    assert (0, "") == (code, err)
    assert document["model"] is None
    assert document == json.loads(path.read_text(encoding="utf-8"))
    assert audit["holds"]


def test_a_plan_that_cannot_be(problem: Path, layerfit: Layerfit, validate_document: Validate) -> None:
    """Lists are empty, scalars null, and reasons say why."""
    code, out, _ = layerfit("plan", "--problem", problem, "--json", "--max-nodes", "1")
    document = json.loads(out)
    validate_document(document)

    assert (1, "infeasible", []) == (code, document["outcome"], document["stages"])
    assert document["reasons"]


def test_an_audit_that_finds_something(
    problem: Path, tmp_path: Path, layerfit: Layerfit, validate_document: Validate
) -> None:
    """The answer is no, and says where."""
    path = tmp_path / "plan.json"
    layerfit("plan", "--problem", problem, "-o", path)
    plan = json.loads(path.read_text(encoding="utf-8"))
    plan["check"]["nodes_used"] += 1
    path.write_text(json.dumps(plan), encoding="utf-8")
    code, out, _ = layerfit("check", path, "--json")
    audit = json.loads(out)
    validate_document(audit)

    assert (1, False) == (code, audit["holds"])
    assert audit["findings"]
