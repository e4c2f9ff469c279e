"""Bytes of tensors by their types."""

from __future__ import annotations

import gzip
import json
import re
from math import prod
from typing import TYPE_CHECKING

import gguf
import pytest
import safetensors

from benchmarks.forge import safetensors as forge_safetensors
from tensors.types import GGML_TYPES, SAFETENSORS_BITS, BlockType, known_ggml_types, tensor_bytes

if TYPE_CHECKING:
    from pathlib import Path

BY_NAME = {kind.name.lower(): kind for kind in GGML_TYPES.values()}


def test_the_table_agrees_with_the_gguf_package_but_for_q8_1() -> None:
    """The package counts two floats in a Q8_1 block; ggml keeps two half floats and 32 bytes."""
    theirs = {kind.name: (int(kind), *sizes) for kind, sizes in gguf.GGML_QUANT_SIZES.items()}
    ours = {kind.name: (number, kind.block_elements, kind.block_bytes) for number, kind in GGML_TYPES.items()}

    assert ("Q8_1", 9, 32, 36) == ("Q8_1", *ours["Q8_1"])
    assert theirs | {"Q8_1": (9, 32, 36)} == {name: ours[name] for name in theirs}


def test_the_table_agrees_with_libggml(data_folder: Path) -> None:
    """Every number has the same elements and bytes a block; removed numbers are absent."""
    rows = json.loads((data_folder / "ggml_types.json").read_text())
    expected = {row["id"]: (row["block_elements"], row["block_bytes"]) for row in rows if row["block_elements"]}
    mainline = {number: kind for number, kind in GGML_TYPES.items() if number <= max(row["id"] for row in rows)}

    assert expected == {number: (kind.block_elements, kind.block_bytes) for number, kind in mainline.items()}


def test_sizes_agree_with_every_tensor_of_full_conversions(data_folder: Path) -> None:
    """The bytes that a tool measured, tensor by tensor and type by type.

    Two things it does not tell, by its own notes: the bytes that some types keep a row, and, in newer maps, where the
    padding of a tensor begins.
    """
    exact = 0
    for path in sorted((data_folder / "inventories" / "thireus").glob("*.json.gz")):
        document = json.loads(gzip.decompress(path.read_bytes()))
        for conversion in document["quants"].values():
            for shape, dtype, measured in zip(
                document["shapes"], conversion["dtypes"], conversion["bytes"], strict=True
            ):
                kind = BY_NAME[dtype]
                computed = tensor_bytes(kind, tuple(reversed(shape)))
                rows = prod(shape[1:])
                assert measured in {computed - rows * kind.row_bytes, -(-computed // 32) * 32}
                exact += measured == computed

    assert 250_036 == exact


def test_names_and_numbers_are_unique() -> None:
    assert len(GGML_TYPES) == len(BY_NAME)


@pytest.mark.parametrize(
    ("name", "shape", "size_bytes"),
    [
        ("F32", (), 4),
        ("F32", (0, 3), 0),
        ("Q4_K", (4096,), 4096 // 256 * 144),
        ("IQ2_XXS", (256, 2048, 6144), 256 * 2048 * 6144 // 256 * 66),
        ("IQ4_KS", (10, 512), 10 * (4 + 2 * 136)),
        ("IQ2_BN", (3, 64), 3 * (4 + 16)),
        ("IQ1_S_R4", (4, 64), 4 * (2 + 2 * 6)),
    ],
)
def test_bytes_are_whole_blocks_of_every_row_and_what_a_row_begins_with(
    name: str, shape: tuple[int, ...], size_bytes: int
) -> None:
    assert size_bytes == tensor_bytes(BY_NAME[name.lower()], shape)


def test_a_row_that_does_not_fill_its_blocks_has_no_size() -> None:
    with pytest.raises(ValueError, match=re.escape("rows of 100 values do not fill whole blocks of 256")):
        tensor_bytes(GGML_TYPES[12], (2, 100))


def test_known_types_are_named_by_their_ranges() -> None:
    assert "0 to 42, and 97 to 399 of ik_llama.cpp, each with gaps" == known_ggml_types()


def test_the_format_itself_knows_the_same_safetensors_types() -> None:
    """Its parser lists them when it refuses an unknown one."""
    with pytest.raises(safetensors.SafetensorError) as caught:
        safetensors.deserialize(forge_safetensors({"a": ("Q4_K", (1,), (0, 1))}))
    known = re.findall(r"`(\w+)`", str(caught.value).split("expected one of")[1])

    assert sorted(known) == sorted(SAFETENSORS_BITS)


@pytest.mark.parametrize(("dtype", "bits"), SAFETENSORS_BITS.items())
def test_the_format_itself_gives_safetensors_types_the_same_bits(dtype: str, bits: int) -> None:
    """Eight values take as many bytes as one takes bits."""
    assert 1 == len(safetensors.deserialize(forge_safetensors({"a": (dtype, (8,), (0, bits))})))


def test_a_block_type_is_a_value() -> None:
    assert BlockType("Q8_0", 32, 34, 0) == GGML_TYPES[8]
