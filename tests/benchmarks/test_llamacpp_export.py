"""The measurement that starts exports for real: what it draws, what it changes of printed words, where slots went."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.llamacpp_export_cases import case_of
from benchmarks.llamacpp_export_run import with_stand_ins
from benchmarks.llamacpp_slots import differing_slots
from solver.cluster_file import parse_cluster

LOG = """\
0.00.1 D load_tensors: layer   0 assigned to device CPU, is_swa = 0
0.00.1 D load_tensors: layer   1 assigned to device RPC1, is_swa = 0
0.00.1 D load_tensors: layer   2 assigned to device RPC0, is_swa = 0
0.00.1 D load_tensors: layer   3 assigned to device RPC0, is_swa = 0
"""
PRINTED = ("llama-server", "--rpc", "127.0.0.2:1", "--device", "MTL0,RPC0", "-ngl", "3", "-ts", "1,2")


def plan(*stages: tuple[int, int]) -> dict[str, Any]:
    return {
        "model": {"trunk_blocks": 3, "nextn_blocks": 0},
        "stages": [{"start": start, "end": end} for start, end in stages],
    }


@pytest.mark.parametrize("seed", range(12))
def test_drawn_machines_are_a_cluster_file(seed: int) -> None:
    cluster = parse_cluster(case_of(Path("m.gguf"), seed, 10**8, 0).cluster, "c.toml")

    assert len(cluster.nodes) == len({node.address for node in cluster.nodes})
    assert len(cluster.nodes) == len({node.rpc_port for node in cluster.nodes})


def test_devices_grow_where_nothing_fits() -> None:
    first, second = (parse_cluster(case_of(Path("m.gguf"), 3, 10**8, growth).cluster, "c.toml") for growth in (0, 1))

    assert all(
        after.memory_bytes > before.memory_bytes for before, after in zip(first.nodes, second.nodes, strict=True)
    )


def test_servers_stand_for_local_cards_behind_those_that_are_printed() -> None:
    words, ports, names = with_stand_ins(PRINTED, "127.0.0.9", 70)

    assert ["--rpc", "127.0.0.2:1,127.0.0.9:70", "--device", "RPC1,RPC0"] == words[1:5]
    assert list(PRINTED[5:]) == words[5:]
    assert ([70], {"RPC1": "MTL0"}) == (ports, names)


def test_a_line_without_servers_gets_them_before_its_devices() -> None:
    words, ports, names = with_stand_ins(["llama-server", "--device", "MTL1,MTL0", "-ngl", "1"], "127.0.0.9", 70)

    assert ["--rpc", "127.0.0.9:70,127.0.0.9:71", "--device", "RPC0,RPC1", "-ngl", "1"] == words[1:]
    assert ([70, 71], {"RPC0": "MTL1", "RPC1": "MTL0"}) == (ports, names)


def test_a_line_without_local_cards_is_started_as_it_is_printed() -> None:
    line = ["llama-server", "--device", "none", "-ngl", "0"]

    assert (line, [], {}) == with_stand_ins(line, "127.0.0.9", 70)


def test_slots_that_went_where_the_plan_has_them_are_no_difference() -> None:
    assert [] == list(differing_slots(LOG, plan((0, 1), (1, 2), (2, 3)), PRINTED, {"RPC1": "MTL0"}))


def test_a_slot_elsewhere_and_one_that_the_log_lacks_are_named() -> None:
    log = LOG.replace("layer   1 assigned to device RPC1", "layer   1 assigned to device CPU")
    log = log.replace("layer   3", "layer   9")

    assert [
        "slot 1 is on CPU, the plan has it on MTL0",
        "slot 3 is on nowhere, the plan has it on RPC0",
    ] == list(differing_slots(log, plan((0, 1), (1, 2), (2, 3)), PRINTED, {"RPC1": "MTL0"}))


def test_a_stage_that_the_printed_words_do_not_have_is_named() -> None:
    assert ["2 stages, and the printed words use ['CPU', 'MTL0', 'RPC0']"] == list(
        differing_slots(LOG, plan((0, 1), (1, 3)), PRINTED, {})
    )
