"""Commands hand over the flags that they share: what a group of flags holds reaches whoever acts on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solver import prove
from solver.cli import compare
from solver.cli.search_flags import RuleOptions
from solver.cli.shared_flags import ClusterOptions, EngineOptions, WorkloadOptions
from solver.effort import Effort
from solver.errors import UsageError
from solver.workload import IndexerRule
from tensors import reader
from tensors.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from support.commands import Layerfit

LIMITS = ("--time-limit", "2", "--deterministic-limit", "5", "--workers", "3", "--seed", "7")
STOPPED = "it is far enough"


@pytest.mark.parametrize(
    "command",
    [
        "plan MODEL --cluster CLUSTER",
        "compare MODEL --cluster CLUSTER",
        "inspect MODEL",
        "tiers MODEL",
        "route MODEL --cluster CLUSTER",
        "seams MODEL --nodes 2",
        "options MODEL --cluster CLUSTER",
        "export PLAN --engine llamacpp --model MODEL",
        "check PLAN --model MODEL",
        "emulate -- llama-server -m MODEL",
    ],
)
def test_how_distant_models_are_read_reaches_the_reader(
    command: str, tiny_model: Path, tmp_path: Path, layerfit: Layerfit, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {"CLUSTER": tmp_path / "cluster.toml", "PLAN": tmp_path / "plan.json", "MODEL": tiny_model}
    words["CLUSTER"].write_text('[[node]]\nname = "desk"\nmemory = "64 GiB"\n', encoding="utf-8")
    layerfit("plan", tiny_model, "--cluster", words["CLUSTER"], "-o", words["PLAN"])
    asked: list[dict[str, Any]] = []

    def stop(model: str, **how: Any) -> None:
        asked.append(how)
        raise SourceError(model, STOPPED)

    monkeypatch.setattr(reader, "read", stop)
    monkeypatch.setattr(reader, "read_every", stop)
    name, *arguments = command.split(" ")
    ran = layerfit(name, "--no-cache", "--read-timeout", "3", *(words.get(word, word) for word in arguments))

    assert (2, "", f"{tiny_model}: {STOPPED}\n") == ran
    assert [(False, 3.0)] == [(how["cache"], how["time_limit_seconds"]) for how in asked]


@pytest.mark.parametrize(
    ("module", "prover", "command"),
    [
        (compare, "solve_plan", "compare MODEL --cluster CLUSTER"),
        (prove, "prove_tiers", "tiers MODEL --prove"),
        (prove, "prove_route", "route MODEL --prove --cluster CLUSTER"),
    ],
)
def test_limits_reach_the_search(
    module: Any,
    prover: str,
    command: str,
    tiny_model: Path,
    tmp_path: Path,
    layerfit: Layerfit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = tmp_path / "cluster.toml"
    cluster.write_text('[[node]]\nname = "desk"\ncount = 2\nmemory = "64 GiB"\n', encoding="utf-8")
    efforts: list[Effort] = []

    def stop(*asked: Any, **_: Any) -> None:
        efforts.extend(each for each in asked if isinstance(each, Effort))
        raise UsageError(STOPPED)

    monkeypatch.setattr(module, prover, stop)
    words = {"CLUSTER": cluster, "MODEL": tiny_model}

    assert (2, "", f"{STOPPED}\n") == layerfit(*(words.get(word, word) for word in command.split(" ")), *LIMITS)
    assert [Effort(2.0, 5.0, 3, 7)] == efforts


def test_what_is_compared_is_what_was_asked_for(
    layerfit: Layerfit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    groups: list[Any] = []

    def stop(*asked: Any) -> None:
        groups.extend(asked)
        raise UsageError(STOPPED)

    monkeypatch.setattr(compare, "question_of", stop)
    workload = "--context 64 --parallel 2 --kv f16 --indexer none --resident-nextn --cache-bytes-per-token 9"
    rules = "--pin 3=a --first a --last b --order a,b --exclude c --max-nodes 2 --min-blocks 4 --replicas"
    cluster = f"--cluster {tmp_path / 'c.toml'} --reserve-fraction 0.5 --reserve-floor 2GB"
    ran = layerfit("compare", "m", *f"{workload} {rules} {cluster} --engine vllm".split(" "))

    assert (2, "", f"{STOPPED}\n") == ran
    assert ClusterOptions(cluster=tmp_path / "c.toml", reserve_fraction=0.5, reserve_floor=2 * 10**9) in groups
    assert (
        WorkloadOptions(
            context=64,
            sequences=2,
            kv=("f16", "f16"),
            indexer=IndexerRule.NONE,
            resident_nextn=True,
            cache_bytes_per_token=9,
        )
        in groups
    )
    assert (
        RuleOptions(
            pin=((3, "a"),),
            first="a",
            last="b",
            order=("a", "b"),
            exclude=("c",),
            max_nodes=2,
            min_blocks=4,
            replicas=True,
        )
        in groups
    )
    assert "vllm" in [group.engine for group in groups if isinstance(group, EngineOptions)]
