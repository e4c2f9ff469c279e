"""Cards, hosts and widths on the command line: what is asked for shows in the plan and in what is typed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from support.commands import Layerfit

BOX = """
[[node]]
name = "box"
memory = "64 GiB"
bandwidth = "80 GB/s"
gpu = [{ class = "l4", memory = "24 GiB", count = 4, bandwidth = "300 GB/s", device = "CUDA0" }]
"""


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """Return the file of a machine of four cards."""
    file = tmp_path / "box.toml"
    file.write_text(BOX)
    return file


@pytest.mark.parametrize(("asked", "width"), [("2", 2), ("auto", 1)])
def test_ranks_are_as_wide_as_asked_or_as_is_best(
    asked: str, width: int, box: Path, tiny_model: Path, tmp_path: Path, layerfit: Layerfit
) -> None:
    """Every card of a rank keeps the latents of all its blocks, so ranks of one card hold the most tokens."""
    flags = ("--engine", "vllm", "--tensor-parallel", asked, "--objective", "tokens", "--json")
    ran = layerfit("plan", tiny_model, "--cluster", box, *flags, "-o", tmp_path / "plan.json")
    document = json.loads(ran.out)

    assert 0 == ran.code, ran.err
    assert width == document["inputs"]["options"]["tensor_parallel"]
    assert width == document["ranks"]["width"]
    exported = layerfit("export", tmp_path / "plan.json", "--engine", "vllm")
    assert 0 == exported.code, exported.err
    assert f"--tensor-parallel-size {width}" in exported.out


def test_an_engine_that_cannot_share_blocks_or_leave_weights_is_not_asked_to(
    box: Path, tiny_model: Path, layerfit: Layerfit
) -> None:
    wide = layerfit("plan", tiny_model, "--cluster", box, "--engine", "llamacpp", "--tensor-parallel", "2")
    left = layerfit("plan", tiny_model, "--cluster", box, "--engine", "vllm", "--offload", "ffn")

    assert (2, 2) == (wide.code, left.code)
    assert (
        "layerfit plan, --tensor-parallel: the rules of llamacpp leave no choice there; expected it without. "
        "Leave it out.\n" == wide.err
    )
    assert left.err.startswith("layerfit plan, --offload: the rules of vllm leave no choice there")


@pytest.mark.parametrize("text", ["0", "-1", "many", "100000", "1.5"])
def test_a_width_is_a_number_of_cards_or_auto(text: str, box: Path, tiny_model: Path, layerfit: Layerfit) -> None:
    ran = layerfit("plan", tiny_model, "--cluster", box, f"--tensor-parallel={text}")

    assert 2 == ran.code
    assert f'"{text}" is no number of cards; expected 1 to 480, or auto. Write it like 2.' in ran.err


TWO_MACHINES = """
[reserve]
fraction = 0
floor = "0 GiB"
[[node]]
name = "small"
memory = "1 GiB"
gpu = [{ class = "a", memory = "HELD", device = "CUDA0" }]
[[node]]
name = "large"
memory = "64 GiB"
address = "10.0.0.2"
gpu = [{ class = "a", memory = "HELD", device = "CUDA0" }]
"""


def test_the_head_is_chosen_where_nobody_names_it(tiny_model: Path, tmp_path: Path, layerfit: Layerfit) -> None:
    """Each machine is planned as the head; what is typed is for the one that was kept, the earlier of equals."""
    cluster = tmp_path / "two.toml"
    cluster.write_text(TWO_MACHINES.replace("HELD", "700 MiB"))
    flags = ("--engine", "llamacpp", "--context", "512", "--objective", "offload,balance")
    ran = layerfit("plan", tiny_model, "--cluster", cluster, *flags, "--json", "-o", tmp_path / "plan.json")
    document = json.loads(ran.out)

    assert 0 == ran.code, ran.err
    assert [True, False] == [node["head"] for node in document["inputs"]["cluster"]["nodes"]]
    assert "small is the head, where llama.cpp is started: the best, held against large." in document["notes"]
    assert 0 == layerfit("check", tmp_path / "plan.json").code
    exported = layerfit("export", tmp_path / "plan.json", "--engine", "llamacpp", "--model", tiny_model)
    assert 0 == exported.code, exported.err
    assert "# on small" in exported.out


def test_a_head_that_is_named_stays_the_head(tiny_model: Path, tmp_path: Path, layerfit: Layerfit) -> None:
    cluster = tmp_path / "two.toml"
    named = TWO_MACHINES.replace("HELD", "700 MiB").replace('name = "large"', 'name = "large"\nhead = true')
    cluster.write_text(named)
    ran = layerfit("plan", tiny_model, "--cluster", cluster, "--engine", "llamacpp", "--context", "512", "--json")

    assert 0 == ran.code, ran.err
    assert [False, True] == [node["head"] for node in json.loads(ran.out)["inputs"]["cluster"]["nodes"]]


def test_a_plan_of_cards_uses_the_objectives_that_fit_it_and_says_so(
    tiny_model: Path, tmp_path: Path, layerfit: Layerfit
) -> None:
    cluster = tmp_path / "box.toml"
    cluster.write_text(BOX)
    experts = json.loads(layerfit("plan", tiny_model, "--cluster", cluster, "--json").out)
    nothing = json.loads(layerfit("plan", tiny_model, "--cluster", cluster, "--offload", "none", "--json").out)

    assert "nodes,offload,balance" == experts["inputs"]["options"]["objective"]
    assert ["nodes", "offload", "balance"] == [entry["name"] for entry in experts["objective"]]
    assert "nodes,balance" == nothing["inputs"]["options"]["objective"]
    assert ("experts", "none") == tuple(said["inputs"]["options"]["offload"] for said in (experts, nothing))
