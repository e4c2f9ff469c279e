"""The closed forms share no code with the solver that they are a yardstick for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


def test_the_closed_forms_import_nothing_of_the_solver_but_its_errors(repository: Path) -> None:
    files = sorted((repository / "solver" / "closed_form").glob("*.py"))
    modules = set[str]().union(*(imported(file) for file in files))

    assert "solver.closed_form.numbers" in modules
    assert {"solver.errors"} == {
        module for module in modules if module.startswith("solver") and not module.startswith("solver.closed_form")
    }
