"""`layerfit inspect` from arguments to what is written."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import tensors
from benchmarks.forge import Pair, Stated, gguf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from support.commands import Layerfit

    Validate = Callable[[Mapping[str, Any]], None]


def test_one_document_and_nothing_else(tiny_model: Path, layerfit: Layerfit, validate_document: Validate) -> None:
    code, out, err = layerfit("inspect", tiny_model, "--json")
    document = json.loads(out)
    validate_document(document)

    assert (0, "") == (code, err)
    assert tensors.read(tiny_model).weight_bytes == document["model"]["weight_bytes"]
    assert "tensors" not in document


def test_the_document_lists_tensors_when_they_are_asked_for(
    tiny_model: Path, layerfit: Layerfit, validate_document: Validate
) -> None:
    document = json.loads(layerfit("inspect", tiny_model, "--json", "--by", "tensor").out)
    validate_document(document)

    assert document["model"]["tensors"] == len(document["tensors"])
    assert document["model"]["weight_bytes"] == sum(tensor["bytes"] for tensor in document["tensors"])


@pytest.mark.parametrize("view", ["block", "role", "type", "tensor", "file"])
def test_every_view_is_text_csv_and_markdown(view: str, tiny_model: Path, layerfit: Layerfit) -> None:
    """The same rows in each."""
    text = layerfit("inspect", tiny_model, "--by", view)
    rows = list(csv.reader(io.StringIO(layerfit("inspect", tiny_model, "--by", view, "--format", "csv").out)))
    lines = layerfit("inspect", tiny_model, "--by", view, "--format", "markdown").out.splitlines()

    assert (0, "") == (text.code, text.err)
    assert len(rows) + 1 == len(lines)
    assert text.out.splitlines()[-1].split()[0] in {cell for cell in rows[-1] if cell}


def test_types_that_nobody_knows_are_refused_unless_they_may_be_listed(tmp_path: Path, layerfit: Layerfit) -> None:
    """Each with the bytes up to the next tensor."""
    tensors_of_it = [Stated(b"token_embd.weight", (7,), 200, 0), Stated(b"output_norm.weight", (1,), 0, 64)]
    pairs = [Pair("general.architecture", "str", "llama"), Pair("llama.block_count", "u32", 0)]
    path = tmp_path / "new.gguf"
    path.write_bytes(gguf(pairs, tensors_of_it, data_bytes=68))
    refused = layerfit("inspect", path)
    listed = layerfit("inspect", path, "--allow-unknown", "--by", "type", "--format", "csv")

    assert (2, "") == (refused.code, refused.out)
    assert 'tensor "token_embd.weight" has type 200; ' in refused.err
    assert (0, "") == (listed.code, listed.err)
    assert ["type,tensors,weight_bytes,parameters", "type 200,1,64,7", "F32,1,4,1"] == listed.out.splitlines()


def test_a_missing_model_is_one_line(tmp_path: Path, layerfit: Layerfit) -> None:
    code, out, err = layerfit("inspect", tmp_path / "none.gguf", "--json")

    assert (2, "") == (code, out)
    assert err.startswith(f"{tmp_path / 'none.gguf'}: ")
    assert 1 == err.count("\n")


def test_bars_are_drawn_in_what_the_encoding_of_the_output_has(tiny_model: Path) -> None:
    def written(encoding: str) -> str:
        environment = os.environ | {"PYTHONIOENCODING": encoding}
        command = [sys.executable, "-m", "solver", "inspect", str(tiny_model), "--by", "type"]
        return subprocess.run(command, check=True, capture_output=True, env=environment).stdout.decode(encoding)

    full, plain = written("utf-8"), written("ascii")

    assert "█" in full
    assert full.translate(str.maketrans("█▉▊▋▌▍▎▏", "####----")) == plain
