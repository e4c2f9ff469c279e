"""The JSON Schemas of documents, and documents that they must accept or refuse."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from solver.problem_file import problem_from_document, problem_to_document

if TYPE_CHECKING:
    from pathlib import Path

Validate = Callable[[Mapping[str, Any]], None]

PROBLEM = {
    "schema": "layerfit/problem/1",
    "blocks": [{"weight_bytes": 3}, {"weight_bytes": 4, "cache_bytes": 1, "active_bytes": None}],
    "nodes": [{"name": "a", "budget_bytes": 9, "count": 2}, {"name": "b", "budget_bytes": 0, "stage_ns": [1, 2]}],
    "links": {"default": {"latency_ns": 5}, "pairs": [{"from": "a", "to": "b", "forbidden": True}]},
    "rules": {"pin": [[0, "b"]], "order": ["b"], "max_nodes": 2},
}
POOLED = {
    "schema": "layerfit/problem/1",
    "blocks": [{"weight_bytes": 3, "expert_bytes": 2, "expert_active_bytes": 1}],
    "nodes": [
        {
            "name": "a",
            "budget_bytes": 9,
            "machine": "desk",
            "pools": ["c0", "c1"],
            "cards": ["c0", "c1"],
            "host_pool": "ram",
            "host_bytes_per_second": 5,
            "shape": 1,
        },
        {"name": "b", "budget_bytes": 3, "pools": None, "cards": None, "host_pool": None, "shape": None},
    ],
    "pools": [{"name": name, "budget_bytes": 9, "machine": "desk"} for name in ("c0", "c1", "ram")],
    "shapes": [{"blocks": [{"weight_bytes": 2}], "output_bytes": 1}],
    "rules": {"apart": True, "replicas": False},
}


def test_every_schema_is_a_schema_and_is_named_after_its_documents(repository: Path) -> None:
    for path in sorted((repository / "docs" / "schemas").glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        Draft202012Validator.check_schema(schema)

        assert f"layerfit/{path.stem.replace('-', '/')}" == schema["title"] == schema["properties"]["schema"]["const"]


def test_the_problem_that_was_written_is_one_that_the_schema_accepts(validate_document: Validate) -> None:
    """As a person writes it, and with every count written out."""
    for problem in (PROBLEM, POOLED):
        validate_document(problem)
        validate_document(problem_to_document(problem_from_document(problem, "problem.json")))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("nodes", 0, "pools"), []),
        (("nodes", 0, "pools"), ["c0", "c0"]),
        (("nodes", 0, "cards"), "c0"),
        (("nodes", 0, "shape"), -1),
        (("nodes", 0, "host_bytes_per_second"), 0),
        (("pools", 0, "machine"), ""),
        (("pools", 0, "rate"), 1),
        (("shapes", 0, "blocks"), []),
        (("shapes", 0, "width"), 2),
        (("blocks", 0, "expert_bytes"), -1),
        (("rules", "apart"), 1),
    ],
)
def test_a_pooled_problem_that_is_refused_when_read_is_refused_by_the_schema(
    path: tuple[str | int, ...], value: object, validate_document: Validate
) -> None:
    _refused(POOLED, path, value, validate_document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("speed",), 3),
        (("blocks",), []),
        (("blocks", 0, "weight_bytes"), -1),
        (("blocks", 0, "weight_bytes"), 1.5),
        (("blocks", 0, "weight_bytes"), "3"),
        (("nodes", 0, "name"), ""),
        (("nodes", 0, "memory"), 3),
        (("links", "pairs", 0, "rate"), 3),
        (("rules", "pin", 0), [0]),
        (("rules", "max_nodes"), 0),
    ],
)
def test_a_problem_that_is_refused_when_read_is_refused_by_the_schema(
    path: tuple[str | int, ...], value: object, validate_document: Validate
) -> None:
    """The two say the same, so that either can be used to check a file."""
    _refused(PROBLEM, path, value, validate_document)


def _refused(
    problem: Mapping[str, Any], path: tuple[str | int, ...], value: object, validate_document: Validate
) -> None:
    document: Any = copy.deepcopy(problem)
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value

    with pytest.raises(ValidationError):
        validate_document(document)
    with pytest.raises(ValueError, match=r"^problem\.json"):
        problem_from_document(document, "problem.json")
