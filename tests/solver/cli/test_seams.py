"""`layerfit seams`: what crosses the boundaries of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.closed_forms import GLM, Capture, document

from solver.cli import main

if TYPE_CHECKING:
    from pathlib import Path


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


def test_seams_of_a_model_have_its_own_widths(capsys: Capture, repository: Path, glm_file: str) -> None:
    answer = document(("seams", glm_file, "--nodes", "5"), capsys, repository)

    assert (6144, 16384, 8192) == (
        answer["hidden_size"],
        answer["context_tokens"],
        answer["dsa_sideband_bytes_per_query"],
    )
    assert "GLM-5.2-UD-IQ2_XXS" == answer["architecture"]
