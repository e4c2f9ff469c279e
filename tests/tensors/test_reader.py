"""Reading by a path: what a person may name, and what is wrong with it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks.forge import seeds
from tensors import SourceError, TensorsError, read

if TYPE_CHECKING:
    from pathlib import Path


def test_a_model_is_read_by_the_path_of_a_file_or_of_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "little.gguf"
    path.write_bytes(seeds()["little.gguf"]["little.gguf"])

    assert 1 == len({read(path), read(str(path)), read(tmp_path)})
    assert "little" == read(path).name


def test_the_name_of_a_file_need_not_end_like_a_model(tmp_path: Path) -> None:
    """Some programs call their files by digests."""
    path = tmp_path / "sha256-0123"
    path.write_bytes(seeds()["little.gguf"]["little.gguf"])

    assert 4 == len(read(path).tensors)


def refusal(path: Path) -> str:
    """Return the message that refuses a path."""
    with pytest.raises(TensorsError) as caught:
        read(path)
    return str(caught.value).replace(str(path.parent), "…")


def test_what_cannot_be_read_is_refused_in_one_line(tmp_path: Path) -> None:
    folder, page = tmp_path / "empty", tmp_path / "page.gguf"
    folder.mkdir()
    page.write_text("<html>")

    assert "…/none.gguf: there is no such file or folder; expected a model. Check the path." == refusal(
        tmp_path / "none.gguf"
    )
    assert (
        "…/empty: the folder holds no model; expected a .gguf file, or .safetensors files with a config.json. "
        "Check the path."
    ) == refusal(folder)
    assert '…/page.gguf, byte 0: begins with "<htm"; expected "GGUF". Is this a GGUF file?' == refusal(page)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")

    assert "…/pipe.gguf: this is no regular file; expected a model file. Name a file or a folder." == refusal(
        tmp_path / "pipe.gguf"
    )


def test_a_name_with_a_zero_byte_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        read(tmp_path / "a\0b")


def test_reading_a_gguf_header_imports_no_array_or_json_library(tmp_path: Path) -> None:
    """Their imports would take longer than the header."""
    path = tmp_path / "little.gguf"
    path.write_bytes(seeds()["little.gguf"]["little.gguf"])
    script = "import sys, tensors; tensors.read(sys.argv[1]); print(*{'numpy', 'gguf', 'msgspec'} & set(sys.modules))"
    command = [sys.executable, "-c", script, str(path)]

    assert "" == subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_a_link_that_leads_round_to_itself_is_no_file_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "little.gguf").write_bytes(seeds()["little.gguf"]["little.gguf"])
    (tmp_path / "round.gguf").symlink_to("round.gguf")

    assert 4 == len(read(tmp_path).tensors)
