"""Which files of a folder make up a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.forge import MemoryFolder
from tensors.errors import SourceError
from tensors.parts import PartName, choose, listed, part_name, set_of


def folder(*names: str) -> MemoryFolder:
    """Return a folder of empty files."""
    return MemoryFolder(dict.fromkeys(names, b""))


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("glm-00002-of-00006.gguf", PartName("glm", 2, 6, ".gguf")),
        ("a-b-00001-of-00001.safetensors", PartName("a-b", 1, 1, ".safetensors")),
        ("A-00001-of-00002.GGUF", PartName("A", 1, 2, ".GGUF")),
        ("glm.gguf", None),
        ("glm-2-of-6.gguf", None),
        ("glm-00000-of-00006.gguf", None),
        ("glm-00007-of-00006.gguf", None),
        ("glm-00001-of-99999.gguf", None),
        ("glm-00001-of-00002.txt", None),
        ("glm-0000\N{ARABIC-INDIC DIGIT ONE}-of-00002.gguf", None),
    ],
)
def test_the_name_of_a_part_says_which_it_is_of_how_many(name: str, part: PartName | None) -> None:
    assert part == part_name(name)


@given(st.text(), st.integers(1, 9), st.integers(1, 9))
def test_parts_name_each_other(stem: str, number: int, other: int) -> None:
    name = f"{stem or '-'}-{number:05}-of-00009.gguf"
    part = part_name(name)

    assert part is not None
    assert name == part.sibling(number)
    assert part._replace(number=other) == part_name(part.sibling(other))


def test_any_part_finds_all_of_its_set() -> None:
    names = [f"m-0000{number}-of-00003.gguf" for number in (1, 2, 3)]

    assert [tuple(names)] * 3 == [set_of(folder(*names, "other.gguf"), name) for name in names]
    assert ("other.gguf",) == set_of(folder(*names, "other.gguf"), "other.gguf")


def test_missing_parts_are_named() -> None:
    with pytest.raises(SourceError) as caught:
        set_of(folder("m-00002-of-00003.gguf"), "m-00002-of-00003.gguf")

    assert (
        "memory: m-00001-of-00003.gguf and m-00003-of-00003.gguf are missing; expected all 3 parts of m in one folder. "
        "Fetch the rest."
    ) == str(caught.value)


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["config.json", "model.safetensors"], "model.safetensors"),
        (
            ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"],
            "model.safetensors.index.json",
        ),
        (["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"], "model-00001-of-00002.safetensors"),
        (["model-00002-of-00002.safetensors"], "model-00002-of-00002.safetensors"),
        (["consolidated.safetensors", "model.safetensors"], "model.safetensors"),
        (["a.gguf", "mmproj-a.gguf", "README.md"], "a.gguf"),
        (["a-00001-of-00002.gguf", "a-00002-of-00002.gguf"], "a-00001-of-00002.gguf"),
        (["a.gguf", "model.safetensors"], "model.safetensors"),
    ],
)
def test_a_folder_stands_for_its_only_model(names: list[str], chosen: str) -> None:
    assert chosen == choose(folder(*names))


def refusal(*names: str) -> str:
    """Return the message that refuses a folder of these files."""
    with pytest.raises(SourceError) as caught:
        choose(folder(*names))
    return str(caught.value)


def test_a_folder_without_a_model_says_what_it_should_hold() -> None:
    assert (
        "memory: the folder holds no model; expected a .gguf file, or .safetensors files with a config.json. "
        "Check the path."
    ) == refusal("README.md", "mmproj.gguf")


def test_a_folder_of_several_models_names_them_with_their_control_characters_escaped() -> None:
    assert (
        'memory: holds 3 models, "\\x1b[2J.gguf", a.gguf and b-00001-of-00002.gguf; expected one. '
        "Name the file that you mean."
    ) == refusal("a.gguf", "b-00001-of-00002.gguf", "b-00002-of-00002.gguf", "\x1b[2J.gguf")


@pytest.mark.parametrize(
    ("names", "phrase"),
    [
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c", "d"], "a, b, c and d"),
        (["a", "b", "c", "d", "e", "f"], "a, b, c, d and 2 more"),
    ],
)
def test_names_are_listed_as_one_phrase(names: list[str], phrase: str) -> None:
    assert phrase == listed(names)
