"""`layerfit nodes`: a cluster file for this machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.machines import GB10, SERVER, STRIX_HALO, WORKSTATION

from solver.cluster_document import cluster_document
from solver.cluster_file import parse_cluster, read_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from support.commands import Layerfit
    from support.machines import RecordedMachine

    Validate = Callable[[Mapping[str, Any]], None]
    On = Callable[[RecordedMachine], None]

TEXT = """\
# The machine that `layerfit nodes` ran on, as a node of a cluster file. Check it, edit it, and
# append the nodes of other machines below: these texts can stand one after the other.
# docs/cluster-file.md lists every key. Sizes are exact and as found now; budget = usable − reserve,
# and never above a ceiling.

[[node]]
name = "desk"
# address = "desk.lan"   # how the others reach it: for layerfit export

# Host memory. MemTotal of /proc/meminfo is 61.99 GiB (66,560,000,000 bytes): what firmware and
# kernel leave of the modules.
# Usable 61.99 GiB − reserve 12.40 GiB (20 %) = budget 49.59 GiB (53,248,000,000 bytes).
memory = "65000000 KiB"
free = "60000000 KiB"   # 57.22 GiB unused now; it says nothing of what fits
# cpu = true   # may whole blocks also live in this memory?
# bandwidth = "80 GB/s"   # channels × 8 bytes × transfers/s; latency and throughput need it

# Cards, in the order of the bus; free_count says how many have all of their budget unused now.
gpu = [
  # NVIDIA GeForce RTX 4090 at 0000:01:00.0: nvidia-smi reports 23.99 GiB (25,757,220,864 bytes), of
  # which driver and firmware keep 347.00 MiB (363,855,872 bytes). 19.53 GiB are in use now.
  # NVIDIA GeForce RTX 4090 at 0000:41:00.0: nvidia-smi reports 23.99 GiB (25,757,220,864 bytes), of
  # which driver and firmware keep 347.00 MiB (363,855,872 bytes). 9.00 MiB are in use now.
  # Each: Usable 23.65 GiB − reserve 2.36 GiB (10 %) = budget 21.28 GiB (22,854,028,492 bytes).
  # Bandwidth: NVIDIA GeForce product specifications.
  { class = "rtx-4090-24g", memory = "24217 MiB", count = 2, free_count = 1, bandwidth = "1008 GB/s", device = "CUDA0" },
  # NVIDIA GeForce RTX 3090 at 0000:c1:00.0: nvidia-smi reports 24.00 GiB (25,769,803,776 bytes), of
  # which driver and firmware keep 312.00 MiB (327,155,712 bytes). 9.00 MiB are in use now.
  # Usable 23.70 GiB − reserve 2.37 GiB (10 %) = budget 21.33 GiB (22,898,383,257 bytes).
  # Bandwidth: NVIDIA GeForce product specifications.
  { class = "rtx-3090-24g", memory = "24264 MiB", free_count = 1, bandwidth = "936 GB/s", device = "CUDA2" },
]

# AMD 1002:164e at 0000:7a:00.0 is not listed: it works in the host's memory, which is counted once,
# as the host's.

# Once in the whole file, where they differ from these defaults:
# [reserve]
# fraction = 0.20
# floor = "8 GiB"
# [reserve.gpu]
# fraction = 0.10
# floor = "0 GiB"
# [links]               # between the nodes: measure them; without, nothing takes time
# latency = "0.5 ms"
# rate = "2.5 Gbit/s"
"""  # noqa: E501 - a card stands on one line


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> On:
    """Return a function that makes a recorded machine the one that the command runs on."""

    def run_on(machine: RecordedMachine) -> None:
        monkeypatch.setattr("solver.cli.nodes.LocalMachine", lambda: machine)

    return run_on


def test_it_prints_a_cluster_file_that_explains_itself(layerfit: Layerfit, on: On) -> None:
    on(WORKSTATION)

    assert (0, TEXT, "") == layerfit("nodes")


def test_it_works_on_the_machine_that_runs_this_test(layerfit: Layerfit) -> None:
    """Whatever that is: it has a memory."""
    code, out, err = layerfit("nodes", "--name", "here")

    assert (0, "") == (code, err)
    assert "here" == parse_cluster(out, "here.toml").nodes[0].name


def test_the_document_is_the_normalised_cluster(layerfit: Layerfit, on: On, validate_document: Validate) -> None:
    """As a plan keeps it, with what is not listed beside it."""
    on(WORKSTATION)
    document = json.loads(layerfit("nodes", "--json").out)
    validate_document(document)

    assert cluster_document(parse_cluster(TEXT, "desk.toml")) == document["cluster"]
    assert 1 == len(document["remarks"])


def test_a_plan_is_made_on_what_it_wrote(tmp_path: Path, tiny_model: Path, layerfit: Layerfit, on: On) -> None:
    """As it stands, on machines of one memory each and, by an engine, on cards."""
    paths = []
    for machine in (SERVER, GB10, STRIX_HALO):
        on(machine)
        paths.append(tmp_path / f"{machine.host_name}.toml")

        assert (
            0,
            "",
            f"{paths[-1]}: written. Check it, then: layerfit plan MODEL --cluster {paths[-1]}\n",
        ) == layerfit("nodes", "-o", paths[-1])
    merged = tmp_path / "all.toml"
    merged.write_text("".join(path.read_text(encoding="utf-8") for path in paths), encoding="utf-8")
    on(WORKSTATION)
    layerfit("nodes", "-o", tmp_path / "desk.toml")

    assert ["server", "spark", "strix"] == [node.name for node in read_cluster(merged).nodes]
    assert 0 == layerfit("plan", tiny_model, "--cluster", merged).code
    engine = ("--engine", "llamacpp", "--objective", "balance")
    assert 0 == layerfit("plan", tiny_model, "--cluster", tmp_path / "desk.toml", *engine).code


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path, layerfit: Layerfit, on: On) -> None:
    """It may have been edited by hand."""
    on(SERVER)
    path = tmp_path / "cluster.toml"
    path.write_text("mine", encoding="utf-8")
    message = f"{path}: it is there already; expected a new file. Name another, or remove it.\n"

    assert (2, "", message) == layerfit("nodes", "-o", path)
    assert "mine" == path.read_text(encoding="utf-8")


def test_a_table_of_cards_counts_before_the_built_in_one(tmp_path: Path, layerfit: Layerfit, on: On) -> None:
    on(WORKSTATION)
    path = tmp_path / "cards.toml"
    path.write_text(
        '[[source]]\nname = "bench of May"\ncard = [{ class = "fast-24g", names = ["NVIDIA GeForce RTX 3090"], '
        'memory = "24 GiB", bandwidth = "900 GB/s" }]\n',
        encoding="utf-8",
    )
    out = layerfit("nodes", "--cards", path).out

    assert (
        '{ class = "fast-24g", memory = "24264 MiB", free_count = 1, bandwidth = "900 GB/s", device = "CUDA2" }' in out
    )
    assert "# Bandwidth: bench of May.\n" in out


@pytest.mark.parametrize("name", ["a/b", "a,b", " a", ""])
def test_a_name_that_no_node_can_have_is_refused(name: str, layerfit: Layerfit) -> None:
    code, out, err = layerfit("nodes", "--name", name)

    assert (2, "") == (code, out)
    assert err.startswith("layerfit nodes, --name: ")


def test_a_machine_without_a_memory_that_can_be_read_says_so(layerfit: Layerfit, on: On) -> None:
    on(type(SERVER)(system="Plan 9"))

    message = (
        "this machine: its memory cannot be read; expected /proc/meminfo, sysctl hw.memsize or Win32_ComputerSystem. "
        "Write the node by hand.\n"
    )
    assert (2, "", message) == layerfit("nodes")
