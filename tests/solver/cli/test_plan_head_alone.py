"""A plan for llama.cpp whose head is on another machine than the last block: planned, checked, typed and read back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.plans import REQUEST
from support.problems import NO_RULES

import tensors
from solver.cluster_file import parse_cluster
from solver.engines.llamacpp.problem import llamacpp
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
memory = "{desk} B"
head = true
[[node]]
name = "attic"
memory = "{attic} B"
"""
AMPLE = 2**40


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a model of 80 blocks and a head of its own that is larger than a block."""
    return synthetic.write("llama-3.1-70b", tmp_path_factory.mktemp("model"))[0]


@pytest.fixture
def machines(model: Path, tmp_path: Path) -> Path:
    """Return a cluster where the desk has room for all blocks and the attic for the head, each without a byte more."""
    ample = parse_cluster(MACHINES.format(desk=AMPLE, attic=AMPLE), "m")
    problem = llamacpp(tensors.read(model), ample, REQUEST, NO_RULES).problem
    blocks, head = problem.prefix_bytes[-2], problem.items[-1].load_bytes
    desk, attic = (problem.nodes_by_name[name].held_bytes for name in ("desk", "attic"))
    path = tmp_path / "machines.toml"
    path.write_text(MACHINES.format(desk=desk + blocks, attic=attic + head), encoding="utf-8")
    return path


def asked(model: Path, machines: Path) -> tuple[object, ...]:
    """Return the arguments for a plan of the model."""
    return (model, "--cluster", machines, "--engine", "llamacpp", "--context", REQUEST.context_tokens)


def test_it_is_planned_checked_typed_and_read_back(
    model: Path,
    machines: Path,
    tmp_path: Path,
    layerfit: Layerfit,
    validate_document: Callable[[Mapping[str, Any]], None],
) -> None:
    path = tmp_path / "plan.json"
    planned = layerfit("plan", *asked(model, machines), "-o", path)
    plan = json.loads(path.read_text(encoding="utf-8"))
    checked = layerfit("check", path, "--model", model, "--reprove")
    exported = layerfit("export", path, "--engine", "llamacpp", "--json")

    assert (0, 0, 0) == (planned.code, checked.code, exported.code)
    validate_document(plan)
    assert [("desk", 0, 80, False, 0), ("attic", 80, 80, True, 0)] == [
        tuple(stage[key] for key in ("node", "start", "end", "head", "slack_bytes")) for stage in plan["stages"]
    ]
    assert ["2", "attic", "head"] == next(line.split()[:3] for line in planned.out.splitlines() if "attic" in line)
    words = json.loads(exported.out)["machines"][-1]["commands"][-1]["words"]
    assert ["-ngl", "1", "-ts", "1"] == words[words.index("-ngl") :][:4]
    emulated = json.loads(layerfit("emulate", "--json", "--", *words).out)
    assert ["Host"] * 80 + ["RPC0"] == [slot["device"] for slot in emulated["slots"]]


def test_a_byte_less_in_either_place_leaves_no_plan(
    model: Path, machines: Path, tmp_path: Path, layerfit: Layerfit
) -> None:
    text = machines.read_text(encoding="utf-8")
    for line in (line for line in text.splitlines() if line.startswith("memory")):
        size = int(line.split('"')[1].split()[0])
        tight = tmp_path / "tight.toml"
        tight.write_text(text.replace(line, f'memory = "{size - 1} B"'), encoding="utf-8")

        assert 1 == layerfit("plan", *asked(model, tight), "--time-limit", "10").code


def test_where_blocks_of_stages_are_counted_the_head_stays_with_the_last_block(
    model: Path, tmp_path: Path, layerfit: Layerfit
) -> None:
    machines, path = tmp_path / "ample.toml", tmp_path / "plan.json"
    machines.write_text(MACHINES.format(desk=AMPLE, attic=AMPLE), encoding="utf-8")
    plans = []
    for least in ("1", "2"):
        spread = ("--objective", "load", "--min-blocks", least, "-o", path)
        assert 0 == layerfit("plan", *asked(model, machines), *spread).code
        plans.append(json.loads(path.read_text(encoding="utf-8"))["inputs"]["problem"])

    assert [True, False] == ["head_alone" in plan for plan in plans]
    assert [80, 80] == [len(plan["blocks"]) for plan in plans]
    assert plans[0]["blocks"][:-1] == plans[1]["blocks"][:-1]
