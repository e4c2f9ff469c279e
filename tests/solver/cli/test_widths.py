"""Reports hold the width of the terminal, which COLUMNS says where there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.machines import WORKSTATION
from support.pools import pool_document

from solver.report.terminal import text_width

if TYPE_CHECKING:
    from pathlib import Path

    from support.commands import Layerfit

CLUSTER = """
[[node]]
name = "a-workstation-below-the-third-desk-of-all"
memory = "16 TiB"
bandwidth = "80 GB/s"
[[node]]
name = "the-server-in-the-rack-beside-the-window"
memory = "8 TiB"
bandwidth = "80 GB/s"
free = "40 GiB"
gpu = [{ class = "rtx-4090-24g-of-a-long-name", memory = "12 MiB", count = 2, bandwidth = "1008 GB/s" }]
[links]
latency = "0.5 ms"
rate = "2.5 Gbit/s"
"""
LOG = """\
load_tensors: RPC0[a-server-with-a-long-name.lan:50052] model buffer size =    20.00 MiB
load_tensors:        CUDA1 model buffer size =    10.00 MiB
"""
COMMANDS = (
    "plan MODEL --cluster CLUSTER",
    "plan MODEL --cluster CLUSTER --objective latency,throughput,headroom",
    "plan MODEL --cluster CLUSTER --cache-bytes-per-token 99999999999",
    "plan MODEL --cluster CLUSTER --frontier nodes,latency",
    "plan MODEL --cluster CLUSTER --engine vllm",
    "compare MODEL --cluster CLUSTER --objective latency",
    "tiers MODEL --prove",
    "route MODEL --prove --cluster CLUSTER",
    "seams MODEL --nodes 3",
    "options MODEL --cluster CLUSTER",
    "options MODEL --cluster CLUSTER --explain 1",
    "options --pool POOL",
    "options --pool POOL --explain 7",
    *(f"inspect MODEL --by {view}" for view in ("block", "role", "type", "tensor", "file")),
    "emulate --free 5000GiB,4000GiB --host-free 9999GiB -- llama-server -m MODEL --rpc 127.0.0.1:50101,127.0.0.1:50102",
    "verify-log LOG --plan PLAN",
    "check PLAN",
    "check BROKEN",
)


@pytest.fixture
def files(tmp_path: Path, tiny_model: Path, layerfit: Layerfit, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the paths that stand for words of the command lines, short ones: a path is never broken."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(CLUSTER, encoding="utf-8")
    (tmp_path / "p.json").write_text(json.dumps(pool_document()), encoding="utf-8")
    (tmp_path / "l.log").write_text(LOG, encoding="utf-8")
    layerfit("plan", tiny_model, "--cluster", "c.toml", "-o", "plan.json")
    plan = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    plan["stages"][0]["load_bytes"] += 10**15
    (tmp_path / "b.json").write_text(json.dumps(plan), encoding="utf-8")
    words = {"CLUSTER": "c.toml", "POOL": "p.json", "LOG": "l.log", "PLAN": "plan.json", "BROKEN": "b.json"}
    return {**words, "MODEL": str(tiny_model)}


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("line", COMMANDS)
def test_no_line_of_a_report_is_wider_than_the_terminal(
    line: str, width: int, files: dict[str, str], layerfit: Layerfit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, err = layerfit(*(files.get(word, word) for word in line.split(" ")))

    assert (True, "") == (code in (0, 1), err)
    assert [] == [shown for shown in out.splitlines() if text_width(shown) > width]


def test_only_the_table_of_a_card_is_wider_in_a_cluster_file(
    layerfit: Layerfit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the same file whatever the terminal, and TOML wants such a table on one line."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("solver.cli.nodes.LocalMachine", lambda: WORKSTATION)
    lines = layerfit("nodes").out.splitlines()

    assert {"  { class = "} == {line[:12] for line in lines if text_width(line) > 100}
