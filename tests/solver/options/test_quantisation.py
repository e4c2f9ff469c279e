"""Quantisations by name: every published name has one, and the usual bits are the table's, never a guess."""

from __future__ import annotations

import csv
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from solver.options import bits_of, quant_of

if TYPE_CHECKING:
    from pathlib import Path

TABLE = {
    "F32": "32", "F16": "16", "BF16": "16", "FP16": "16", "Q8_0": "8.5", "Q6_K": "6.6", "Q5_K_M": "5.7",
    "Q5_K_S": "5.5", "Q5_0": "5.5", "Q5_1": "6", "Q4_K_M": "4.8", "Q4_K_S": "4.6", "Q4_0": "4.5", "Q4_1": "5",
    "IQ4_XS": "4.3", "IQ4_NL": "4.5", "Q3_K_L": "4.3", "Q3_K_M": "3.9", "Q3_K_S": "3.5", "IQ3_M": "3.7",
    "IQ3_XS": "3.3", "IQ3_XXS": "3.1", "Q2_K": "3.0", "IQ2_M": "2.7", "IQ2_XS": "2.3", "IQ2_XXS": "2.1",
    "IQ1_M": "1.8", "IQ1_S": "1.6",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("UD-IQ2_XXS-00001-of-00006", "IQ2_XXS"),
        ("gemma-Q2-it-Q5_K_S", "Q5_K_S"),
        ("qwen2.5-3b-instruct-q3_k_m.gguf", "Q3_K_M"),
        ("Qwen3.5-27B-UD-Q5_K_XL.gguf", "Q5_K_XL"),
        ("moonshotai_Kimi-K2.5-Q2_K_L-00001-of-00010.gguf", "Q2_K_L"),
        ("Qwen3.5-35B-A3B-MXFP4_MOE.gguf", "MXFP4_MOE"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("DeepSeek-V3.2-NVFP4", "NVFP4"),
        ("BitNet-TQ1_0.gguf", "TQ1_0"),
        ("BitNet-tq2_0.gguf", "TQ2_0"),
        ("Qwen3.8-2.4T-A95B-UD-Q1_0-00001-of-00010.gguf", "Q1_0"),
        ("model-Q2_0.gguf", "Q2_0"),
        ("model.IQ1_M.gguf", "IQ1_M"),
        ("model-IQ4_KSS", "IQ4_KSS"),
        ("model-IQ2_KT", "IQ2_KT"),
        ("model-IQ5_K", "IQ5_K"),
        ("model-Q4_0_4_8.gguf", "Q4_0_4_8"),
        ("model-Q4_K_R4.gguf", "Q4_K_R4"),
        ("model-IQ1_S_R4.gguf", "IQ1_S_R4"),
        ("model-Q6_0.gguf", "Q6_0"),
        ("a-F16-then-Q8_0.gguf", "Q8_0"),
        ("Meta-Llama-3.1-8B-bf16", "BF16"),
        ("model-FP16", "FP16"),
        ("model-f32.gguf", "F32"),
        ("Qwen3-32B-FP8", "FP8"),
        ("gemma-Q2", "Q2"),
        ("Qwen3-8B-GGUF", ""),
        ("Llama-3.1-70B", ""),
        ("FAQ4_0K", ""),
        ("", ""),
    ],
)
def test_the_last_quantisation_of_a_name_counts_in_either_case(name: str, expected: str) -> None:
    assert expected == quant_of(name)


def test_every_published_name_has_a_quantisation(data_folder: Path) -> None:
    """The one file whose row has no name of its own is named by its repository."""
    with (data_folder / "sizes" / "published_gguf_sizes.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))

    assert 175 == len(rows)
    assert [] == [row for row in rows if not quant_of(f"{row['repo']}/{row['file_or_first_part']}")]
    # The list's own column is a quantisation, but for one row that repeats the file's name.
    assert [] == [
        row["quant"]
        for row in rows
        if quant_of(row["quant"]) != row["quant"] and row["quant"] not in row["file_or_first_part"]
    ]
    assert [("Qwen3.5-35B-A3B-MXFP4_MOE", "MXFP4_MOE")] == [
        (row["quant"], quant_of(row["quant"])) for row in rows if quant_of(row["quant"]) != row["quant"]
    ]


@pytest.mark.parametrize(("quant", "bits"), TABLE.items())
def test_bits_by_name_are_those_of_the_table(quant: str, bits: str) -> None:
    assert Fraction(bits) == bits_of(quant)
    assert Fraction(bits) == bits_of(quant.lower())


@pytest.mark.parametrize("quant", ["", "Q4_K_XL", "MXFP4", "IQ4_KSS", "Q2", "4bit"])
def test_what_the_table_does_not_know_is_said_to_be_unknown(quant: str) -> None:
    assert bits_of(quant) is None
