"""From a model to what is typed: plan, export, and the same command emulated again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tensors import synthetic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from support.commands import Layerfit

MACHINES = """
[reserve]
fraction = 0
floor = "0 GiB"

[[node]]
name = "desk"
memory = "{host}"
address = "10.0.0.1"

[[node]]
name = "studio"
memory = "{host}"
address = "10.0.0.2"
rpc_port = 50060

[[node]]
name = "attic"
memory = "{host}"
"""
CARDS = """
[[node]]
name = "tower"
memory = "64 GiB"
gpu = [{ class = "card", memory = "24 GiB", count = 4 }]
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the paths of header-only models: with nextn blocks and indexers, with a tied head, and as shards."""
    folder = tmp_path_factory.mktemp("models")
    names = ("tiny", "tiny-experts", "llama-3.2-1b", "mixtral-8x7b")
    return {name: synthetic.write(name, folder / name)[0] for name in names}


@pytest.mark.parametrize("planned_for", ["llamacpp", "generic"])
@pytest.mark.parametrize("model", ["tiny", "tiny-experts", "llama-3.2-1b"])
def test_what_is_typed_puts_every_block_where_the_plan_has_it(
    model: str,
    planned_for: str,
    models: dict[str, Path],
    tmp_path: Path,
    layerfit: Layerfit,
    validate_document: Callable[[Mapping[str, Any]], None],
) -> None:
    cluster, plan = tmp_path / "cluster.toml", tmp_path / "plan.json"
    cluster.write_text(MACHINES.format(host="4 GiB"), encoding="utf-8")
    spread = ("--first", "studio", "--pin", "1=attic", "--last", "desk")
    planned = layerfit("plan", models[model], "--cluster", cluster, "--engine", planned_for, *spread, "-o", plan)
    exported = layerfit("export", plan, "--engine", "llamacpp", "--json")

    assert (0, 0) == (planned.code, exported.code)
    document = json.loads(exported.out)
    validate_document(document)
    validate_document(json.loads(plan.read_text(encoding="utf-8")))
    assert ["attic", "desk", "studio"] == [machine["node"] for machine in document["machines"]]
    head = document["machines"][-1]["commands"][-1]
    emulated = layerfit("emulate", "--json", "--", *head["words"])
    slots = json.loads(emulated.out)["slots"]
    stages = json.loads(plan.read_text(encoding="utf-8"))["stages"]
    names = {"studio": "Host", "attic": "RPC0", "desk": "RPC1"}
    expected = [names[stage["node"]] for stage in stages for _ in range(stage["start"], stage["end"])]
    assert expected == [slot["device"] for slot in slots][: len(expected)]
    assert "RPC1" == slots[-1]["device"]
    assert "--rpc ADDRESS_OF_attic:50052,10.0.0.1:50052 --device RPC0,RPC1 " in head["shell"]
    if planned_for == "llamacpp":
        assert head["shell"] in planned.out


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_a_plan_of_an_engine_with_ranks_ends_with_them_and_with_what_to_type(
    engine: str,
    models: dict[str, Path],
    tmp_path: Path,
    layerfit: Layerfit,
    validate_document: Callable[[Mapping[str, Any]], None],
) -> None:
    cluster, plan = tmp_path / "cluster.toml", tmp_path / "plan.json"
    cluster.write_text(CARDS.replace('"24 GiB"', '"48 GiB"'), encoding="utf-8")
    model = models["mixtral-8x7b"].parent
    ran = layerfit("plan", model, "--cluster", cluster, "--engine", engine, "--objective", "tokens,balance", "-o", plan)
    document = json.loads(plan.read_text(encoding="utf-8"))
    counts = ",".join(str(stage["end"] - stage["start"]) for stage in document["stages"])

    assert (0, "") == (ran.code, ran.err)
    validate_document(document)
    assert [f"tower/gpu{number}" for number in range(len(document["stages"]))] == [
        rank["device"] for rank in document["ranks"]["ranks"]
    ]
    assert f"{engine.upper()}_PP_LAYER_PARTITION={counts} " in ran.out
    assert 0 == layerfit("check", plan).code
    exported = layerfit("export", plan, "--engine", engine)
    assert 0 == exported.code
    assert exported.out in ran.out


def test_a_plan_for_hosts_is_not_exported_for_an_engine_of_cards(
    models: dict[str, Path], tmp_path: Path, layerfit: Layerfit
) -> None:
    cluster, plan = tmp_path / "cluster.toml", tmp_path / "plan.json"
    cluster.write_text(MACHINES.format(host="4 GiB") + CARDS, encoding="utf-8")
    layerfit("plan", models["tiny"], "--cluster", cluster, "--engine", "llamacpp", "--exclude", "tower", "-o", plan)

    code, out, err = layerfit("export", plan, "--engine", "vllm")

    assert (1, "") == (code, out)
    assert err.startswith(f"{tmp_path}/plan.json: not exported for vllm: cluster: no node has 1 equal card")


def test_flags_of_another_engine_and_plans_of_no_model_are_refused(tmp_path: Path, layerfit: Layerfit) -> None:
    problem, plan = tmp_path / "problem.json", tmp_path / "plan.json"
    problem.write_text(
        '{"schema": "layerfit/problem/1", "blocks": [{"weight_bytes": 1}], '
        '"nodes": [{"name": "a", "budget_bytes": 2}]}',
        encoding="utf-8",
    )
    assert 0 == layerfit("plan", "--problem", problem, "-o", plan).code

    assert (
        2,
        "",
        "layerfit export, --launcher: sglang has one of its own; expected vllm. Leave it out.\n",
    ) == layerfit("export", plan, "--engine", "sglang", "--launcher", "ray")
    code, out, err = layerfit("export", plan, "--engine", "llamacpp")
    assert (2, "") == (code, out)
    assert err.startswith(f"{tmp_path}/plan.json: expected `object`, got `null` at model; expected the plan of a model")


def test_a_plan_that_was_changed_is_not_exported(models: dict[str, Path], tmp_path: Path, layerfit: Layerfit) -> None:
    cluster, plan = tmp_path / "cluster.toml", tmp_path / "plan.json"
    cluster.write_text(MACHINES.format(host="4 GiB"), encoding="utf-8")
    layerfit("plan", models["tiny"], "--cluster", cluster, "-o", plan)
    document = json.loads(plan.read_text(encoding="utf-8"))
    document["stages"][0]["weight_bytes"] += 1
    plan.write_text(json.dumps(document), encoding="utf-8")

    code, out, err = layerfit("export", plan, "--engine", "llamacpp")

    assert (2, "") == (code, out)
    assert err.startswith(f"{tmp_path}/plan.json: it does not stand (stages[0].weight_bytes: ")
