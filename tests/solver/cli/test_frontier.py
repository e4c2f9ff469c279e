"""`layerfit plan --nodes` and `--frontier` from arguments to tables, documents and exit codes."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.planted import Planted, says
from support.problems import problem_of

from solver.problem import Link, Links, Placement, Stage
from solver.problem_file import problem_to_document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.commands import Layerfit

LINKS = Links(default=Link(latency_ns=100, bytes_per_second=None, forbidden=False), pairs=())
PROBLEM = problem_of((3, 3, 3, 3), (12, 10, 7), links=LINKS)


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    """Return the path of a problem of four blocks and three nodes."""
    return written(tmp_path, *PROBLEM.nodes)


def written(folder: Path, *nodes: Any) -> Path:
    path = folder / "problem.json"
    timed = tuple(replace(node, bytes_per_second=10**9) for node in nodes)
    path.write_text(json.dumps(problem_to_document(replace(PROBLEM, nodes=timed))), encoding="utf-8")
    return path


@pytest.fixture
def too_large(tmp_path: Path) -> Path:
    """Return the path of a problem that has no placement."""
    return written(tmp_path, *(replace(node, budget_bytes=3) for node in PROBLEM.nodes))


def test_every_number_of_nodes_has_a_row(problem: Path, layerfit: Layerfit) -> None:
    expected = [
        "max nodes  nodes used  outcome  balance (ratio)  balance bound  balance proof",
        "        1           1  optimal  1                1              closed form",
        "        2           2  optimal  0.6              0.6            exact search",
        "        3           3  optimal  0.5              0.5            exact search",
    ]
    code, out, err = layerfit("plan", "--problem", problem, "--nodes", "1..3")

    assert (0, "") == (code, err)
    assert expected == out.splitlines()


def document_of(ran: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(ran.out)
    return document


@pytest.mark.parametrize(
    ("flags", "objectives"),
    [
        ((), ["balance"]),
        (("--objective", "nodes"), ["balance"]),
        (("--objective", "nodes,load"), ["load"]),
        (("--objective", "latency,nodes,load"), ["latency", "load"]),
    ],
)
def test_the_number_of_nodes_stands_for_that_objective(
    flags: tuple[str, ...], objectives: list[str], problem: Path, layerfit: Layerfit
) -> None:
    document = document_of(layerfit("plan", "--problem", problem, "--nodes", "2", "--json", *flags))

    assert objectives == document["objective"]
    assert [objectives] == [[level["name"] for level in point["objective"]] for point in document["points"]]


@pytest.mark.parametrize(
    ("objectives", "points"),
    [
        ("nodes,balance", [(1, "balance"), (2, "balance"), (3, "balance")]),
        ("nodes,latency", [(1, "latency")]),
        ("nodes,throughput,load", [(1, "throughput"), (2, "throughput")]),
    ],
)
def test_the_frontier_has_what_more_nodes_make_better(
    objectives: str,
    points: list[tuple[int, str]],
    problem: Path,
    layerfit: Layerfit,
    validate_document: Callable[[Any], None],
) -> None:
    """Latency grows with every hop; a third node splits four blocks no better than two do."""
    ran = layerfit("plan", "--problem", problem, "--frontier", objectives, "--json")
    document = document_of(ran)
    validate_document(document)

    assert (0, "") == (ran.code, ran.err)
    assert points == [(point["max_nodes"], point["objective"][0]["name"]) for point in document["points"]]
    assert objectives == ",".join(["nodes", *document["objective"]])


def test_the_table_is_the_same_in_every_form(problem: Path, layerfit: Layerfit) -> None:
    asked = ("plan", "--problem", problem, "--nodes", "1..2", "--objective", "load")
    table, marked = (layerfit(*asked, "--format", name) for name in ("csv", "markdown"))
    rows = [["1", "1", "optimal", "12", "12", "closed form"], ["2", "2", "optimal", "6", "6", "closed form"]]

    assert (0, "", 0, "") == (table.code, table.err, marked.code, marked.err)
    assert [
        ["max_nodes", "nodes_used", "outcome", "load (bytes)", "load bound", "load proof"],
        *rows,
    ] == list(csv.reader(io.StringIO(table.out)))
    assert (
        "| max_nodes | nodes_used | outcome | load (bytes) | load bound | load proof |\n"
        "| ---: | ---: | --- | ---: | ---: | --- |\n"
        "| 1 | 1 | optimal | 12 | 12 | closed form |\n"
        "| 2 | 2 | optimal | 6 | 6 | closed form |\n"
    ) == marked.out


def test_the_document_and_the_problem_are_written_beside_what_is_shown(
    problem: Path, tmp_path: Path, layerfit: Layerfit
) -> None:
    """Rules of flags are in the problem; the number of nodes of a point is not."""
    target, copy = tmp_path / "frontier.json", tmp_path / "written.json"
    shown = layerfit(
        "plan", "--problem", problem, "--nodes", "1..2", "--first", "n1", "--json", "-o", target,
        "--write-problem", copy,
    ).out  # fmt: skip
    rules = json.loads(copy.read_text(encoding="utf-8"))["rules"]

    assert shown == target.read_text(encoding="utf-8")
    assert ("n1", None) == (rules["first"], rules["max_nodes"])
    assert {"n1"} == {point["stages"][0]["node"] for point in json.loads(shown)["points"] if point["stages"]}


def test_the_example_is_said_to_be_one(layerfit: Layerfit) -> None:
    code, _, err = layerfit("plan", "--frontier", "nodes,latency")

    assert (0, "No model is named: this is the built-in example, made from architecture arithmetic.\n") == (code, err)


def test_no_placement_on_any_number_of_nodes_is_the_answer_no(too_large: Path, layerfit: Layerfit) -> None:
    """The frontier is empty; people are shown what was asked about in its place."""
    expected = [
        "max nodes  nodes used  outcome     balance (ratio)  balance bound  balance proof",
        *(f"        {count}              infeasible" for count in (1, 2, 3)),
    ]
    code, out, err = layerfit("plan", "--problem", too_large, "--frontier", "nodes,balance")
    document = document_of(layerfit("plan", "--problem", too_large, "--frontier", "nodes,balance", "--json"))

    assert (1, "") == (code, err)
    assert expected == out.splitlines()
    assert [] == document["points"]


def test_some_counts_without_a_placement_are_still_an_answer(tmp_path: Path, layerfit: Layerfit) -> None:
    path = written(tmp_path, *(replace(node, budget_bytes=6) for node in PROBLEM.nodes))
    ran = layerfit("plan", "--problem", path, "--nodes", "1..2", "--json")

    assert 0 == ran.code
    assert ["infeasible", "optimal"] == [point["outcome"] for point in document_of(ran)["points"]]


RIGHT = Placement((Stage(0, 4, "n0"),))


@pytest.fixture
def prover(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that puts provers in place of all there are."""

    def plant(*provers: Planted) -> None:
        monkeypatch.setattr("solver.solve.provers_for", lambda _problem: provers)

    return plant


def test_limits_that_run_out_before_any_answer_are_exit_3(
    problem: Path, prover: Callable[..., None], layerfit: Layerfit
) -> None:
    """Also where other counts are proved to have none: those that are not known may have one."""
    prover(Planted([says(impossible=True), says(1)]))
    ran = layerfit("plan", "--problem", problem, "--nodes", "1..2", "--json")

    assert 3 == ran.code
    assert ["infeasible", "unknown"] == [point["outcome"] for point in document_of(ran)["points"]]


def test_after_an_interrupt_what_was_found_is_written(
    problem: Path, prover: Callable[..., None], layerfit: Layerfit
) -> None:
    """The point that was under way is there with its best placement, and none behind it."""
    prover(Planted([says(1, RIGHT), says(None, RIGHT, interrupted=True)], canonical_answer=RIGHT))
    ran = layerfit("plan", "--problem", problem, "--nodes", "1..3", "--json")

    assert 130 == ran.code
    assert [(1, "optimal"), (2, "feasible")] == [
        (point["max_nodes"], point["outcome"]) for point in document_of(ran)["points"]
    ]


NEITHER = "--nodes and --frontier show neither times nor paths; expected it without. Leave it out."
NO_LIST = (
    "layerfit plan, --frontier: it does not begin with nodes and another objective; "
    "expected a list like nodes,latency. Correct it."
)
NO_OBJECTIVE = (
    'objective: "speed" is not one; expected some of balance, context, headroom, latency, load, nodes, offload, '
    "throughput, tokens. Correct the list."
)
REFUSALS = [
    ("--format csv",
     "layerfit plan, --format: there is no table; expected --nodes or --frontier. Add one of them."),
    ("--nodes 1..2 --frontier nodes,load",
     "layerfit plan, --nodes and --frontier: both are given; expected one. Leave one out."),
    ("--nodes 1..2 --format csv --json",
     "--json and --format: both are given; expected one form of output. Leave one out."),
    ("--nodes 1..2 --no-timings", "layerfit plan, --no-timings: " + NEITHER),
    ("--frontier nodes,load --no-paths", "layerfit plan, --no-paths: " + NEITHER),
    ("--nodes 1..2 --report {folder}/plan.html",
     "layerfit plan, --report: it shows one plan; expected --json or --format here. Leave it out."),
    ("--frontier load,nodes", NO_LIST),
    ("--frontier nodes", NO_LIST),
    ("--frontier nodes,load --objective balance",
     "layerfit plan, --objective: --frontier names objectives too; expected one of them. Leave one out."),
    ("--frontier nodes,speed", NO_OBJECTIVE),
    ("--frontier nodes,nodes",
     'layerfit plan, --frontier: "nodes" is there twice; expected every name once. Remove one.'),
    ("--nodes 3..2",
     'layerfit plan, --nodes: "3..2" holds no count; expected A..B with 1 or more first. Write it like 2..16.'),
    ("--nodes 1..x",
     'layerfit plan, --nodes: "1..x" is not a range of counts; expected A..B. Write it like 2..16.'),
    ("--nodes 1..2 --format xml",
     'layerfit plan, --format: "xml" is unknown; expected csv or markdown.'),
    ("--nodes 1..2 -o {folder}/none/frontier.json",
     "{folder}/none: no such folder; expected a path that can be used. Check it and its permissions."),
]  # fmt: skip


@pytest.mark.parametrize(("flags", "message"), REFUSALS, ids=[flags for flags, _ in REFUSALS])
def test_what_cannot_be_meant_is_one_line_and_nothing_is_written(
    flags: str, message: str, problem: Path, tmp_path: Path, layerfit: Layerfit
) -> None:
    before = sorted(tmp_path.rglob("*"))
    arguments = flags.format(folder=tmp_path).split()
    ran = layerfit("plan", "--problem", problem, "--write-problem", tmp_path / "written.json", *arguments)

    assert (2, "", f"{message.format(folder=tmp_path)}\n") == ran
    assert before == sorted(tmp_path.rglob("*"))
