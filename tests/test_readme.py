"""What the README shows is what the commands do."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

import tensors
from solver.cli import main
from tensors import synthetic

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def readme(repository: Path) -> str:
    """Return the text of the README."""
    return (repository / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(readme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a newcomer, who has the README's cluster file."""
    monkeypatch.chdir(tmp_path)
    (cluster,) = re.findall(r"```toml\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "cluster.toml").write_text(cluster, encoding="utf-8")
    return tmp_path


def test_the_first_plan_is_the_one_that_is_shown(readme: str, capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = re.findall(r"```\n(✓.*?)```", readme, re.DOTALL)
    assert 0 == main(["plan"])
    written = capsys.readouterr().out

    assert [] == [part for part in shown.strip().split("\n\n") if part not in written]


def test_every_command_on_files_of_ones_own_works(readme: str, folder: Path) -> None:
    """In the order in which they stand; what is on other machines, and a log that is still to come, are left out."""
    model = synthetic.write("tiny", folder)[0]
    lines = [shlex.split(line, comments=True) for line in re.findall(r"^    layerfit (.*)$", readme, re.MULTILINE)]
    local = [line for line in lines if not any("://" in word or word == "server.log" for word in line)]
    for line in local:
        words = [str(model) if word == "MODEL" else word for word in line]
        # The cluster file is there already, and none is ever written over.
        if words[0] == "nodes":
            words[-1] = "mine.toml"

        assert (line, 0) == (line, main(words))
    assert 12 <= len(local)


def test_the_lines_of_python_run(readme: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (model,) = synthetic.write("tiny", folder)
    model.rename("model.gguf")
    main(["plan", "model.gguf", "--cluster", "cluster.toml", "--write-problem", "problem.json"])
    capsys.readouterr()
    (code,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - it is ours

    sizes, placed = capsys.readouterr().out.splitlines()
    inventory = tensors.read("model.gguf")

    assert f"{inventory.trunk_blocks} {inventory.weight_bytes}" == sizes
    assert placed.startswith("optimal [(")
