"""All models at a location: in a folder and the folders in it, or in a repository of the hub."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tensors import Inventory
from tensors.errors import FormatError, SourceError
from tensors.reader import Unread, read_every
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
        (one.files[0].name, len(one.files)) for one in found if isinstance(one, Inventory)
    ]


def test_a_file_stands_for_its_own_model(tmp_path: Path) -> None:
    write("tiny", tmp_path)
    parts = write("tiny-experts", tmp_path)

    assert [len(parts)] == [len(one.files) for one in read_every(parts[1]) if isinstance(one, Inventory)]


def test_a_checkpoint_counts_once_beside_files_of_other_formats(tmp_path: Path) -> None:
    write("mixtral-8x7b", tmp_path)
    write("tiny", tmp_path)

    assert ["gguf", "safetensors"] == sorted(one.format for one in read_every(tmp_path) if isinstance(one, Inventory))


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as error:
        read_every(tmp_path)

    assert f"{tmp_path}: holds no model; expected .gguf or .safetensors files. Check the name." == str(error.value)


def test_a_model_that_cannot_be_read_is_named_beside_others(tmp_path: Path) -> None:
    write("tiny", tmp_path)
    broken = [tmp_path / f"broken-Q4_K_M-0000{number}-of-00002.gguf" for number in (1, 2)]
    for path in broken:
        path.write_bytes(b"GGUF but no more")
    unread, read = read_every(tmp_path)

    assert isinstance(unread, Unread)
    assert "broken-Q4_K_M-00001-of-00002.gguf" == unread.name
    assert unread.problem.startswith("byte 4: ")
    assert not isinstance(read, Unread)
    (tmp_path / "tiny-Q8_0.gguf").unlink()
    with pytest.raises(FormatError):
        read_every(tmp_path)
