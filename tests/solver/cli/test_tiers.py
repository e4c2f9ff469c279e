"""`layerfit tiers`: the counts for each size of memory, and what is proved of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.closed_forms import GLM, Capture, document

from solver.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def test_tiers_answers_for_the_five_tiers_in_order(capsys: Capture, repository: Path) -> None:
    answer = document(("tiers", *GLM), capsys, repository)

    assert "layerfit/tiers/1" == answer["schema"]
    assert [("32", 9, 10), ("48", 6, 6), ("64", 4, 5), ("96", 3, 3), ("128", 2, 3)] == [
        (tier["tier"], tier["arithmetic_minimum_nodes"], tier["recommended_nodes"]) for tier in answer["tiers"]
    ]
    assert {
        "tier": "48",
        "physical_usable_gib": 48.0,
        "physical_usable_bytes": 51_539_607_552,
        "reserve_gib": 9.6,
        "reserve_bytes": 10_307_921_511,
        "placement_budget_gib": 38.4,
        "placement_budget_bytes": 41_231_686_041,
        "weight_gib": 201.832,
        "weight_bytes": 216_715_360_960,
        "kv_gib": 0.89,
        "kv_bytes": 955_908_096,
        "total_placement_gib": 202.722,
        "total_placement_bytes": 217_671_269_056,
        "arithmetic_minimum_nodes": 6,
        "recommended_nodes": 6,
        "imbalance_factor": 1.1,
        "imbalance_factor_numerator": 11,
        "imbalance_factor_denominator": 10,
        "counts_agree": True,
        "proven": None,
    } == answer["tiers"][1]
    assert [
        "tier 48, 96: both counts agree, so there is no headroom; admissible only with a proven placement"
    ] == answer["notes"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--context", "131072", "--parallel", "4"), [(10, 11), (6, 7), (5, 5), (3, 4), (3, 3)]),
        (("--context", "131072", "--sequences", "4"), [(10, 11), (6, 7), (5, 5), (3, 4), (3, 3)]),
        (("--imbalance-factor", "1.25"), [(9, 11), (6, 7), (4, 5), (3, 4), (2, 3)]),
        (("--imbalance-factor", "1"), [(9, 9), (6, 6), (4, 4), (3, 3), (2, 2)]),
        (("--tier", "10 GiB,12GiB, 24 GiB"), [(102, 112), (51, 56), (13, 14)]),
        (("--reserve-fraction", "0", "--reserve-floor", "0 GiB"), [(7, 7), (5, 5), (4, 4), (3, 3), (2, 2)]),
    ],
)
def test_every_flag_of_tiers_changes_the_answer(
    flags: tuple[str, ...], expected: list[tuple[int, int]], capsys: Capture, repository: Path
) -> None:
    answer = document(("tiers", *GLM, *flags), capsys, repository)

    assert expected == [(tier["arithmetic_minimum_nodes"], tier["recommended_nodes"]) for tier in answer["tiers"]]


@pytest.mark.parametrize(
    ("flags", "size_bytes"),
    [
        (("--indexer", "optimized"), 828_899_328),
        (("--indexer", "none"), 782_106_624),
        (("--kv", "F16"), 1_799_356_416),
        (("--kv", "f16,q8_0", "--indexer", "none"), 1_472_200_704),
        (("--context", "202752"), 11_829_362_688),
        (("--cache-bytes-per-token", "10"), 163_840),
    ],
)
def test_every_flag_of_the_cache_changes_its_bytes(
    flags: tuple[str, ...], size_bytes: int, capsys: Capture, repository: Path
) -> None:
    answer = document(("tiers", *GLM, *flags), capsys, repository)

    assert size_bytes == answer["target"]["kv_bytes"] == answer["tiers"][0]["kv_bytes"]


def test_tiers_are_shown_as_a_table(capsys: Capture) -> None:
    assert 0 == main(["tiers", *GLM, "--tier", "32 GiB,128 GiB"])
    assert capsys.readouterr().out == (
        "glm-5.2, 16,384 tokens x 1, cache q8_0, indexer conservative\n"
        "weights      201.832 GiB (file bytes as given)\n"
        "cache        0.890 GiB (latent attention: 576 values in 78 blocks, 128 index keys in 78)\n"
        "to place     202.722 GiB\n"
        "reserve      the larger of 20 % and 8.000 GiB of every memory; assumed imbalance 1.10\n"
        "\n"
        "tier   usable  reserve   budget  minimum  recommended\n"
        "  32   32.000    8.000   24.000        9           10\n"
        " 128  128.000   25.600  102.400        2            3\n"
    )


def test_tiers_are_written_as_csv(capsys: Capture) -> None:
    assert 0 == main(["tiers", *GLM, "--tier", "32 GiB", "--format", "csv"])
    assert capsys.readouterr().out == (
        "tier,physical_usable_bytes,reserve_bytes,placement_budget_bytes,weight_bytes,kv_bytes,total_placement_bytes,"
        "arithmetic_minimum_nodes,recommended_nodes,imbalance_factor,proven_nodes,imbalance_at_proven,"
        "imbalance_at_recommended,devices_used_at_recommended,assumption_holds\n"
        "32,34359738368,8589934592,25769803776,216715360960,955908096,217671269056,9,10,11/10,,,,,\n"
    )


def test_proven_figures_stand_beside_the_tiers(capsys: Capture, glm_file: str) -> None:
    assert 0 == main(["tiers", glm_file, "--resident-nextn", "--prove", "--tier", "32 GiB,48 GiB,14 GiB"])
    assert capsys.readouterr().out == (
        "GLM-5.2-UD-IQ2_XXS, 16,384 tokens x 1, cache q8_0, indexer conservative\n"
        "weights      222.073 GiB (sum of all tensor bytes, nextn blocks resident)\n"
        "cache        0.890 GiB (latent attention: 576 values in 78 blocks, 128 index keys in 78)\n"
        "to place     222.963 GiB\n"
        "reserve      the larger of 20 % and 8.000 GiB of every memory; assumed imbalance 1.10\n"
        "\n"
        "tier  usable  reserve  budget  minimum  recommended  proven  imbalance  at recommended  used  holds\n"
        "  32  32.000    8.000  24.000       10           11      10     1.0305          1.1022    11  no\n"
        "  48  48.000    9.600  38.400        6            7       6     1.0047          1.0620     7  yes\n"
        "  14  14.000    8.000   6.000       38           41      41     1.0562          1.0562    41  yes\n"
        "\n"
        "note: cache: trunk blocks alone are counted, not the nextn blocks\n"
        "note: tier 32: 1.1022 at the recommended 11 nodes is above the assumed 1.10: the assumption does not\n"
        "      hold\n"
        "note: tier 14: 41 nodes where arithmetic asks for 38, since blocks 4, 6, 8, 9, 11, 13, 15, 17 … do\n"
        "      not fit beside those before them\n"
    )


def test_proven_figures_are_exact_ratios_in_json(capsys: Capture, repository: Path, glm_file: str) -> None:
    arguments = ("tiers", glm_file, "--resident-nextn", "--prove", "--tier", "32 GiB")
    proven = document(arguments, capsys, repository)["tiers"][0]["proven"]
    measured = proven.pop("at_recommended")

    assert ("optimal", 10, False) == (proven["outcome"], proven["fewest_nodes"], proven["assumption_holds"])
    assert (11, 11, 23_987_786_752) == (measured["nodes"], measured["devices_used"], measured["largest_load_bytes"])
    assert 23_987_786_752 * 11 * measured["imbalance_denominator"] == 239_404_999_680 * measured["imbalance_numerator"]


def test_weights_are_the_sum_of_tensors_and_name_their_rule(capsys: Capture, repository: Path, glm_file: str) -> None:
    without = document(("tiers", glm_file), capsys, repository)["target"]
    resident = document(("tiers", glm_file, "--resident-nextn"), capsys, repository)["target"]

    assert (234_693_374_976, 238_449_091_584) == (without["weight_bytes"], resident["weight_bytes"])
    assert (955_908_096, 955_908_096) == (without["kv_bytes"], resident["kv_bytes"])
    assert "sum of all tensor bytes but those of nextn blocks" == without["weight_rule"]
    assert "sum of all tensor bytes, nextn blocks resident" == resident["weight_rule"]
