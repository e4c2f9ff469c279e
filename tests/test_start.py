"""What a command imports before it does anything: start-up is paid by every use."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = ("ortools", "numpy", "gguf", "safetensors", "pandas", "huggingface_hub", "fsspec", "httpx", "requests")


def heavy_modules(code: str, repository: Path) -> list[str]:
    """Return which heavy packages a fresh interpreter has loaded after this code."""
    script = f"{code}\nimport sys\nprint('', *(name for name in {HEAVY!r} if name in sys.modules), sep='heavy: ')"
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=repository, capture_output=True, text=True, check=True, timeout=60
    )
    return ran.stdout.splitlines()[-1].split("heavy: ")[1:]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["--hlep"], ["inspect", "--help"]])
def test_help_imports_no_solver_and_no_array_library(arguments: list[str], repository: Path) -> None:
    assert [] == heavy_modules(f"from solver.cli import main\nmain({arguments!r})", repository)


def test_help_imports_no_command(repository: Path) -> None:
    """Their modules are found when they run."""
    code = "from solver.cli import main\nmain(['--help'])\nimport sys\nassert 'solver.cli.plan' not in sys.modules"

    assert [] == heavy_modules(code, repository)


def test_inspect_imports_no_solver_and_no_array_library(repository: Path, tmp_path: Path) -> None:
    """Headers are read by our own readers."""
    from tensors import synthetic  # noqa: PLC0415 - it imports the writers of other packages

    (path,) = synthetic.write("tiny", tmp_path)

    assert [] == heavy_modules(f"from solver.cli import main\nmain(['inspect', {str(path)!r}])", repository)


def test_the_entry_point_imports_nothing_that_takes_long(repository: Path) -> None:
    """An interrupt is answered only once it runs."""
    code = "import sys\nbefore = set(sys.modules)\nimport solver.cli\nprint(sorted(set(sys.modules) - before))"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True, timeout=60
    )

    assert "['__future__', 'solver', 'solver.cli']\n" == ran.stdout


@pytest.mark.parametrize("package", ["tensors", "solver"])
def test_importing_a_package_is_light(package: str, repository: Path) -> None:
    assert [] == heavy_modules(f"import {package}", repository)
