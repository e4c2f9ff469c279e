"""`layerfit route`: whether a set of unlike nodes suffices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.closed_forms import GLM, UNLIKE, Capture, cluster, document

from solver.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def test_route_sums_unlike_nodes(capsys: Capture, repository: Path, tmp_path: Path) -> None:
    arguments = ("route", *GLM, "--cluster", cluster(tmp_path, *UNLIKE), "--floor", "224 GiB")
    answer = document(arguments, capsys, repository)

    expected = {
        "node_count": 5,
        "view": "separate",
        "aggregate_usable_gib": 368.0,
        "aggregate_placement_budget_gib": 292.8,
        "required_placement_gib": 202.722,
        "headroom_gib": 90.078,
        "fits": True,
        "meets_hard_fit_floor": True,
        "hard_fit_floor_gib": 224.0,
        "no_single_node_can_admit_target": True,
        "arithmetic_minimum_nodes": 3,
        "recommended_nodes": 3,
        "reasons": [],
        "proven": None,
    }
    assert expected == {key: answer[key] for key in expected}
    assert ["a", "b", "c", "d", "e"] == [node["name"] for node in answer["nodes"]]


def test_a_route_that_is_too_small_exits_with_1(capsys: Capture, repository: Path, tmp_path: Path) -> None:
    arguments = ("route", *GLM, "--cluster", cluster(tmp_path, 64, 64, 64), "--floor", "224 GiB")
    answer = document(arguments, capsys, repository, code=1)

    assert (False, False, True) == (
        answer["fits"],
        answer["meets_hard_fit_floor"],
        answer["no_single_node_can_admit_target"],
    )
    assert ["budget", "floor"] == [reason.partition(":")[0] for reason in answer["reasons"]]


def test_a_single_host_is_a_reason_and_no_refusal(capsys: Capture, repository: Path, tmp_path: Path) -> None:
    answer = document(("route", *GLM, "--cluster", cluster(tmp_path, 256, 32)), capsys, repository)

    assert (True, None, False) == (
        answer["fits"],
        answer["meets_hard_fit_floor"],
        answer["no_single_node_can_admit_target"],
    )
    assert ["single host: a alone has a budget of 204.800 GiB for 202.722 GiB"] == answer["reasons"]


def with_cards(ram_gib: int, cards: int) -> str:
    """Return nodes of a unified memory, of one card, and of some cards beside little RAM."""
    return f"""
[[node]]
name = "unified"
memory = "128 GiB"
unified = true

[[node]]
name = "desk"
memory = "64 GiB"
gpu = [{{ class = "rtx-4090-24g", memory = "24 GiB" }}]

[[node]]
name = "old"
memory = "{ram_gib} GiB"
gpu = [{{ class = "rtx-4080-16g", memory = "16 GiB", count = {cards} }}]
"""


def test_the_combined_view_counts_ram_and_cards_as_one(capsys: Capture, repository: Path, tmp_path: Path) -> None:
    path = cluster(tmp_path, extra=with_cards(32, 1))
    answer = document(("route", *GLM, "--cluster", path, "--combined"), capsys, repository)

    assert "combined" == answer["view"]
    assert (264.0, 211.2, 8.478) == (
        answer["aggregate_usable_gib"],
        answer["aggregate_placement_budget_gib"],
        answer["headroom_gib"],
    )
    assert (
        "RAM and GPU memory of a node are counted as one, with one reserve: a loose upper bound, "
        "since a block lives in one of them"
    ) in answer["notes"]


def test_the_default_view_reserves_in_every_pool(capsys: Capture, repository: Path, tmp_path: Path) -> None:
    path = cluster(tmp_path, extra=with_cards(8, 2))
    answer = document(("route", *GLM, "--cluster", path), capsys, repository)

    assert [102.4, 72.8, 28.8] == [node["placement_budget_gib"] for node in answer["nodes"]]
    assert [
        "a sum of budgets is necessary, not sufficient: blocks are not divisible, so only placing them proves it",
        "every memory is counted on its own, under its own reserve",
        (
            "desk: 51.200 GiB of its budget are host memory beside its cards, "
            "where blocks live only if its processor takes them"
        ),
        "old/ram: its reserve takes all of it, so it adds nothing",
    ] == answer["notes"]


def test_route_is_shown_with_its_verdict(capsys: Capture, tmp_path: Path) -> None:
    path = cluster(tmp_path, 128, 64, 6)
    assert 1 == main(["route", *GLM, "--cluster", path, "--floor", "224 GiB"])
    assert capsys.readouterr().out == (
        "glm-5.2, 16,384 tokens x 1, cache q8_0, indexer conservative\n"
        "weights      201.832 GiB (file bytes as given)\n"
        "cache        0.890 GiB (latent attention: 576 values in 78 blocks, 128 index keys in 78)\n"
        "to place     202.722 GiB\n"
        "\n"
        "node       usable  reserve   budget\n"
        "a         128.000   25.600  102.400\n"
        "b          64.000   12.800   51.200\n"
        "c           6.000    8.000   -2.000\n"
        "together  198.000   46.400  151.600\n"
        "\n"
        "verdict      does not fit: 51.122 GiB are missing\n"
        "nodes        minimum -, recommended - at an assumed imbalance of 1.10\n"
        "floor        224.000 GiB usable in all: not met\n"
        "reason       budget: 151.600 GiB of 202.722 GiB that are required; 51.122 GiB are missing\n"
        "reason       floor: 198.000 GiB usable in all, below the floor of 224.000 GiB\n"
        "\n"
        "note: c: reserve exceeds memory by 2.0 GiB; leaving it out gains that much\n"
        "note: a sum of budgets is necessary, not sufficient: blocks are not divisible, so only placing them\n"
        "      proves it\n"
        "note: every memory is counted on its own, under its own reserve\n"
    )


def test_route_is_written_as_markdown(capsys: Capture, tmp_path: Path) -> None:
    assert 1 == main(["route", *GLM, "--cluster", cluster(tmp_path, 32, 6), "--format", "markdown"])
    assert capsys.readouterr().out == (
        "| node | physical_usable_bytes | reserve_bytes | placement_budget_bytes |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| a | 34359738368 | 8589934592 | 25769803776 |\n"
        "| b | 6442450944 | 8589934592 | -2147483648 |\n"
    )


def test_the_solver_says_whether_a_route_is_sufficient(
    capsys: Capture, repository: Path, tmp_path: Path, glm_file: str
) -> None:
    arguments = ("route", glm_file, "--prove", "--cluster", cluster(tmp_path, *UNLIKE))

    assert {
        "outcome": "optimal",
        "proof": "closed form",
        "sufficient": True,
        "nodes_used": 3,
        "reasons": [],
    } == document(arguments, capsys, repository)["proven"]
