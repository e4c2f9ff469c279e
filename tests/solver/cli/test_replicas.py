"""`layerfit plan --replicas` from flags to text, documents and their audit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.commands import Layerfit

PROBLEM = {
    "schema": "layerfit/problem/1",
    "activation_bytes": 100,
    "blocks": [{"weight_bytes": 100}] * 4,
    "nodes": [
        {"name": "big", "budget_bytes": 300, "bytes_per_second": 60_000},
        {"name": "slow", "budget_bytes": 200, "bytes_per_second": 10_000, "count": 2},
    ],
    "links": {"default": {"latency_ns": 1000, "bytes_per_second": 10**6}},
}


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    """Return the path of a problem that is best placed with two slow nodes sharing one block."""
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(PROBLEM), encoding="utf-8")
    return path


@pytest.fixture
def written(problem: Path, tmp_path: Path, layerfit: Layerfit) -> Path:
    """Return the path of the plan."""
    path = tmp_path / "plan.json"
    assert 0 == layerfit("plan", "--problem", problem, "--replicas", "-o", path).code
    return path


def test_nodes_that_share_a_stage_share_its_number(problem: Path, layerfit: Layerfit) -> None:
    """One chain reaches 100 tokens a second; here the two slow nodes reach 200 together, as the large one does."""
    alone = layerfit("plan", "--problem", problem, "--objective", "throughput", "--no-timings").out
    shared = layerfit("plan", "--problem", problem, "--replicas", "--no-timings").out
    stages = [line.split()[:3] for line in shared.splitlines() if "█" in line]

    assert "throughput  100.0000 tokens/s" in alone
    assert "throughput  200.0000 tokens/s  = bound (proved by " in shared
    assert [["1", "big", "0–2"], ["2", "slow-1", "3"], ["2", "slow-2", "3"]] == stages
    assert "nodes may share a stage, and chains run side by side" in shared
    assert "note: 2 nodes hold 1 stage together and share the tokens." in shared


def test_the_document_names_replicas_and_every_link_between_them(
    written: Path, validate_document: Callable[[Any], None]
) -> None:
    document = json.loads(written.read_text(encoding="utf-8"))
    validate_document(document)

    assert ["throughput"] == [entry["name"] for entry in document["objective"]]
    assert {"one", "replica"} == {stage["role"] for stage in document["stages"]}
    assert 2 == len(document["seams"])
    assert document["inputs"]["problem"]["rules"]["replicas"]


def test_a_plan_with_replicas_stands_and_is_proved_again(written: Path, layerfit: Layerfit) -> None:
    assert 0 == layerfit("check", written).code
    again = layerfit("check", written, "--reprove")

    assert 0 == again.code, again.out + again.err


def test_a_chain_that_is_made_up_is_found(written: Path, layerfit: Layerfit) -> None:
    document = json.loads(written.read_text(encoding="utf-8"))
    document["stages"][-1]["chain"] = 1
    written.write_text(json.dumps(document), encoding="utf-8")
    checked = layerfit("check", written)

    assert 1 == checked.code
    assert "rule cover: chain 1 has [3, 4) where [0, …) was due" in checked.out


def test_other_objectives_and_engines_are_refused_with_replicas(problem: Path, layerfit: Layerfit) -> None:
    objective = layerfit("plan", "--problem", problem, "--replicas", "--objective", "nodes")
    engine = layerfit("plan", "--replicas", "--engine", "vllm")

    assert [2, 2] == [objective.code, engine.code]
    assert (
        "objective nodes: replicas are allowed, which only the objective throughput knows; expected that alone. "
        "Ask for throughput, or leave the rule replicas out.\n"
    ) == objective.err
    assert (
        "layerfit plan, --replicas: vllm runs one chain of stages, each on one node; expected the engine generic. "
        "Leave one of them out.\n"
    ) == engine.err


def test_what_no_engine_starts_is_not_exported(tmp_path: Path, layerfit: Layerfit) -> None:
    """The example, in which two nodes share a stage."""
    path = tmp_path / "example.json"
    assert 0 == layerfit("plan", "--replicas", "-o", path).code
    exported = layerfit("export", path, "--engine", "llamacpp")

    assert 2 == exported.code
    assert (
        f"{path}: its stages may have replicas, which no engine here starts; expected one chain. "
        "Plan without that rule.\n"
    ) == exported.err


def test_without_room_the_reasons_are_those_of_single_nodes(tmp_path: Path, layerfit: Layerfit) -> None:
    tight = tmp_path / "tight.json"
    tight.write_text(json.dumps({**PROBLEM, "blocks": [{"weight_bytes": 400}] * 4}), encoding="utf-8")
    plain = layerfit("plan", "--problem", tight, "--objective", "throughput", "--no-timings")
    shared = layerfit("plan", "--problem", tight, "--replicas", "--no-timings")

    assert 1 == plain.code == shared.code
    assert plain.out.splitlines()[:2] == shared.out.splitlines()[:2]


def test_a_search_that_ends_with_a_gap_does_not_blame_the_limits(tmp_path: Path, layerfit: Layerfit) -> None:
    """Thirteen nodes whose thin links all differ: the bound stays short, and the time does not run out."""
    names = [f"n{number}" for number in range(13)]
    pairs = [
        {"from": one, "to": other, "bytes_per_second": 9_000 + 700 * (3 * place + 5 * number) % 11_000}
        for place, one in enumerate(names)
        for number, other in enumerate(names)
        if one != other
    ]
    nodes = [
        {"name": name, "budget_bytes": 200 + 100 * (place % 2), "bytes_per_second": 30_000 + 7_000 * place}
        for place, name in enumerate(names)
    ]
    path = tmp_path / "thin.json"
    path.write_text(json.dumps({**PROBLEM, "nodes": nodes, "links": {"pairs": pairs}}), encoding="utf-8")
    out = layerfit("plan", "--problem", path, "--replicas", "--no-timings").out

    assert "not proved optimal: throughput open (gap " in out
    assert "The search ended before every objective was proved; this is the best plan found." in out
