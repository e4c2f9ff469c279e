"""`layerfit check --model` of plans whose engine holds more of a block than the file has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.plan_documents import changed

from tensors import synthetic

if TYPE_CHECKING:
    from pathlib import Path

    from support.commands import Layerfit

CARDS = """
[[node]]
name = "desk"
memory = "900 GiB"
bandwidth = "100 GB/s"
gpu = [{ class = "card", memory = "80 GiB", count = 2, bandwidth = "900 GB/s" }]
"""


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        pytest.param("tiny", ("--engine", "llamacpp"), id="rows that a card fills up"),
        pytest.param("tiny-experts", ("--engine", "llamacpp"), id="experts that a card fills up"),
        pytest.param("mixtral-8x7b", ("--engine", "vllm", "--tensor-parallel", "2"), id="norms on each of two cards"),
        pytest.param("mixtral-8x7b", ("--engine", "sglang", "--tensor-parallel", "auto"), id="any number of cards"),
    ],
)
def test_the_model_that_a_plan_was_made_for_stands_and_other_weights_do_not(
    name: str, flags: tuple[str, ...], tmp_path: Path, layerfit: Layerfit
) -> None:
    cluster, path, lie = (tmp_path / file for file in ("cluster.toml", "plan.json", "lie.json"))
    cluster.write_text(CARDS, encoding="utf-8")
    model = synthetic.write(name, tmp_path / "model")[0]
    planned = layerfit("plan", model, "--cluster", cluster, *flags, "-o", path)
    plan = json.loads(path.read_text(encoding="utf-8"))
    weight = plan["inputs"]["problem"]["blocks"][0]["weight_bytes"]
    lie.write_text(json.dumps(changed(plan, ("inputs", "problem", "blocks", 0, "weight_bytes"), weight + 1)))

    checked, other = (layerfit("check", file, "--model", model) for file in (path, lie))

    assert (0, 0, 1) == (planned.code, checked.code, other.code)
    assert "  inputs.problem.blocks: the weights of the blocks are not the model's" in other.out.splitlines()
