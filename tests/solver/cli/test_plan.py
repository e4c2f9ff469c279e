"""`layerfit plan` from arguments to documents, files and exit codes."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest
from support.planted import Planted, says
from support.problems import problem_of

from solver.cli.search_flags import FrontierOptions, LimitOptions, ObjectiveOptions, RuleOptions
from solver.cli.shared_flags import ClusterOptions, EngineOptions, PlanOutputOptions, ProblemOptions, WorkloadOptions
from solver.example import sample_cluster_text
from solver.problem import Placement, Stage
from solver.problem_file import problem_to_document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.commands import Layerfit

CLUSTER = """
[[node]]
name = "desk"
count = 2
memory = "64 GiB"

[[node]]
name = "studio"
memory = "128 GiB"
unified = true
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Return the path of a cluster file of three nodes."""
    path = tmp_path / "cluster.toml"
    path.write_text(CLUSTER, encoding="utf-8")
    return path


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    """Return the path of a problem of four blocks and three nodes."""
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(problem_to_document(problem_of((3, 3, 3, 3), (12, 10, 10)))), encoding="utf-8")
    return path


def at(document: Any, path: str) -> Any:
    """Return the value of a document under a path such as "inputs.problem.rules.first"."""
    for step in path.split("."):
        document = document[int(step) if isinstance(document, list) else step]
    return document


CHANGES: list[tuple[type, str, str, object]] = [
    (WorkloadOptions, "--context 4096", "workload.context_tokens", 4096),
    (WorkloadOptions, "--sequences 3", "workload.sequences", 3),
    (WorkloadOptions, "--kv f16,q4_0", "workload.cache_type_v", "q4_0"),
    (WorkloadOptions, "--cache-bytes-per-token 78", "inputs.problem.blocks.5.cache_bytes_per_token", 1),
    (WorkloadOptions, "--indexer optimized", "workload.indexer_rule", "optimized"),
    (WorkloadOptions, "--resident-nextn", "stages.-1.end", 79),
    (ClusterOptions, "--reserve-fraction 0.5", "inputs.cluster.nodes.0.reserve.fraction", "1/2"),
    (ClusterOptions, "--reserve-floor 9GiB", "inputs.cluster.nodes.0.reserve.floor_bytes", 9 * 2**30),
    (ObjectiveOptions, "--objective load", "objective.0.name", "load"),
    (LimitOptions, "--time-limit 30.5", "inputs.options.time_limit_seconds", 30.5),
    (LimitOptions, "--deterministic-limit 9", "inputs.options.deterministic_limit", 9.0),
    (LimitOptions, "--workers 2", "solver.workers", 2),
    (LimitOptions, "--seed 4", "solver.seed", 4),
    (RuleOptions, "--pin 3=desk-2", "inputs.problem.rules.pin", [[3, "desk-2"]]),
    (RuleOptions, "--first tower-2", "stages.0.node", "tower-2"),
    (RuleOptions, "--last mini-1", "stages.-1.node", "mini-1"),
    (RuleOptions, "--order desk-2,desk-1", "inputs.problem.rules.order", ["desk-2", "desk-1"]),
    (RuleOptions, "--exclude bench", "inputs.problem.rules.exclude", ["bench"]),
    (RuleOptions, "--max-nodes 9", "inputs.problem.rules.max_nodes", 9),
    (RuleOptions, "--replicas", "stages.2.role", "replica"),
]


def document_of(layerfit: Layerfit, *arguments: str | Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(layerfit("plan", "--json", *arguments).out)
    return document


@pytest.mark.parametrize(("group", "flags", "path", "expected"), CHANGES, ids=[flags for _, flags, _, _ in CHANGES])
def test_a_flag_reaches_the_plan(
    group: type, flags: str, path: str, expected: object, layerfit: Layerfit, validate_document: Callable[[Any], None]
) -> None:
    """The document without it says something else there."""
    assert group.__name__.endswith("Options")
    plain, changed = document_of(layerfit), document_of(layerfit, *flags.split())
    validate_document(changed)

    assert expected == at(changed, path)
    assert expected != at(plain, path)


def test_every_flag_of_plan_is_tried_here_or_below_or_with_the_frontier() -> None:
    """A flag that is parsed and goes nowhere would show as missing here."""
    tried = {flags.split()[0].removeprefix("--").replace("-", "_") for _, flags, _, _ in CHANGES}
    elsewhere = {
        "min_blocks",
        "engine",
        "cluster",
        "problem",
        "write_problem",
        "json",
        "output",
        "report",
        "no_timings",
        "no_paths",
        *("nodes", "frontier", "format"),
        *("offload", "tensor_parallel"),
    }
    groups = (
        ClusterOptions,
        EngineOptions,
        FrontierOptions,
        LimitOptions,
        ObjectiveOptions,
        PlanOutputOptions,
        ProblemOptions,
        RuleOptions,
        WorkloadOptions,
    )

    assert {field.name for group in groups for field in fields(group)} == tried | elsewhere


def test_what_an_engine_does_in_one_way_alone_is_no_choice(tiny_model: Path, cluster: Path, layerfit: Layerfit) -> None:
    for flag in (("--cache-bytes-per-token", "9"), ("--indexer", "none"), ("--resident-nextn",)):
        why = "the rules of llamacpp leave no choice there; expected it without. Leave it out."
        message = f"layerfit plan, {flag[0]}: {why}\n"
        assert (2, "", message) == layerfit("plan", tiny_model, "--cluster", cluster, "--engine", "llamacpp", *flag)


def test_without_model_and_cluster_the_example_is_planned_and_said_to_be_one(layerfit: Layerfit) -> None:
    code, out, err = layerfit("plan")

    assert 0 == code
    assert "No model is named: this is the built-in example, made from architecture arithmetic.\n" == err
    assert "proved optimal" in out.splitlines()[0]


def test_a_model_on_a_cluster(tiny_model: Path, cluster: Path, layerfit: Layerfit) -> None:
    code, out, err = layerfit("plan", tiny_model, "--cluster", cluster, "--json")
    document = json.loads(out)

    assert (0, "") == (code, err)
    assert (str(tiny_model), str(tiny_model)) == (document["inputs"]["model"], document["inputs"]["model_path"])
    assert ["desk-1", "desk-2", "studio"] == [node["name"] for node in document["inputs"]["cluster"]["nodes"]]
    assert ["desk-1/ram", "desk-2/ram", "studio/unified"] == [pool["pool"] for pool in document["pools"]]


def test_paths_are_left_out_when_asked(tiny_model: Path, cluster: Path, layerfit: Layerfit) -> None:
    out = layerfit("plan", tiny_model, "--cluster", cluster, "--json", "--no-paths").out
    document = json.loads(out)

    assert (tiny_model.name, None) == (document["inputs"]["model"], document["inputs"]["model_path"])
    assert str(tiny_model.parent) not in out


def test_without_timings_nothing_else_is_left_out(problem: Path, layerfit: Layerfit) -> None:
    plain, untimed = (document_of(layerfit, "--problem", problem, *flags) for flags in ((), ("--no-timings",)))
    del plain["solver"]["wall_ms"], plain["solver"]["deterministic_time"]

    assert plain == untimed


@pytest.mark.parametrize("flags", [("--workers", "1"), ("--workers", "8"), ("--seed", "7")])
def test_a_proved_plan_without_timings_is_always_the_same_bytes(
    problem: Path, flags: tuple[str, ...], layerfit: Layerfit
) -> None:
    first, second = (layerfit("plan", "--problem", problem, "--json", "--no-timings", *flags).out for _ in range(2))

    assert first == second


def test_a_plan_is_written_beside_what_is_shown(problem: Path, tmp_path: Path, layerfit: Layerfit) -> None:
    """The file has the document's bytes; nothing is left beside it."""
    target = tmp_path / "out" / "plan.json"
    target.parent.mkdir()
    out = layerfit("plan", "--problem", problem, "--json", "--no-timings", "-o", target).out

    assert out == target.read_text(encoding="utf-8")
    assert [target] == list(target.parent.iterdir())


def test_a_report_is_one_page(problem: Path, tmp_path: Path, layerfit: Layerfit) -> None:
    code, _, err = layerfit("plan", "--problem", problem, "--report", tmp_path / "plan.html")

    assert (0, "") == (code, err)
    assert (tmp_path / "plan.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_problem_that_is_written_gives_the_same_placement(
    tiny_model: Path, cluster: Path, tmp_path: Path, layerfit: Layerfit, validate_document: Callable[[Any], None]
) -> None:
    """The problem is all that a placement depends on; devices are called by their nodes then."""
    path = tmp_path / "written.json"
    rules = ("--first", "studio", "--min-blocks", "1", "--max-nodes", "2", "--pin", "1=desk-1")
    of_model = document_of(layerfit, tiny_model, "--cluster", cluster, "--write-problem", path, *rules)
    of_problem = document_of(layerfit, "--problem", path)
    validate_document(json.loads(path.read_text(encoding="utf-8")))

    def placement(document: dict[str, Any]) -> list[tuple[object, ...]]:
        return [(stage["node"], stage["start"], stage["end"], stage["load_bytes"]) for stage in document["stages"]]

    assert placement(of_model) == placement(of_problem)
    assert of_model["inputs"]["problem"] == of_problem["inputs"]["problem"]
    assert of_model["inputs"]["instance_sha256"] == of_problem["inputs"]["instance_sha256"]
    assert {stage["node"] for stage in of_problem["stages"]} == {stage["device"] for stage in of_problem["stages"]}
    assert (None, None) == (of_problem["inputs"]["model"], of_problem["model"])


def test_rules_of_flags_replace_those_of_the_problem_one_by_one(tmp_path: Path, layerfit: Layerfit) -> None:
    path = tmp_path / "problem.json"
    document = problem_to_document(problem_of((3, 3, 3, 3), (12, 10, 10)))
    document["rules"] |= {"first": "n1", "last": "n2", "min_blocks": 2, "pin": [[0, "n1"]]}
    path.write_text(json.dumps(document), encoding="utf-8")
    rules = document_of(layerfit, "--problem", path, "--last", "n0", "--min-blocks", "1")["inputs"]["problem"]["rules"]

    assert {"first": "n1", "last": "n0", "min_blocks": 1, "pin": [[0, "n1"]]}.items() <= rules.items()


@pytest.mark.parametrize(
    ("flags", "conflict"),
    [
        (("--max-nodes", "1", "--exclude", "n0"), "exclude n0; at most 1 node"),
        (("--first", "n1", "--last", "n1"), "first n1; last n1"),
    ],
)
def test_infeasible_is_an_answer_of_its_own(
    problem: Path,
    flags: tuple[str, ...],
    conflict: str,
    tmp_path: Path,
    layerfit: Layerfit,
    validate_document: Callable[[Any], None],
) -> None:
    """Exit 1, with the reason; the document has no lists filled, and is written like any other."""
    code, out, err = layerfit("plan", "--problem", problem, "--json", "-o", tmp_path / "plan.json", *flags)
    document = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    validate_document(document)

    assert (1, "") == (code, err)
    assert json.loads(out) == document
    assert ("infeasible", None, [], []) == (
        document["outcome"],
        document["proof"],
        document["stages"],
        document["objective"],
    )
    assert (
        f"The model fits but for these rules, and together they leave no placement: {conflict}."
        == document["reasons"][0]
    )


def test_one_node_too_small_for_any_block_is_infeasible_and_says_so(
    tiny_model: Path, tmp_path: Path, layerfit: Layerfit
) -> None:
    path = tmp_path / "small.toml"
    path.write_text(
        '[reserve]\nfloor = "0 B"\nfraction = 0\n[[node]]\nname = "a"\nmemory = "9 KiB"\n', encoding="utf-8"
    )
    document = json.loads((ran := layerfit("plan", tiny_model, "--cluster", path, "--json")).out)

    assert (1, "") == (ran.code, ran.err)
    assert document["reasons"][0].startswith("Block ")
    assert document["reasons"][0].endswith("more than the largest budget, 9.00 KiB (9,216 bytes) on a.")


def test_no_answer_within_the_limits_is_exit_3(problem: Path, layerfit: Layerfit) -> None:
    """Also no split rule of an engine, which take no time, fits here."""
    problem.write_text(json.dumps(problem_to_document(problem_of((1, 1, 2, 5), (5, 4)))), encoding="utf-8")
    code, out, err = layerfit("plan", "--problem", problem, "--json", "--time-limit", "0.000000001")

    assert (3, "") == (code, err)
    assert "unknown" == json.loads(out)["outcome"]


BESIDE = "it means nothing beside --problem; expected limits, objectives and rules alone. Leave it out."
NO_NODE = 'it lists no node; expected at least one. Add [[node]] with name = "desk" and memory = "64 GiB".'
KNOWN_OBJECTIVES = "balance, context, headroom, latency, load, nodes, offload, throughput, tokens"
NINE = f"expected some of {KNOWN_OBJECTIVES}. Correct the list."
BAD_INPUT: list[tuple[list[str], str]] = [
    (["{folder}/none.gguf", "--cluster", "{cluster}"],
     "{folder}/none.gguf: there is no such file or folder; expected a model. Check the path."),
    (["--objective", "speed"], f'objective: "speed" is not one; {NINE}'),
    (["--context", "0"], "layerfit plan, --context: 0 is too small; expected a whole number from 1. Raise it."),
    (["--first", "z", "--problem", "{problem}"],
     'layerfit plan, --first: no node is called "z"; expected one of "n0", "n1", "n2". Correct the name.'),
    (["--pin", "4=n0", "--problem", "{problem}"],
     "layerfit plan, rules.pin[0]: block 4 is not there; expected 0 to 3. Correct it."),
    (["--problem", "{folder}/none.json"],
     "{folder}/none.json: there is no such file; expected a layerfit/problem/1 document. Check the path."),
    (["--problem", "{problem}", "--context", "5"], f"layerfit plan, --context: {BESIDE}"),
    (["--problem", "{problem}", "--cluster", "{cluster}"], f"layerfit plan, --cluster: {BESIDE}"),
    (["--problem", "{problem}", "model.gguf"],
     "layerfit plan, --problem: MODEL is named too; expected one of them. Leave one out."),
    (["--cluster", "{folder}/empty.toml"], f"{{folder}}/empty.toml: {NO_NODE}"),
    (["--problem", "{problem}", "--write-problem", "{folder}/none/problem.json"],
     "{folder}/none: no such folder; expected a path that can be used. Check it and its permissions."),
    (["--problem", "{problem}", "--report", "{folder}/none/plan.html"],
     "{folder}/none: no such folder; expected a path that can be used. Check it and its permissions."),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), BAD_INPUT, ids=[" ".join(arguments) for arguments, _ in BAD_INPUT])
def test_bad_input_is_one_line_and_exit_2_and_nothing_is_written(
    arguments: list[str], message: str, problem: Path, cluster: Path, tmp_path: Path, layerfit: Layerfit
) -> None:
    (tmp_path / "empty.toml").write_text("", encoding="utf-8")
    names = {"folder": tmp_path, "problem": problem, "cluster": cluster}
    before = sorted(tmp_path.rglob("*"))
    code, out, err = layerfit(
        "plan", *(argument.format(**names) for argument in arguments), "--json", "-o", tmp_path / "plan.json"
    )

    assert (2, "", message.format(**names)) == (code, out, err.removesuffix("\n"))
    assert before == sorted(tmp_path.rglob("*"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"GGUX" + bytes(60), 'byte 0: begins with "GGUX"; expected "GGUF". Is this a GGUF file?'),
        (
            b"GGUF\x03\x00",
            "byte 6: the file ends inside its header; expected bytes up to 8 at least. Fetch the file again.",
        ),
    ],
    ids=["wrong magic", "a truncated header"],
)
def test_a_broken_model_file_is_one_line_that_names_it(
    content: bytes, message: str, cluster: Path, tmp_path: Path, layerfit: Layerfit
) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)

    assert (2, "", f"{path}, {message}\n") == layerfit("plan", path, "--cluster", cluster, "-o", tmp_path / "plan.json")
    assert not (tmp_path / "plan.json").exists()


def test_a_model_without_a_cluster_is_shown_how_to_write_one(tiny_model: Path, layerfit: Layerfit) -> None:
    line = "layerfit plan: no cluster is named; expected --cluster FILE. Write a file like this and name it."

    assert (2, "", f"{line}\n\n{sample_cluster_text()}") == layerfit("plan", tiny_model)


WRONG = Placement((Stage(0, 4, "n1"),))
RIGHT = Placement((Stage(0, 4, "n0"),))


@pytest.fixture
def prover(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that puts provers in place of all there are."""

    def plant(*provers: Planted) -> None:
        monkeypatch.setattr("solver.solve.provers_for", lambda _problem: provers)

    return plant


@pytest.mark.parametrize(
    ("planted", "message"),
    [
        (Planted([says(1, WRONG)]), 'planted breaks the rule on memory: "n1" would hold 12 bytes with a budget of 10'),
        (Planted([says(2, RIGHT)]), "nodes is 1, beyond its own bound 2"),
        (Planted([says(1, RIGHT)], canonical_answer=WRONG),
         'the answer breaks the rule on memory: "n1" would hold 12 bytes with a budget of 10'),
    ],
    ids=["a wrong placement", "a wrong bound", "a wrong choice among equals"],
)  # fmt: skip
def test_an_answer_that_the_audit_refuses_is_exit_70_and_nothing_is_written(
    planted: Planted, message: str, problem: Path, tmp_path: Path, prover: Callable[..., None], layerfit: Layerfit
) -> None:
    prover(planted)
    before = sorted(tmp_path.rglob("*"))
    ran = layerfit(
        "plan", "--problem", problem, "--objective", "nodes", "--json", "-o", tmp_path / "plan.json",
        "--write-problem", tmp_path / "written.json", "--report", tmp_path / "plan.html",
    )  # fmt: skip

    assert (70, "", f"{message}\n") == ran
    assert before == sorted(tmp_path.rglob("*"))


def test_after_an_interrupt_the_best_plan_is_written(
    problem: Path, tmp_path: Path, prover: Callable[..., None], layerfit: Layerfit
) -> None:
    prover(Planted([says(None, RIGHT)]), Planted([KeyboardInterrupt()]))
    code, out, err = layerfit(
        "plan", "--problem", problem, "--objective", "nodes", "--json", "-o", tmp_path / "plan.json"
    )
    document = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))

    assert (130, "", json.loads(out)) == (code, err, document)
    assert ("feasible", ["n0"]) == (document["outcome"], [stage["node"] for stage in document["stages"]])
    assert (1, None, None, "none") == tuple(document["objective"][0][key] for key in ("value", "bound", "gap", "proof"))


def test_an_interrupt_before_any_plan_leaves_the_outcome_unknown(
    problem: Path, prover: Callable[..., None], layerfit: Layerfit
) -> None:
    prover(Planted([KeyboardInterrupt()]))
    code, out, _ = layerfit("plan", "--problem", problem, "--json")

    assert (130, "unknown") == (code, json.loads(out)["outcome"])
