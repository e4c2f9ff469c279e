"""`layerfit emulate` from arguments to what is written."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from tensors import synthetic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from support.commands import Layerfit

    Validate = Callable[[Mapping[str, Any]], None]

SERVERS = ("--rpc", "127.0.0.1:50101,127.0.0.1:50102")


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a small header-only llama."""
    return synthetic.write("tiny", tmp_path_factory.mktemp("llama"))[0]


def test_one_document_and_nothing_else(llama: Path, layerfit: Layerfit, validate_document: Validate) -> None:
    code, out, err = layerfit(
        "emulate", "--json", "--free", "4 GiB,2 GiB", "--", "llama-server", "-m", llama, *SERVERS, "-c", "1024"
    )
    document = json.loads(out)
    validate_document(document)

    assert (0, "") == (code, err)
    assert ["layerfit/emulation/1", "b11434", 1024, 4, True] == [
        document[key] for key in ("schema", "build", "context_tokens", "sequences", "unified")
    ]
    assert ["RPC0", "RPC1", "Host"] == [device["name"] for device in document["devices"]]
    assert [None] == [slot["device"] and slot["block"] for slot in document["slots"][-1:]]
    assert list(range(len(document["slots"]))) == [slot["slot"] for slot in document["slots"]]
    assert {"Host"} == {device["name"] for device in document["devices"] if "mapped_bytes" in device}


def test_the_free_memory_decides_the_split(llama: Path, layerfit: Layerfit) -> None:
    def split(free: str) -> list[str]:
        line = ("emulate", "--json", "--free", free, "--", "llama-server", "-m", llama, *SERVERS)
        return [slot["device"] for slot in json.loads(layerfit(*line).out)["slots"]]

    assert {"RPC0"} == set(split("4 GiB,0 GiB"))
    assert {"RPC1"} == set(split("0 GiB,4 GiB"))
    assert split("1 GiB,1 GiB") == split("1 GB,1 GB")


def test_the_device_table_is_csv_and_markdown(llama: Path, layerfit: Layerfit) -> None:
    """The same rows in each, and as many devices as in the text."""
    line = ("--", "llama-completion", "-m", llama, *SERVERS, "-ts", "1,1", "-c", "512")
    rows = list(csv.reader(io.StringIO(layerfit("emulate", "--format", "csv", *line).out)))
    markdown = layerfit("emulate", "--format", "markdown", *line).out.splitlines()

    assert ["device", "blocks", "head", "model_bytes"] == rows[0][:4]
    assert ["RPC0", "RPC1", "Host"] == [row[0] for row in rows[1:]]
    assert len(rows) + 1 == len(markdown)


def test_the_text_shows_devices_context_and_notes(llama: Path, layerfit: Layerfit) -> None:
    code, out, err = layerfit(
        "emulate",
        "--free",
        "3 MiB",
        "--host-free",
        "1 GiB",
        "--",
        "llama-server",
        "-m",
        llama,
        "-c",
        "512",
        "-ngl",
        "9",
    )

    assert (0, "") == (code, err)
    assert "program  llama-server as of build b11434" in out
    assert "context  512 tokens that 4 sequences share" in out
    assert ["CUDA0", "Host"] == [line.split()[0] for line in out.splitlines() if line.startswith(("CUDA0 ", "Host "))][
        :2
    ]
    assert "Note: Devices that are not named are taken for CUDA ones." in out.splitlines()


def test_builds_count_layers_differently(llama: Path, layerfit: Layerfit) -> None:
    def head(*flags: str) -> str:
        line = ("emulate", "--json", "--free", "1 GiB", *flags, "--", "llama-server", "-m", llama, "-ngl", "1")
        return str(json.loads(layerfit(*line).out)["slots"][-1]["device"])

    assert ("CUDA0", "Host") == (head(), head("--build", "b7400"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (),
            (
                "layerfit emulate: no command stands behind --; expected llama-server with its flags. "
                "Paste it like: layerfit emulate -- llama-server -m model.gguf -ngl 99"
            ),
        ),
        (
            ("--free", "24", "--", "llama-server"),
            (
                'layerfit emulate, --free: "24" has no unit; expected a size. Write "24 GiB" or "24 GB". '
                "Separate several by commas."
            ),
        ),
        (
            ("--host-free", "x", "--", "llama-server"),
            'layerfit emulate, --host-free: "x" is not a size; write it like "24 GiB" or "24 GB".',
        ),
        (
            ("--json", "--format", "csv", "--", "llama-server"),
            "--json and --format: both are given; expected one form of output. Leave one out.",
        ),
        (
            ("--", "llama-server", "-m", "none.gguf", "--pooling", "mean"),
            "llama-server, --pooling: outputs of embeddings are not sized here. Leave it out.",
        ),
        (
            ("--", "llama-server", "-m", "none.gguf"),
            "none.gguf: there is no such file or folder; expected a model. Check the path.",
        ),
    ],
)
def test_what_cannot_be_meant_is_one_line(arguments: tuple[str, ...], message: str, layerfit: Layerfit) -> None:
    assert (2, "", f"{message}\n") == layerfit("emulate", *arguments)


def test_a_family_without_a_rule_is_refused(llama: Path, layerfit: Layerfit, tmp_path: Path) -> None:
    """Its header is sound, and nobody here knows its caches."""
    path = tmp_path / "newest.gguf"
    path.write_bytes(llama.read_bytes().replace(b"llama", b"lamas"))
    code, out, err = layerfit("emulate", "--", "llama-server", "-m", path, "-c", "512")

    assert (2, "") == (code, out)
    assert err.endswith(
        'no rule for its caches: "general.architecture" is "lamas"; expected a family whose cache is known here.\n'
    )


def test_help_does_not_import_the_engine(layerfit: Layerfit) -> None:
    for name in [name for name in sys.modules if name.startswith("solver.engines.llamacpp.flag")]:
        del sys.modules[name]
    layerfit("emulate", "--help")

    assert [] == [name for name in sys.modules if name.startswith("solver.engines.llamacpp.flag")]
