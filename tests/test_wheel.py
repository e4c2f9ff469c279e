"""The built wheel: what it holds, and what it says of itself."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from typing import TYPE_CHECKING

import pytest

from solver.version import VERSION

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Return the wheel built from a copy of what belongs to it, so that nothing left behind by other builds gets in."""
    source = tmp_path_factory.mktemp("source")
    for package in ("tensors", "solver"):
        shutil.copytree(repository / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(repository / name, source)
    built = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(built), str(source)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 0 == ran.returncode, ran.stdout + ran.stderr
    (path,) = built.iterdir()
    return zipfile.ZipFile(path)


def test_the_packages_are_tensors_and_solver_and_no_others(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}

    assert {"solver", "tensors", f"layerfit-{VERSION}.dist-info"} == tops


def test_every_module_type_marker_and_data_file_is_in_it(wheel: zipfile.ZipFile, repository: Path) -> None:
    expected = {
        path.relative_to(repository).as_posix()
        for package in ("tensors", "solver")
        for pattern in ("*.py", "py.typed", "*.toml")
        for path in (repository / package).rglob(pattern)
    }

    assert expected == {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert {"tensors/py.typed", "solver/py.typed", "solver/data/example-cluster.toml"} <= expected


def test_it_names_itself_its_licence_and_its_command(wheel: zipfile.ZipFile) -> None:
    info = f"layerfit-{VERSION}.dist-info"
    metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())

    assert ("layerfit", VERSION) == (metadata["Name"], metadata["Version"])
    assert ("Apache-2.0", ">=3.11") == (metadata["License-Expression"], metadata["Requires-Python"])
    assert f"{info}/licenses/LICENSE" in wheel.namelist()
    assert "layerfit = solver.cli:main" in wheel.read(f"{info}/entry_points.txt").decode()


def test_what_every_installation_needs_is_asked_for_and_what_only_tests_need_is_not(wheel: zipfile.ZipFile) -> None:
    metadata = Parser().parsestr(wheel.read(f"layerfit-{VERSION}.dist-info/METADATA").decode())
    needed = metadata.get_all("Requires-Dist") or []
    base = {re.split(r"[^\w-]", requirement)[0] for requirement in needed if "extra ==" not in requirement}

    assert {"cyclopts", "gguf", "msgspec", "numpy", "ortools", "rich", "safetensors"} == base


def test_the_version_is_the_same_wherever_it_stands(repository: Path) -> None:
    """In the citation, the change log and the package."""
    citation = (repository / "CITATION.cff").read_text(encoding="utf-8")
    changes = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert f"version: {VERSION}\n" in citation
    assert re.search(rf"^## (Unreleased|{re.escape(VERSION)})", changes, re.MULTILINE)
    assert ["version"] == project["dynamic"]
