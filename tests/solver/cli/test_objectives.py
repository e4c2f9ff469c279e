"""`--objective` with every name: answered, checked and proved again, or refused by name where facts are missing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.problems import problem_of
from support.timed import GB, growing, joined, near, timed

from solver.objectives import OBJECTIVES
from solver.pools import Draws, Pool
from solver.problem import Block, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from support.commands import Layerfit

    from solver.problem import Problem

PLAIN = problem_of((3, 3, 3, 3), (12, 10, 10))
FULL = growing(joined(timed(PLAIN, (GB, 2 * GB, (4, 5, 6))), near(2, GB), activation_bytes=3), (1,) * 4)
# Six of 12 bytes, half of each block, do not fit onto the card: two blocks leave theirs with the host.
HOSTED = replace(
    problem_of((3, 3, 3, 3), (9,)),
    blocks=tuple(Block(3, 0, 3, None, 0, 2, 2) for _ in range(4)),
    nodes=(Node("n0", 9, GB, None, "desk", Draws(("card",), ("card",), "ram", GB, 0)),),
    pools=(Pool("card", 9, "desk"), Pool("ram", 20, "desk")),
)
VALUES = {
    "nodes": (1, "count"),
    "balance": (0.5, "ratio"),
    "load": (6, "bytes"),
    "latency": (4 * 3, "ns/token"),
    "throughput": (10**9 / 4, "tokens/s"),
    "headroom": (6, "bytes"),
    "context": (0, "tokens"),
    "tokens": (3, "tokens"),
    "offload": (4, "bytes"),
}


def asked_of(name: str) -> Problem:
    """Return the problem that an objective is asked of."""
    return HOSTED if name == "offload" else FULL


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_is_planned_checked_and_proved_again(
    name: str,
    write: Callable[[Problem], Path],
    tmp_path: Path,
    layerfit: Layerfit,
    validate_document: Callable[[Mapping[str, Any]], None],
) -> None:
    plan = tmp_path / "plan.json"
    code, out, err = layerfit("plan", "--problem", write(asked_of(name)), "--objective", name, "--json", "-o", plan)
    document = json.loads(out)
    validate_document(document)
    entry = document["objective"][0]

    assert (0, "", "optimal") == (code, err, document["outcome"])
    assert (name, *VALUES[name]) == (entry["name"], entry["value"], entry["unit"])
    assert entry["value"] == entry["bound"]
    assert (0, "") == ((checked := layerfit("check", plan, "--reprove")).code, checked.err)
    assert "the plan stands" in checked.out


def test_all_objectives_at_once_are_levels_in_their_order(
    write: Callable[[Problem], Path], tmp_path: Path, layerfit: Layerfit
) -> None:
    order = ["tokens", "throughput", "headroom", "latency", "context", "load", "balance", "nodes"]
    plan = tmp_path / "plan.json"
    out = layerfit("plan", "--problem", write(FULL), "--objective", ",".join(order), "--json", "-o", plan).out

    assert order == [entry["name"] for entry in json.loads(out)["objective"]]
    assert 0 == layerfit("check", plan).code


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_report_shows_an_objective_with_its_unit_and_what_it_is(
    name: str, write: Callable[[Problem], Path], layerfit: Layerfit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shown = {
        "nodes": "1",
        "balance": "0.5000",
        "load": "6 B",
        "latency": "12 ns/token",
        "throughput": "250,000,000.0000 tokens/s",
        "headroom": "6 B",
        "context": "0 tokens",
        "tokens": "3 tokens",
        "offload": "4 B",
    }
    out = layerfit("plan", "--problem", write(asked_of(name)), "--objective", name).out
    row = next(line for line in out.splitlines() if line.startswith(f"{name} "))

    assert [name, shown[name]] == row.split("  ")[:2]
    assert row.endswith(OBJECTIVES[name].formula)


NEITHER = (
    "node {node} has neither a bandwidth nor measured times; expected one of them for every node. "
    "Give it, or exclude the node."
)
UNKNOWN = "block {block} does not say how its cache grows; expected cache_bytes_per_token. Give it."
NONE_GROWS = "no block has a cache that grows; expected one, or any length fits. Leave it out."
LACKING: list[tuple[str, Problem, str]] = [
    *((name, PLAIN, NEITHER.format(node="n0")) for name in ("latency", "throughput")),
    *((name, timed(PLAIN, (GB, (5, 6), None)), NEITHER.format(node="n2")) for name in ("latency", "throughput")),
    *((name, PLAIN, UNKNOWN.format(block=0)) for name in ("context", "tokens")),
    *((name, growing(PLAIN, (0, 1, None, 1)), UNKNOWN.format(block=2)) for name in ("context", "tokens")),
    *((name, growing(PLAIN, (0, 0, 0, 0)), NONE_GROWS) for name in ("context", "tokens")),
]


@pytest.mark.parametrize(("name", "problem", "message"), LACKING)
@pytest.mark.parametrize("before", ["", "nodes,"], ids=["alone", "behind another"])
def test_an_objective_is_refused_by_name_where_the_problem_lacks_facts(
    name: str, problem: Problem, message: str, before: str, write: Callable[[Problem], Path], tmp_path: Path,
    layerfit: Layerfit,
) -> None:  # fmt: skip
    """One line and exit 2, before anything is searched; nothing is written."""
    plan = tmp_path / "plan.json"
    ran = layerfit("plan", "--problem", write(problem), "--objective", f"{before}{name}", "--json", "-o", plan)

    assert (2, "", f"objective {name}: {message}\n") == ran
    assert not plan.exists()


def test_a_node_that_is_excluded_needs_no_facts(write: Callable[[Problem], Path], layerfit: Layerfit) -> None:
    path = write(timed(PLAIN, (GB, (5, 6), None)))

    assert 0 == layerfit("plan", "--problem", path, "--objective", "latency", "--exclude", "n2", "--json").code


CLUSTER = """
[[node]]
name = "desk"
memory = "64 GiB"
{desk}

[[node]]
name = "studio"
memory = "128 GiB"
bandwidth = "400 GB/s"

[links]
latency = "0.5 ms"
rate = "10 Gbit/s"
"""


@pytest.mark.parametrize("name", ["latency", "throughput"])
def test_bandwidths_of_a_cluster_are_what_times_follow_from(
    name: str, tiny_model: Path, tmp_path: Path, layerfit: Layerfit
) -> None:
    """With one missing the objective is refused, and its node is named."""
    path = tmp_path / "cluster.toml"
    path.write_text(CLUSTER.format(desk='bandwidth = "60 GB/s"'), encoding="utf-8")
    ran = layerfit("plan", tiny_model, "--cluster", path, "--objective", name, "--json")

    assert (0, "") == (ran.code, ran.err)
    assert ["studio"] == [stage["node"] for stage in json.loads(ran.out)["stages"]]
    path.write_text(CLUSTER.format(desk=""), encoding="utf-8")
    assert (2, "", f"objective {name}: {NEITHER.format(node='desk')}\n") == layerfit(
        "plan", tiny_model, "--cluster", path, "--objective", name, "--json"
    )


@pytest.mark.parametrize("name", ["context", "tokens"])
def test_caches_of_a_model_are_what_tokens_follow_from(
    name: str, tiny_model: Path, tmp_path: Path, layerfit: Layerfit
) -> None:
    """A rule given in place of the architecture's counts too; one of 0 leaves nothing that grows."""
    path = tmp_path / "cluster.toml"
    path.write_text(CLUSTER.format(desk=""), encoding="utf-8")
    arguments = ("plan", tiny_model, "--cluster", path, "--objective", name, "--json")
    ran = layerfit(*arguments)
    given = layerfit(*arguments, "--cache-bytes-per-token", "1000000")
    few, many = (json.loads(found.out)["objective"][0]["value"] for found in (given, ran))

    assert (0, 0) == (ran.code, given.code)
    assert 0 < few < many
    assert (0, 0) == (few % (256 if name == "context" else 1), many % (256 if name == "context" else 1))
    assert (2, "", f"objective {name}: {NONE_GROWS}\n") == layerfit(*arguments, "--cache-bytes-per-token", "0")
