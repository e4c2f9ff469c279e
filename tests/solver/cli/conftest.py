"""Run commands in this process and see what a person would see."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.commands import Ran

from solver.cli import main
from solver.problem_file import problem_to_document
from tensors import synthetic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.commands import Layerfit

    from solver.problem import Problem


@pytest.fixture
def layerfit(capsys: pytest.CaptureFixture[str]) -> Layerfit:
    """Return a function that runs a command line and returns its exit code and what it wrote."""

    def run(*arguments: str | Path) -> Ran:
        code = main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        return Ran(code, written.out, written.err)

    return run


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a small header-only model."""
    return synthetic.write("tiny-experts", tmp_path_factory.mktemp("tiny"))[0]


@pytest.fixture(scope="session")
def glm_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a part of the built-in example: GLM-5.2 in the sizes of UD-IQ2_XXS."""
    return str(synthetic.write(synthetic.EXAMPLE, tmp_path_factory.mktemp("glm"))[0])


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Problem], Path]:
    """Return a function that writes a problem and returns its path."""

    def written(problem: Problem) -> Path:
        path = tmp_path / "problem.json"
        path.write_text(json.dumps(problem_to_document(problem)), encoding="utf-8")
        return path

    return written
