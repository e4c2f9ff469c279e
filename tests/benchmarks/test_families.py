"""Every family is asked once, small and in this process; every strategy once."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.families import FAMILIES, SMALL
from benchmarks.one import answered, unfinished
from benchmarks.public.folder import PublicDataError, instances_folder
from benchmarks.records import Case, to_line
from benchmarks.run import main
from benchmarks.strategies import STRATEGIES, SUBJECT, missing_library

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from benchmarks.family import Family


def case(family: Family, objective: str, strategy: str = SUBJECT) -> Case:
    """Return the question about a small family's first instance."""
    return Case(
        small=True,
        family=family.name,
        instance=family.instances[0].name,
        objective=objective,
        strategy=strategy,
        seed=0,
        workers=1,
        limit_seconds=60.0,
        deterministic_limit=None,
    )


@pytest.mark.parametrize("family", SMALL.values(), ids=SMALL)
def test_a_family_is_answered_with_proof_at_its_small_size(
    family: Family, validate_document: Callable[[Mapping[str, Any]], None]
) -> None:
    """For every objective asked of it; each line is what its schema says."""
    if family.public and instances_folder() is None:
        pytest.skip("no public instances; name their folder in LAYERFIT_DATA to run this test")
    for objective in family.targets:
        record = answered(case(family, objective))

        assert record.failure is None
        assert record.proved
        assert (record.exact is None) == ("infeasible" == record.outcome)
        validate_document(json.loads(to_line(record)))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_strategy_agrees_with_the_solver_on_a_small_instance(strategy: str) -> None:
    """Where it proves; else what it places is no better."""
    library = missing_library(strategy)
    if library is not None:
        pytest.skip(f"{library} is not installed")
    family = SMALL["unlike-126x16"]
    own, other = (answered(case(family, "latency", name)) for name in (SUBJECT, strategy))

    assert other.failure is None
    assert own.value is not None
    if other.proved:
        assert own.value == pytest.approx(other.value, rel=1e-6)
    elif other.value is not None:
        assert own.value <= other.value


def test_a_public_instance_whose_file_is_missing_is_a_failed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, validate_document: Callable[[Mapping[str, Any]], None]
) -> None:
    """Where the folder of instances is there, but not that file."""
    (tmp_path / "instances").mkdir()
    monkeypatch.setenv("LAYERFIT_DATA", str(tmp_path))
    asked = case(SMALL["exo-cards"], "nodes")
    with pytest.raises(PublicDataError) as caught:
        answered(asked)
    record = unfinished(asked, str(caught.value), 0.0)

    assert "model_cards.json: no such file or directory. docs/benchmarks.md names the folder of data." == record.failure
    assert record.peak_mib is None
    validate_document(json.loads(to_line(record)))


def test_public_instances_whose_files_are_missing_are_left_out_of_a_run_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that is partly filled fails nothing."""
    (tmp_path / "instances").mkdir()
    monkeypatch.setenv("LAYERFIT_DATA", str(tmp_path))

    assert 0 == main(["--family", "exo-cards"])
    said = capsys.readouterr()
    assert "" == said.out
    assert said.err.startswith(
        "exo-cards, mlx-community/Qwen3.5-397B-A17B-8bit is left out: model_cards.json: no such file or directory. "
        "docs/benchmarks.md names the folder of data.\n"
    )


@pytest.mark.parametrize("program", ["helix_chain", "helix_replicas", "helix_referee", "distilp_subset"])
def test_a_table_of_public_instances_leaves_out_what_is_not_there(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("highspy", reason="the referee is HiGHS, of the extra bench")
    (tmp_path / "instances").mkdir()
    monkeypatch.setenv("LAYERFIT_DATA", str(tmp_path))
    monkeypatch.setattr("sys.argv", [program])

    assert 0 == import_module(f"benchmarks.public.{program}").main()
    assert " is left out: " in capsys.readouterr().err


def test_small_families_are_those_of_full_size() -> None:
    """With objectives that the full size has too, and no instance twice."""
    assert list(FAMILIES) == list(SMALL)
    for name, family in FAMILIES.items():
        names = [instance.name for instance in family.instances]

        assert set(SMALL[name].targets) <= set(family.targets)
        assert len(set(names)) == len(names)
