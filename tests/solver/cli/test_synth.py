"""`layerfit synth` from arguments to files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from support.commands import Layerfit

    Validate = Callable[[Mapping[str, Any]], None]


def test_the_files_are_written_and_listed(tmp_path: Path, layerfit: Layerfit) -> None:
    code, out, err = layerfit("synth", "tiny", "-o", tmp_path / "new")
    (path,) = (tmp_path / "new").iterdir()

    assert (0, "") == (code, err)
    assert f"  layerfit inspect {path}\n" == out.splitlines(keepends=True)[-1]
    assert tensors.read(path).tensors


def test_the_document_names_files_and_bytes(tmp_path: Path, layerfit: Layerfit, validate_document: Validate) -> None:
    document = json.loads(layerfit("synth", "tiny-experts", "-o", tmp_path, "--json").out)
    validate_document(document)

    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {
        file["name"]: file["bytes"] for file in document["files"]
    }


def test_files_that_are_there_stay_as_they_are(tmp_path: Path, layerfit: Layerfit) -> None:
    (tmp_path / "tiny-Q8_0.gguf").write_bytes(b"mine")
    code, out, err = layerfit("synth", "tiny", "-o", tmp_path)

    assert (2, "") == (code, out)
    assert f"{tmp_path / 'tiny-Q8_0.gguf'}: is there already; nothing was written. Choose another folder.\n" == err
    assert b"mine" == (tmp_path / "tiny-Q8_0.gguf").read_bytes()
