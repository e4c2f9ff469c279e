"""What became worse from one run to another is found by value, proof and deterministic time."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import __main__ as core
from benchmarks import compare, run
from benchmarks.__main__ import _MODULES, main
from benchmarks.compare import Change, Verdict, changes
from benchmarks.records import SCHEMA, Case, Record, best_of, read_records, to_line

NAME = "unlike-78x10 (small), 90% full, seed 0, balance, layerfit, seed 0, 1 workers"
CASE = Case(
    small=True,
    family="unlike-78x10",
    instance="90% full, seed 0",
    objective="balance",
    strategy="layerfit",
    seed=0,
    workers=1,
    limit_seconds=20.0,
    deterministic_limit=None,
)
PROVED = Record(
    schema=SCHEMA,
    case=CASE,
    blocks=12,
    nodes=4,
    outcome="optimal",
    exact="9/10",
    value=0.9,
    bound=0.9,
    gap=0.0,
    proof="exact search",
    wall_seconds=0.5,
    processor_seconds=0.5,
    deterministic_time=1.0,
    peak_mib=40,
    wall_of_repeats=(0.5,),
    failure=None,
    load_average=0.0,
    cores=2,
    versions={"layerfit": "0.1.0"},
    commit="abc",
)
OPEN = replace(PROVED, outcome="feasible", exact="19/20", value=0.95, gap=0.05, proof="none")
NOTHING = replace(PROVED, outcome="unknown", exact=None, value=None, gap=None, proof="none")
REFUTED = replace(NOTHING, outcome="infeasible", proof="closed form")
FAILED = replace(NOTHING, outcome="failed", failure="out of memory")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (PROVED, replace(PROVED, wall_seconds=50.0, peak_mib=4000), ()),
        (PROVED, replace(PROVED, exact="4/5"), ((Verdict.WORSE, "two proofs differ: 4/5, was 9/10"),)),
        (PROVED, REFUTED, ((Verdict.WORSE, "two proofs differ: infeasible, was optimal"),)),
        (
            PROVED,
            OPEN,
            ((Verdict.WORSE, "value 19/20, was 9/10"), (Verdict.WORSE, "feasible, was optimal")),
        ),
        (
            OPEN,
            PROVED,
            ((Verdict.BETTER, "value 9/10, was 19/20"), (Verdict.BETTER, "optimal, was feasible")),
        ),
        (OPEN, NOTHING, ((Verdict.WORSE, "unknown, was feasible"),)),
        (NOTHING, OPEN, ((Verdict.BETTER, "feasible, was unknown"),)),
        (PROVED, NOTHING, ((Verdict.WORSE, "unknown, was optimal"),)),
        (NOTHING, REFUTED, ((Verdict.BETTER, "infeasible, was unknown"),)),
        (PROVED, FAILED, ((Verdict.WORSE, "failed: out of memory"),)),
        (FAILED, PROVED, ((Verdict.BETTER, "optimal, where it failed"),)),
        (
            PROVED,
            replace(PROVED, deterministic_time=1.2),
            ((Verdict.WORSE, "1.200 units of deterministic time, was 1.000"),),
        ),
        (
            PROVED,
            replace(PROVED, deterministic_time=0.5),
            ((Verdict.BETTER, "0.500 units of deterministic time, was 1.000"),),
        ),
        (PROVED, replace(PROVED, deterministic_time=1.09), ()),
        (OPEN, REFUTED, ((Verdict.WORSE, "a plan and a proof that there is none: infeasible, was feasible"),)),
        (REFUTED, OPEN, ((Verdict.WORSE, "a plan and a proof that there is none: feasible, was infeasible"),)),
        (replace(PROVED, deterministic_time=0.0), replace(PROVED, deterministic_time=0.04), ()),
    ],
)
def test_a_case_is_judged_by_value_proof_and_deterministic_time(
    old: Record, new: Record, expected: tuple[tuple[Verdict, str], ...]
) -> None:
    """Wall time and memory decide nothing."""
    assert tuple(Change(verdict, NAME, what) for verdict, what in expected) == changes([old], [new], slack=0.1)


def test_an_objective_that_is_made_large_is_better_when_larger() -> None:
    """As tokens are."""
    few = replace(OPEN, case=replace(CASE, objective="tokens"), exact="100")

    assert [Verdict.BETTER] == [change.verdict for change in changes([few], [replace(few, exact="101")], slack=0.1)]
    assert [Verdict.WORSE] == [change.verdict for change in changes([few], [replace(few, exact="99")], slack=0.1)]


def test_work_of_several_workers_is_not_judged() -> None:
    """Since it does not repeat."""
    two = replace(PROVED, case=replace(CASE, workers=2))

    assert () == changes([two], [replace(two, deterministic_time=9.0)], slack=0.1)


def test_a_case_that_is_gone_is_worse_and_one_that_came_is_new() -> None:
    """Seeds are cases of their own."""
    other = replace(PROVED, case=replace(CASE, seed=7))

    assert (
        Change(Verdict.WORSE, NAME, "asked before and not now"),
        Change(Verdict.NEW, NAME.replace("layerfit, seed 0", "layerfit, seed 7"), "optimal"),
    ) == changes([PROVED], [other], slack=0.1)


def test_the_best_of_several_lines_counts() -> None:
    """Also where the limits differ."""
    longer = replace(PROVED, case=replace(CASE, limit_seconds=90.0))

    assert () == changes([PROVED], [OPEN, PROVED], slack=0.1)
    assert () == changes([PROVED], [OPEN, longer], slack=0.1)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (OPEN, replace(FAILED, wall_seconds=0.1)),
        (replace(OPEN, gap=None), replace(FAILED, wall_seconds=0.1)),
        (replace(OPEN, gap=None), replace(NOTHING, wall_seconds=0.1)),
        (replace(NOTHING, wall_seconds=9.0), replace(FAILED, wall_seconds=0.1)),
        (replace(OPEN, gap=None), replace(OPEN, gap=None, exact="96/100", wall_seconds=0.1)),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_the_best_line_is_one_with_an_answer_however_quickly_another_ended(
    better: Record, worse: Record, turned: bool
) -> None:
    assert (better,) == best_of([worse, better] if turned else [better, worse])


def test_versions_that_differ_are_named_behind_the_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They decide nothing, but deterministic times of two versions are of different units."""
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text(to_line(replace(PROVED, versions={"layerfit": "0.1.0", "ortools": "9.15"})))
    new.write_text(to_line(replace(PROVED, versions={"layerfit": "0.1.0", "ortools": "9.16", "highspy": "1.16"})))

    assert 0 == compare.main([str(old), str(new)])
    assert capsys.readouterr().out.endswith("decides nothing; highspy 1.16, was none; ortools 9.16, was 9.15\n")


def test_the_command_prints_what_changed_and_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And with 0 where nothing became worse."""
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text(to_line(PROVED) + "\n")
    new.write_text(to_line(replace(OPEN, exact="9/10", commit="def")) + "\n")

    assert 0 == compare.main([str(old), str(old)])
    assert (
        "1 cases at abc and abc: 0 worse, 0 better, 0 new; 0.50 and 0.50 s of wall time, which decides nothing\n"
        == capsys.readouterr().out
    )
    assert 1 == compare.main([str(old), str(new)])
    assert (
        f"worse: {NAME}: feasible, was optimal\n"
        "1 cases at abc and def: 1 worse, 0 better, 0 new; 0.50 and 0.50 s of wall time, which decides nothing\n"
        == capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "a.jsonl, line 1: input data was truncated; expected a record. Run again."),
        (
            to_line(replace(PROVED, schema="layerfit/benchmark/0")),
            "a.jsonl, line 1: schema 'layerfit/benchmark/0'; expected layerfit/benchmark/1. Run again.",
        ),
        ("\n", "a.jsonl: no record is there; expected a line each case. Run first."),
        (
            to_line(replace(PROVED, exact="1/0")),
            "a.jsonl, line 1: exact '1/0'; expected an integer or a fraction. Run again.",
        ),
        (
            to_line(replace(PROVED, case=replace(CASE, objective="speed"))),
            (
                "a.jsonl, line 1: objective 'speed'; expected one of nodes, balance, load, latency, throughput, "
                "headroom, context, tokens, offload. Run again."
            ),
        ),
    ],
)
def test_a_line_that_is_no_record_is_refused_with_its_place(
    line: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ends with 2."""
    (tmp_path / "a.jsonl").write_text(line)

    assert 2 == main(["compare", str(tmp_path / "a.jsonl"), str(tmp_path / "a.jsonl")])
    assert f"benchmarks compare: {problem}\n" == capsys.readouterr().err


def test_a_file_that_is_no_text_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By both commands that read one."""
    (tmp_path / "a.jsonl").write_bytes(b"{}\n\xff")
    for command in (["compare", str(tmp_path / "a.jsonl")], ["report"]):
        assert 2 == main([*command, str(tmp_path / "a.jsonl")])
        assert capsys.readouterr().err.endswith(": a.jsonl: no UTF-8 at byte 3; expected a line of JSON each case.\n")


def test_a_report_shows_a_family_that_is_not_known_any_more(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(to_line(replace(PROVED, case=replace(CASE, family="gone"))))

    assert 0 == main(["report", str(tmp_path / "a.jsonl")])
    assert "| gone " in capsys.readouterr().out


@pytest.mark.parametrize("slack", ["nan", "-1", "inf", "much"])
def test_a_slack_is_a_number_from_0_up(slack: str) -> None:
    with pytest.raises(SystemExit) as caught:
        compare.main(["old", "new", f"--slack={slack}"])
    assert 2 == caught.value.code


def test_every_measurement_with_a_form_of_its_own_is_a_command() -> None:
    """Named in the help, and a module with a main block."""
    for name, module in _MODULES.items():
        found = find_spec(module)

        assert name in (core.__doc__ or "")
        assert found is not None
        assert found.origin is not None
        assert 'if __name__ == "__main__":' in Path(found.origin).read_text(encoding="utf-8")


def test_an_unknown_command_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    """And ends with 2."""
    assert 2 == main(["measure"])
    assert capsys.readouterr().err.startswith("The benchmark core: run cases, compare two runs, show tables.\n")


def test_a_run_that_was_ended_goes_on_where_it_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its file answers at the same commit is not asked again; an interrupt ends with 130 and keeps its lines."""
    asked: list[str] = []

    def ended_at_the_second(case: Case, _repeats: int) -> Record:
        asked.append(case.objective)
        if ["nodes", "balance"] == asked:
            raise KeyboardInterrupt
        return replace(PROVED, case=case)

    monkeypatch.setenv("BENCHMARK_COMMIT", "abc")
    monkeypatch.setattr(run, "_repeated", ended_at_the_second)
    words = ["--family", "unlike-78x10", "--objective", "nodes", "--objective", "balance"]

    assert 130 == run.main(words)
    (tmp_path / "a.jsonl").write_text(capsys.readouterr().out)
    assert 0 == run.main([*words, "--known", str(tmp_path / "a.jsonl")])
    assert ["nodes", "balance", "balance"] == asked
    assert ["balance"] == [one.case.objective for one in read_records(capsys.readouterr().out.splitlines())]
    monkeypatch.setenv("BENCHMARK_COMMIT", "def")
    assert 0 == run.main([*words, "--known", str(tmp_path / "a.jsonl")])
    assert ["nodes", "balance"] == asked[3:]


def test_a_run_prints_a_line_that_compares_with_itself(tmp_path: Path, repository: Path) -> None:
    """In processes of their own, as a person types it."""

    def python(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "benchmarks", *words]
        return subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)

    done = python(
        "run", "--family", "unlike-78x10", "--objective", "nodes", "--seed", "3", "--deterministic-limit", "9"
    )
    (record,) = read_records(done.stdout.splitlines())
    (tmp_path / "a.jsonl").write_text(done.stdout)

    assert 0 == done.returncode
    assert ("4", "optimal", 3, 9.0) == (
        record.exact,
        record.outcome,
        record.case.seed,
        record.case.deterministic_limit,
    )
    assert record.commit is not None
    assert 0 == python("compare", str(tmp_path / "a.jsonl"), str(tmp_path / "a.jsonl")).returncode
