"""Header-only model files made from architecture arithmetic."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import tensors
from tensors import synthetic
from tensors.errors import SourceError
from tensors.inventory import Part, Role

if TYPE_CHECKING:
    from pathlib import Path

    from tensors.inventory import Inventory

FIGURES = {
    # name: files, tensors, bytes of tensors, trunk and nextn blocks, tied
    "glm-5.2": (6, 1809, 238_449_091_584, 78, 1, False),
    "llama-3.1-70b": (1, 724, 42_512_531_712, 80, 0, False),
    "llama-3.2-1b": (1, 147, 799_862_912, 16, 0, True),
    "mixtral-8x7b": (21, 995, 93_405_585_408, 32, 0, False),
    "tiny": (1, 75, 7_816_192, 8, 0, False),
    "tiny-experts": (4, 163, 34_661_056, 6, 1, False),
}


@pytest.fixture(scope="module")
def glm(tmp_path_factory: pytest.TempPathFactory) -> Inventory:
    return tensors.read(synthetic.write("glm-5.2", tmp_path_factory.mktemp("glm"))[0])


@pytest.mark.parametrize("name", sorted(synthetic.MODELS))
def test_every_model_is_written_sparse_and_read_back_whole(name: str, tmp_path: Path) -> None:
    files = synthetic.write(name, tmp_path)
    inventory = tensors.read(files[0])

    expected = FIGURES[name]
    assert expected == (
        len(files),
        len(inventory.tensors),
        inventory.weight_bytes,
        inventory.trunk_blocks,
        inventory.nextn_blocks,
        inventory.tied,
    )
    assert sorted(file.name for file in files) == sorted(path.name for path in tmp_path.iterdir())
    assert inventory.complete
    assert () == inventory.notes
    assert isinstance(inventory.architecture.cache, tuple)
    assert sum(file.stat().st_blocks * 512 for file in files) < 4_000_000


def test_every_part_names_the_others(tmp_path: Path) -> None:
    files = synthetic.write("tiny-experts", tmp_path)

    assert [
        "tiny-experts-Q8_0-00001-of-00004.gguf",
        "tiny-experts-Q8_0-00002-of-00004.gguf",
        "tiny-experts-Q8_0-00003-of-00004.gguf",
        "tiny-experts-Q8_0-00004-of-00004.gguf",
    ] == [file.name for file in files]
    assert {tensors.read(files[0])} == {tensors.read(file) for file in files}


def test_the_example_has_the_blocks_of_the_published_conversion(glm: Inventory) -> None:
    """GLM-5.2 in a mix of 2 to 8 bits: three dense blocks, one heavy, three heavier at the end, and the nextn block."""
    sizes = Counter(block.weight_bytes for block in glm.blocks())
    by_index = {block.index: block.weight_bytes for block in glm.blocks()}

    assert {
        309_201_920: 3,
        3_071_447_040: 71,
        3_973_681_152: 1,
        3_549_597_696: 3,
        3_755_716_608: 1,
    } == sizes
    assert [309_201_920, 309_201_920, 309_201_920] == [by_index[block] for block in (0, 1, 2)]
    assert 3_973_681_152 == by_index[8]
    assert [3_549_597_696] * 3 == [by_index[block] for block in (75, 76, 77)]
    assert 3_755_716_608 == by_index[78]
    assert 535_265_280 == glm.part_bytes(Part.INPUT)
    assert 535_265_280 + 6144 * 4 == glm.part_bytes(Part.HEAD)


def test_the_example_has_experts_and_indexers_where_they_belong(glm: Inventory) -> None:
    roles = Counter(tensor.role for tensor in glm.tensors)

    assert 3 * 76 == roles[Role.ROUTED_EXPERT]
    assert 5 * 79 == roles[Role.INDEXER]
    assert 4 == roles[Role.NEXTN]
    assert 0 == roles[Role.OTHER]
    assert (0, 1, *range(2, 78, 4)) == glm.architecture.full_indexer_blocks
    assert (6144, 154880, 1048576, 64, 2048) == (
        glm.architecture.hidden_size,
        glm.architecture.vocabulary_size,
        glm.architecture.context_tokens,
        glm.architecture.heads,
        glm.architecture.index_topk,
    )


def test_the_example_equals_the_published_headers_tensor_by_tensor(
    glm: Inventory, data_folder: Path, tmp_path: Path
) -> None:
    archive = data_folder / "headers" / "glm-5.2-ud-iq2_xxs.tar.xz"
    subprocess.run(["tar", "-xJSf", archive, "-C", tmp_path], check=True)
    published = tensors.read(next(tmp_path.rglob("*-00001-of-00006.gguf")))

    def facts(inventory: Inventory) -> dict[str, tuple[tuple[int, ...], str, int, Part, Role]]:
        return {
            tensor.name: (tensor.shape, tensor.type, tensor.size_bytes, tensor.part, tensor.role)
            for tensor in inventory.tensors
        }

    assert facts(published) == facts(glm)
    assert published.architecture == glm.architecture


def test_the_inventory_of_the_example_is_the_same_every_time(glm: Inventory) -> None:
    assert glm == synthetic.example_inventory()


def test_a_checkpoint_has_an_index_and_a_config(tmp_path: Path) -> None:
    synthetic.write("mixtral-8x7b", tmp_path)

    index = json.loads((tmp_path / "model.safetensors.index.json").read_text(encoding="utf-8"))
    assert 93_405_585_408 == index["metadata"]["total_size"]
    assert 995 == len(index["weight_map"])
    assert "model-00019-of-00019.safetensors" == index["weight_map"]["lm_head.weight"]
    assert "mixtral" == json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["model_type"]


def test_an_unknown_model_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        synthetic.write("gpt\n9", tmp_path)

    expected = (
        '"gpt\\n9": is not a built-in model; expected one of '
        "glm-5.2, llama-3.1-70b, llama-3.2-1b, mixtral-8x7b, tiny, tiny-experts."
    )
    assert expected == str(caught.value)
    assert [] == list(tmp_path.iterdir())


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    taken = tmp_path / "tiny-experts-Q8_0-00003-of-00004.gguf"
    taken.write_bytes(b"precious")

    with pytest.raises(SourceError) as caught:
        synthetic.write("tiny-experts", tmp_path)

    assert f"{taken}: is there already; nothing was written. Choose another folder." == str(caught.value)
    assert [taken] == list(tmp_path.iterdir())
    assert b"precious" == taken.read_bytes()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_bytes(b"")

    with pytest.raises(SourceError) as caught:
        synthetic.write("tiny", taken)

    assert f"{taken}: cannot be written: file exists. Choose another folder." == str(caught.value)
