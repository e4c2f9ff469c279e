"""`layerfit tiers`, `route` and `seams` as a person or a program meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from solver.cli import main
from tensors import synthetic

if TYPE_CHECKING:
    from pathlib import Path

GLM = ("--weight-bytes", "216715360960", "--architecture", "glm-5.2")
UNLIKE = (32, 48, 64, 96, 128)

Capture = pytest.CaptureFixture[str]


def document(arguments: tuple[str, ...], capsys: Capture, repository: Path, code: int = 0) -> dict[str, Any]:
    """Run a command with --json and return its document, checked against its schema."""
    assert code == main([*arguments, "--json"])
    output = capsys.readouterr()
    assert "" == output.err
    answer: dict[str, Any] = json.loads(output.out)
    schema = repository / "docs" / "schemas" / f"{arguments[0]}-1.json"
    jsonschema.validate(answer, json.loads(schema.read_text(encoding="utf-8")))
    return answer


def cluster(folder: Path, *sizes: int, extra: str = "") -> str:
    """Write a cluster file with a node of each size in GiB, named from a on."""
    nodes = (
        f'[[node]]\nname = "{name}"\nmemory = "{size} GiB"\n' for name, size in zip("abcdefgh", sizes, strict=False)
    )
    path = folder / "cluster.toml"
    path.write_text("\n".join((*nodes, extra)), encoding="utf-8")
    return str(path)


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


def test_seams_answers_in_one_flat_document(capsys: Capture, repository: Path) -> None:
    arguments = ("seams", *GLM, "--nodes", "5", "--rate", "10 Gbit/s", "--latency", "0.5 ms")
    answer = document(arguments, capsys, repository)

    assert {
        "schema": "layerfit/seams/1",
        "architecture": "glm-5.2",
        "node_count": 5,
        "seam_count": 4,
        "hidden_size": 6144,
        "context_tokens": 16384,
        "bytes_per_token_per_seam": 12_288,
        "prefill_bytes_per_seam": 201_326_592,
        "decode_bytes_per_seam_per_token": 12_288,
        "dsa_sideband_bytes_per_query": 8_192,
        "link_rate_gbps": 10.0,
        "hop_latency_ms": 0.5,
        "meets_alpha_minimum": True,
        "is_recommended_link": True,
        "decode_serialization_ms_per_token": 0.0393,
        "decode_latency_ms_per_token": 2.0,
        "decode_bandwidth_share_ms_per_token": 0.0393,
        "prefill_serialization_ms": 644.245,
        "decode_serialization_ms_per_token_per_seam": 0.0098,
        "prefill_serialization_ms_per_seam": 161.061,
        "decode_serialization_ns_per_token": 39_322,
        "decode_latency_ns_per_token": 2_000_000,
        "prefill_serialization_ns": 644_245_095,
        "notes": [
            (
                "decode moves little and pays latency in series, prefill moves much and pays rate: "
                "the two are never one speed"
            ),
            "the index sideband crosses only seams whose next block computes no indices of its own",
            "the bytes of the weights do not enter: they stay where they are",
        ],
    } == answer


@pytest.mark.parametrize(
    ("flags", "field", "value"),
    [
        (("--rate", "1 Gbit/s"), "decode_serialization_ms_per_token", 0.8847),
        (("--rate", "125 MB/s"), "prefill_serialization_ms", 14495.515),
        (("--rate", "1 Gbit/s"), "meets_alpha_minimum", False),
        ((), "prefill_serialization_ms", 5798.206),
        ((), "is_recommended_link", False),
        (("--latency", "250 us"), "decode_latency_ms_per_token", 2.25),
        (("--context", "1"), "prefill_bytes_per_seam", 12_288),
    ],
)
def test_every_flag_of_seams_changes_the_answer(
    flags: tuple[str, ...], field: str, value: float, capsys: Capture, repository: Path
) -> None:
    answer = document(("seams", "--architecture", "glm-5.2", "--nodes", "10", *flags), capsys, repository)

    assert value == answer[field]


def test_seams_are_shown_with_both_kinds_of_time_apart(capsys: Capture) -> None:
    assert 0 == main(["seams", "--architecture", "glm-5.2", "--nodes", "2"])
    assert capsys.readouterr().out == (
        "1 seam between 2 nodes, hidden size 6,144 (glm-5.2)\n"
        "link         2.5 Gbit/s: meets the minimum of 2.5 Gbit/s, below the recommended 10 Gbit/s\n"
        "\n"
        "                                       bytes a seam  ms a seam  ms over all seams\n"
        "decode, a token: serialization               12,288     0.0393             0.0393\n"
        "decode, a token: latency                                0.5000             0.5000\n"
        "prefill, 16,384 tokens: serialization   201,326,592    644.245            644.245\n"
        "index sideband, a query                       8,192\n"
        "\n"
        "note: decode moves little and pays latency in series, prefill moves much and pays rate: the two are\n"
        "      never one speed\n"
        "note: the index sideband crosses only seams whose next block computes no indices of its own\n"
    )


def test_seams_are_written_as_csv(capsys: Capture) -> None:
    assert 0 == main(["seams", "--architecture", "glm-5.2", "--nodes", "5", "--format", "csv"])
    assert capsys.readouterr().out == (
        "quantity,bytes_per_seam,ns_per_seam,ns_over_all_seams\n"
        "decode_serialization,12288,39322,157287\n"
        "decode_latency,,500000,2000000\n"
        "prefill_serialization,201326592,644245095,2576980378\n"
        "dsa_sideband,8192,,\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("tiers",),
            "layerfit tiers: no model is named; expected MODEL, or --weight-bytes with --architecture. Name one.",
        ),
        (
            ("tiers", "x.gguf", "--weight-bytes", "5"),
            "layerfit tiers, --weight-bytes: MODEL is named too; expected one of the two. Leave one out.",
        ),
        (
            ("seams", "x.gguf", "--architecture", "glm-5.2", "--nodes", "2"),
            "layerfit seams, --architecture: MODEL is named too; expected one of the two. Leave one out.",
        ),
        (
            ("tiers", "--weight-bytes", "5"),
            "layerfit tiers: --architecture is missing; expected it where no MODEL is named. Add it.",
        ),
        (
            ("tiers", "--architecture", "glm-5.2"),
            "layerfit tiers: --weight-bytes is missing; expected it where no MODEL is named. Add it.",
        ),
        (
            ("seams", "--weight-bytes", "5", "--nodes", "2"),
            "layerfit seams: --architecture is missing; expected it where no MODEL is named. Add it.",
        ),
        (
            ("seams", "--architecture", "glm-5.2"),
            "layerfit seams: --nodes is missing; expected the number of nodes in the chain. Add it.",
        ),
        (
            ("seams", "--architecture", "glm-5.2", "--nodes", "1"),
            "layerfit seams, --nodes: 1 is too small; expected a whole number from 2. Raise it.",
        ),
        (
            ("seams", "--architecture", "glm-5.2", "--nodes", "2", "--rate", "10"),
            'layerfit seams, --rate: "10" has no unit; expected a rate. Write "10 GB/s" or "10 Gbit/s".',
        ),
        (
            ("tiers", *GLM, "--tier", "32 GiB,48"),
            'layerfit tiers, --tier: "48" has no unit; expected a size. Write "48 GiB" or "48 GB".',
        ),
        (
            ("tiers", *GLM, "--tier", "8 GiB"),
            (
                "tier of 8 GiB: its reserve of 8.0 GiB leaves a placement budget of 0.0 GiB; "
                "expected a budget above 0. Take more memory or a smaller reserve."
            ),
        ),
        (
            ("tiers", *GLM, "--imbalance-factor", "0.9"),
            (
                'layerfit tiers, --imbalance-factor: "0.9" is too small; '
                "expected a finite number of 1 or more. Write it like 1.10."
            ),
        ),
        (
            ("tiers", *GLM, "--imbalance-factor", "nan"),
            (
                'layerfit tiers, --imbalance-factor: "nan" is not a finite number; '
                "expected a finite number of 1 or more. Write it like 1.10."
            ),
        ),
        (
            ("tiers", *GLM, "--context", "0"),
            "layerfit tiers, --context: 0 is too small; expected a whole number from 1. Raise it.",
        ),
        (
            ("tiers", *GLM, "--resident-nextn"),
            (
                "layerfit tiers, --resident-nextn: the weights are given in bytes, whatever they hold; "
                "expected MODEL beside it. Leave it out."
            ),
        ),
        (
            ("tiers", *GLM, "--prove"),
            "layerfit tiers, --prove: bytes alone have no blocks to place; expected MODEL. Name its files.",
        ),
        (
            ("tiers", *GLM, "--json", "--format", "csv"),
            "--json and --format: both are given; expected one form of output. Leave one out.",
        ),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_exit_2(arguments: tuple[str, ...], message: str, capsys: Capture) -> None:
    assert 2 == main(list(arguments))
    output = capsys.readouterr()

    assert ("", f"{message}\n") == (output.out, output.err)


def test_a_route_of_one_node_is_refused(capsys: Capture, tmp_path: Path) -> None:
    assert 2 == main(["route", *GLM, "--cluster", cluster(tmp_path, 128)])
    assert "route: its nodes number 1; expected 2 or more. Add a node.\n" == capsys.readouterr().err


def test_a_route_without_a_cluster_shows_how_to_write_one(capsys: Capture) -> None:
    assert 2 == main(["route", *GLM])
    assert capsys.readouterr().err.startswith("layerfit route: no cluster is named; expected --cluster FILE.")


@pytest.fixture(scope="module")
def glm_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a part of the built-in example: GLM-5.2 in the sizes of UD-IQ2_XXS."""
    return str(synthetic.write(synthetic.EXAMPLE, tmp_path_factory.mktemp("glm"))[0])


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


def test_seams_of_a_model_have_its_own_widths(capsys: Capture, repository: Path, glm_file: str) -> None:
    answer = document(("seams", glm_file, "--nodes", "5"), capsys, repository)

    assert (6144, 16384, 8192) == (
        answer["hidden_size"],
        answer["context_tokens"],
        answer["dsa_sideband_bytes_per_query"],
    )
    assert "GLM-5.2-UD-IQ2_XXS" == answer["architecture"]


def test_the_closed_forms_start_without_a_solver_or_numpy() -> None:
    program = (
        "import sys\n"
        "from solver.cli import main\n"
        f"main(['tiers', *{GLM!r}, '--json'])\n"
        "print([name for name in ('ortools', 'numpy', 'rich', 'solver.solve') if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "[]\n" == ended.stderr
