"""What tests of the closed forms share: a target, clusters and documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from solver.cli import main

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["GLM", "UNLIKE", "Capture", "cluster", "document"]

GLM = ("--weight-bytes", "216715360960", "--architecture", "glm-5.2")
UNLIKE = (32, 48, 64, 96, 128)

Capture = pytest.CaptureFixture[str]


def document(arguments: tuple[str, ...], capsys: Capture, repository: Path, code: int = 0) -> dict[str, Any]:
    """Run a command with --json and return its document, checked against its schema."""
    assert code == main([*arguments, "--json"])
    output = capsys.readouterr()
    assert "" == output.err
    answer: dict[str, Any] = json.loads(output.out)
    schema = repository / "docs" / "schemas" / f"{arguments[0]}-1.json"
    jsonschema.validate(answer, json.loads(schema.read_text(encoding="utf-8")))
    return answer


def cluster(folder: Path, *sizes: int, extra: str = "") -> str:
    """Write a cluster file with a node of each size in GiB, named from a on."""
    nodes = (
        f'[[node]]\nname = "{name}"\nmemory = "{size} GiB"\n' for name, size in zip("abcdefgh", sizes, strict=False)
    )
    path = folder / "cluster.toml"
    path.write_text("\n".join((*nodes, extra)), encoding="utf-8")
    return str(path)
