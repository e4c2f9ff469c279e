"""`layerfit check`: what stands, what does not, and what is proved again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.plan_documents import changed, document_of, planned
from support.problems import problem_of

from solver.cli import check as command
from solver.planning import plan
from solver.recheck import Reproof
from solver.solution import Outcome, Solution
from tensors import synthetic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.commands import Layerfit

STANDS = "plan.json: the plan stands; every figure follows from its own inputs.\n"
CLAIMS = "Proofs are its own claims: --reprove proves them again by another method.\n"


@pytest.fixture
def written(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Return a function that writes a plan's document."""

    def write(document: dict[str, Any]) -> Path:
        path = tmp_path / "plan.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return write


def test_a_plan_that_stands(written: Callable[[dict[str, Any]], Path], layerfit: Layerfit) -> None:
    assert (0, STANDS + CLAIMS, "") == layerfit("check", written(planned()))


def test_a_plan_that_does_not_stand_lists_every_finding(
    written: Callable[[dict[str, Any]], Path], layerfit: Layerfit
) -> None:
    lie = changed(changed(planned(), ("stages", 0, "slack_bytes"), 4), ("check", "nodes_used"), 3)

    code, out, err = layerfit("check", written(lie))

    assert (1, "") == (code, err)
    assert [
        "plan.json: the plan does not stand; 2 findings.",
        "  stages[0].slack_bytes: 4 is said, 3 follows from the inputs",
        "  check.nodes_used: 3 is said, 2 follows from the inputs",
    ] == out.splitlines()


def test_names_in_findings_reach_no_terminal_as_they_are(
    written: Callable[[dict[str, Any]], Path], layerfit: Layerfit
) -> None:
    out = layerfit("check", written(changed(planned(), ("stages", 0, "node"), "\x1b[31mred\n"))).out

    assert '  rule known: "\\x1b[31mred\\n" is no node of the problem\n' == out.splitlines(keepends=True)[1]


@pytest.mark.parametrize(
    ("document", "line"),
    [
        (planned(), "Proved again: optimal (nodes by cp-sat, balance by cp-sat).\n"),
        (document_of(plan(problem_of((9, 9), (5, 5)))), "Proved again: infeasible.\n"),
        (document_of(plan(problem_of((4, 4, 4, 2), (5, 5, 5)))), "Proved again: infeasible.\n"),
    ],
    ids=["optimal", "infeasible by arithmetic", "infeasible by search"],
)
def test_proofs_are_reached_again_by_another_method(
    document: dict[str, Any], line: str, written: Callable[[dict[str, Any]], Path], layerfit: Layerfit
) -> None:
    assert (0, STANDS + line, "") == layerfit("check", written(document), "--reprove")


def test_a_proof_that_is_not_reached_in_time_is_no_answer(
    written: Callable[[dict[str, Any]], Path], layerfit: Layerfit
) -> None:
    assert (3, f"{STANDS}Not proved again within the limits: unknown.\n", "") == layerfit(
        "check", written(planned()), "--reprove", "--deterministic-limit", "0.0000001"
    )


def test_an_interrupted_proof_is_exit_130(
    written: Callable[[dict[str, Any]], Path], layerfit: Layerfit, monkeypatch: pytest.MonkeyPatch
) -> None:
    solution = Solution(Outcome.UNKNOWN, None, (), interrupted=True, deterministic_time=0.0, wall_ms=0)
    monkeypatch.setattr(command, "reproved", lambda *_: Reproof(solution, reached=False, findings=()))

    assert (130, f"{STANDS}Not proved again within the limits: unknown.\n", "") == layerfit(
        "check", written(planned()), "--reprove"
    )


def test_the_document_says_the_same(
    written: Callable[[dict[str, Any]], Path], layerfit: Layerfit, validate_document: Callable[[Any], None]
) -> None:
    code, out, _ = layerfit("check", written(changed(planned(), ("proof",), "none")), "--json", "--reprove")
    document = json.loads(out)
    validate_document(document)

    assert 1 == code
    assert {
        "schema": "layerfit/check/1",
        "plan": "plan.json",
        "outcome": "optimal",
        "holds": False,
        "findings": [{"place": "proof", "problem": "'none' is said, 'exact search' follows from the inputs"}],
        "reproved": "optimal",
        "proofs": [{"name": "nodes", "proof": "cp-sat"}, {"name": "balance", "proof": "cp-sat"}],
    } == document


def test_the_model_is_compared_when_it_is_named(tiny_model: Path, tmp_path: Path, layerfit: Layerfit) -> None:
    """The one that the plan is of, and another of the same names."""
    (tmp_path / "cluster.toml").write_text('[[node]]\nname = "a"\nmemory = "64 GiB"\n', encoding="utf-8")
    layerfit("plan", tiny_model, "--cluster", tmp_path / "cluster.toml", "-o", tmp_path / "plan.json")
    other = synthetic.write("tiny", tmp_path / "other")[0]

    assert (0, STANDS + CLAIMS, "") == layerfit("check", tmp_path / "plan.json", "--model", tiny_model)
    code, out, err = layerfit("check", tmp_path / "plan.json", "--model", other)
    assert (1, "") == (code, err)
    assert "  inputs.header_sha256: the model's headers hash to\n    " in out


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b"\x00" * 100, b"GGUF"])
def test_a_file_that_is_no_plan_is_one_line_and_exit_2(content: bytes, tmp_path: Path, layerfit: Layerfit) -> None:
    (tmp_path / "plan.json").write_bytes(content)
    code, out, err = layerfit("check", tmp_path / "plan.json")

    assert (2, "", 1) == (code, out, err.count("\n"))
    assert err.startswith(f"{tmp_path / 'plan.json'}: ")
    assert err.endswith("; expected a layerfit/plan/1 document. Plan again.\n")
