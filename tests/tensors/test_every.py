"""All models at a location: in a folder and the folders in it, or in a repository of the hub."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tensors import SourceError
from tensors.reader import read_every
from tensors.synthetic import write

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_stands_for_every_model_in_it_and_one_level_below(tmp_path: Path) -> None:
    """A split set counts once, projectors and importance matrices do not, deeper folders are not looked into."""
    write("tiny", tmp_path)
    write("tiny-experts", tmp_path / "parts")
    write("llama-3.2-1b", tmp_path / "a" / "b")
    (tmp_path / "mmproj-F16.gguf").write_bytes(b"GGUF")
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    found = read_every(tmp_path)

    assert [("tiny-Q8_0.gguf", 1), ("tiny-experts-Q8_0-00001-of-00004.gguf", 4)] == [
        (one.files[0].name, len(one.files)) for one in found
    ]


def test_a_file_stands_for_its_own_model(tmp_path: Path) -> None:
    write("tiny", tmp_path)
    parts = write("tiny-experts", tmp_path)

    assert [len(parts)] == [len(one.files) for one in read_every(parts[1])]


def test_a_checkpoint_counts_once_beside_files_of_other_formats(tmp_path: Path) -> None:
    write("mixtral-8x7b", tmp_path)
    write("tiny", tmp_path)

    assert ["gguf", "safetensors"] == sorted(one.format for one in read_every(tmp_path))


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as error:
        read_every(tmp_path)

    assert f"{tmp_path}: holds no model; expected .gguf or .safetensors files. Check the name." == str(error.value)
