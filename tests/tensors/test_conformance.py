"""Inventories of published models and verdicts of the formats' own parsers, where the reference data is at hand."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
from collections import Counter
from math import prod
from typing import TYPE_CHECKING

import pytest

from benchmarks.forge import MemoryFolder, safetensors
from tensors import FormatError, Part, Role, read
from tensors.reader import read_from

if TYPE_CHECKING:
    from pathlib import Path

    from tensors import Inventory

# What is taken here and not by the formats' own parsers: data may be missing behind a sound header.
TAKEN_CUT = {"DATA_NOT_ENOUGH_DATA", "offsets_past_end.safetensors"}


@pytest.fixture(scope="module")
def unpacked(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all header files; their bodies are holes."""
    folder = tmp_path_factory.mktemp("headers")
    for archive in sorted((data_folder / "headers").glob("*.tar.xz")):
        subprocess.run(["tar", "-xJSf", archive, "-C", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def glm(unpacked: Path) -> Inventory:
    """Return the inventory of the set of six parts, read by its third."""
    return read(unpacked / "reconstructed_glm-5.2-ud-iq2_xxs" / "GLM-5.2-UD-IQ2_XXS-00003-of-00006.gguf")


def conserved(inventory: Inventory) -> bool:
    """Return whether the bytes of every file add up, and so do those of blocks and what is outside of them."""
    files = inventory.files
    outside = sum(tensor.size_bytes for tensor in inventory.tensors if tensor.block is None)
    return all(
        file.size_bytes + file.missing_bytes == file.header_bytes + file.padding_bytes + file.tensor_bytes
        for file in files
    ) and inventory.weight_bytes == sum(file.tensor_bytes for file in files) == outside + sum(
        block.weight_bytes for block in inventory.blocks()
    )


def test_a_split_set_of_1809_tensors_is_read_to_the_byte(glm: Inventory) -> None:
    assert (1809, 6) == (len(glm.tensors), len(glm.files))
    assert 238_458_632_928 == sum(file.size_bytes for file in glm.files)
    assert 238_449_091_584 == glm.weight_bytes
    assert 9_541_344 == sum(file.header_bytes for file in glm.files)
    assert conserved(glm)
    assert (True, False, ()) == (glm.complete, glm.tied, glm.notes)


def test_its_blocks_have_their_published_bytes(glm: Inventory) -> None:
    blocks = glm.blocks()
    odd = {0: 309_201_920, 1: 309_201_920, 2: 309_201_920, 8: 3_973_681_152, 78: 3_755_716_608}
    odd |= dict.fromkeys((75, 76, 77), 3_549_597_696)

    assert (78, 1) == (glm.trunk_blocks, glm.nextn_blocks)
    assert [odd.get(number, 3_071_447_040) for number in range(79)] == [block.weight_bytes for block in blocks]
    assert [Part.TRUNK] * 78 + [Part.NEXTN] == [block.part for block in blocks]
    assert [535_265_280] * 2 == [t.size_bytes for t in glm.tensors if t.role in {Role.EMBEDDING, Role.OUTPUT}]
    # Indexers of 57 blocks are never used: this conversion carries them on all 79.
    indexers = [t for t in glm.tensors if t.role is Role.INDEXER]
    assert 79 * 5 == len(indexers)
    assert 600_548_352 == sum(t.size_bytes for t in indexers) // 79 * 57


def test_a_header_with_a_real_vocabulary_is_read_to_the_byte(unpacked: Path) -> None:
    inventory = read(unpacked / "DeepSeek-R1-Distill-Qwen-7B-Q4_K_M.gguf")

    assert (339, 28, 0, False) == (
        len(inventory.tensors),
        inventory.trunk_blocks,
        inventory.nextn_blocks,
        inventory.tied,
    )
    assert (4_683_073_248, 4_677_120_000) == (inventory.files[0].size_bytes, inventory.weight_bytes)
    assert conserved(inventory)


@pytest.mark.parametrize(
    ("folder", "weight_bytes", "tensors", "blocks"),
    [
        ("header_only_WizardLM-2-8x22B", 281_241_268_224, 1739, 56),
        ("header_only_mistralai-Devstral-Small-2507", 47_144_806_400, 363, 40),
    ],
)
def test_sharded_sets_hold_the_bytes_that_their_index_states(
    unpacked: Path, folder: str, weight_bytes: int, tensors: int, blocks: int
) -> None:
    """By the headers of the shards, not by the index; a note would say if they differed."""
    inventory = read(unpacked / folder)

    assert (weight_bytes, tensors, blocks) == (
        inventory.weight_bytes,
        len(inventory.tensors),
        inventory.trunk_blocks,
    )
    assert conserved(inventory)
    assert () == inventory.notes


def test_they_hold_the_same_bytes_when_the_index_states_no_total(unpacked: Path, tmp_path: Path) -> None:
    for folder, weight_bytes in (
        ("header_only_WizardLM-2-8x22B", 281_241_268_224),
        ("header_only_mistralai-Devstral-Small-2507", 47_144_806_400),
    ):
        copy = tmp_path / folder
        copy.mkdir()
        for path in (unpacked / folder).iterdir():
            if path.name.endswith(".index.json"):
                index = json.loads(path.read_bytes())
                assert weight_bytes == index["metadata"].pop("total_size")
                (copy / path.name).write_text(json.dumps(index))
            else:
                (copy / path.name).hardlink_to(path)
        assert (weight_bytes, ()) == ((inventory := read(copy)).weight_bytes, inventory.notes)


def test_a_model_is_the_same_in_either_byte_order_and_in_parts(unpacked: Path) -> None:
    folder = unpacked / "generated_gguf-py"
    names = ("tiny-llama-le.gguf", "tiny-llama-be.gguf", "tiny-llama-split-00002-of-00003.gguf")
    little, big, split = (read(folder / name) for name in names)

    assert little.tensors == big.tensors
    assert little.architecture == big.architecture == split.architecture
    assert [(t.name, t.shape, t.type) for t in little.tensors] == [(t.name, t.shape, t.type) for t in split.tensors]
    assert Counter({0: 8, 1: 8, 2: 5}) == Counter(tensor.file for tensor in split.tensors)
    assert all(conserved(inventory) for inventory in (little, big, split))
    assert () == read(folder / "ggml-vocab-bert-bge-be.gguf").tensors


@pytest.mark.parametrize(
    ("folder", "column", "suffix"),
    [
        ("gguf_hostile", "llama.cpp(0c1e57098) header verdict", ""),
        ("gguf_llamacpp", "llama.cpp_gguf_init_verdict", ".gguf"),
        ("safetensors", "safetensors_0.8.0_verdict", ""),
    ],
)
def test_verdicts_are_those_of_the_formats_own_parsers(
    data_folder: Path, folder: str, column: str, suffix: str
) -> None:
    place = data_folder / "malformed" / folder
    with (place / "VERDICTS.tsv").open(newline="") as table:
        rows = list(csv.DictReader(table, delimiter="\t"))
    names = [row.get("file") or row["name"] for row in rows]
    expected = {name: "accept" if name in TAKEN_CUT else row[column] for name, row in zip(names, rows, strict=True)}

    assert expected == {name: _verdict(place / f"{name}{suffix}") for name in names}


def _verdict(path: Path) -> str:
    try:
        return "accept" if conserved(read(path)) else "accept, and bytes are lost"
    except FormatError as error:
        return "reject" if str(error).isprintable() else "reject, and say so in more than a line"


WIDTHS = {"bfloat16": ("BF16", 2), "float32": ("F32", 4), "float16": ("F16", 2), "int64": ("I64", 8)}


def test_models_as_their_classes_declare_them_are_read_row_by_row(data_folder: Path) -> None:
    """Written as headers without data: every row's bytes are its shape times its type, and no row is lost."""
    seen = []
    for path in sorted((data_folder / "inventories" / "meta").glob("*.json.gz")):
        stem = path.name.removesuffix(".json.gz")
        document = json.loads(gzip.decompress(path.read_bytes()))
        layout: dict[str, tuple[str, list[int], tuple[int, int]]] = {}
        end = 0
        for name, shape, dtype in document["tensors"]:
            kind, width = WIDTHS[dtype]
            begin, end = end, end + width * prod(shape)
            layout[name] = (kind, shape, (begin, end))
        files = {"model.safetensors": safetensors(layout, data_bytes=0)}
        config = data_folder / "configs" / document["config_file"]
        if config.is_file():
            files["config.json"] = config.read_bytes()
        inventory = read_from(MemoryFolder(files), None, allow_unknown_types=False)

        assert list(layout) == [tensor.name for tensor in inventory.tensors]
        assert (end, end) == (inventory.weight_bytes, inventory.files[0].missing_bytes)
        assert document["state_dict_elements"] == sum(tensor.elements for tensor in inventory.tensors)
        assert not [note for note in inventory.notes if "not recognised" in note]
        assert min(block.weight_bytes for block in inventory.blocks()) > 0
        seen.append(stem)

    assert len(seen) == 23
