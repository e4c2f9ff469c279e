"""A name with a count in a rule's flag: each of its members where that can be meant, and a choice elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from support.commands import Layerfit

CLUSTER = """
[[node]]
name = "desk"
count = 3
memory = "64 GiB"

[[node]]
name = "strix"
memory = "64 GiB"

[[node]]
name = "rack"
count = 12
memory = "64 GiB"
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Return the path of a cluster of counted nodes."""
    path = tmp_path / "cluster.toml"
    path.write_text(CLUSTER, encoding="utf-8")
    return path


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    """Return the path of an abstract problem with a counted node."""
    path = tmp_path / "problem.json"
    document = {
        "schema": "layerfit/problem/1",
        "blocks": [{"weight_bytes": 3}],
        "nodes": [{"name": "a", "budget_bytes": 5, "count": 2}, {"name": "b", "budget_bytes": 8}],
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_counted_name_excludes_each_of_its_members(cluster: Path, tiny_model: Path, layerfit: Layerfit) -> None:
    """By every engine; a member by itself is excluded alone."""
    for engine in ("generic", "llamacpp"):
        ran = layerfit(
            "plan", tiny_model, "--cluster", cluster, "--engine", engine, "--json",
            "--exclude", "desk", "--exclude", "rack", "--objective", "balance",
        )  # fmt: skip

        assert ["strix"] == [stage["node"] for stage in json.loads(ran.out)["stages"]]
    ran = layerfit("plan", tiny_model, "--cluster", cluster, "--json", "--exclude", "desk-1")

    assert ["desk-2"] == [stage["node"] for stage in json.loads(ran.out)["stages"]]


def test_a_counted_name_of_an_abstract_problem_means_the_same(problem: Path, layerfit: Layerfit) -> None:
    document = json.loads(layerfit("plan", "--problem", problem, "--exclude", "a", "--json").out)

    assert ["a-1", "a-2"] == document["inputs"]["problem"]["rules"]["exclude"]
    assert ["b"] == [stage["node"] for stage in document["stages"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--first", "desk"], '--first: "desk" is 3 nodes; expected one of them. Write desk-1, desk-2 or desk-3.'),
        (["--last", "rack"], '--last: "rack" is 12 nodes; expected one of them. Write rack-1 to rack-12.'),
        (["--pin", "0=desk"], '--pin: "desk" is 3 nodes; expected one of them. Write desk-1, desk-2 or desk-3.'),
        (
            ["--order", "strix,desk"],
            '--order: "desk" is 3 nodes; expected one of them. Write desk-1, desk-2 or desk-3.',
        ),
        (
            ["--exclude", "strxi"],
            (
                '--exclude: no node is called "strxi"; expected one of "desk-1", "desk-2", "desk-3", "strix", '
                '"rack-1", "rack-2", "rack-3", "rack-4" …. Did you mean strix?'
            ),
        ),
        (
            ["--exclude", "desk-4"],
            (
                '--exclude: no node is called "desk-4"; expected one of "desk-1", "desk-2", "desk-3", "strix", '
                '"rack-1", "rack-2", "rack-3", "rack-4" …. Did you mean desk-3?'
            ),
        ),
    ],
)
@pytest.mark.parametrize("engine", ["generic", "llamacpp"])
def test_a_name_that_cannot_be_meant_is_refused_with_the_choices(
    arguments: list[str], message: str, engine: str, cluster: Path, tiny_model: Path, layerfit: Layerfit
) -> None:
    ran = layerfit("plan", tiny_model, "--cluster", cluster, "--engine", engine, "--objective", "balance", *arguments)

    assert (2, "", f"layerfit plan, {message}\n") == ran
