"""Imports point one way, and what only one place may do is done nowhere else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

# From the bottom up. A room is `tensors` whole, or a package or module of `solver`; it imports from lower layers.
LAYERS = (
    ("tensors",),
    ("blocks", "errors", "finding", "links", "pools", "version", "wording"),
    ("cluster", "cluster_values", "problem", "small_file", "workload"),
    ("closed_form", "cluster_document", "cluster_schema", "measures", "problem_file"),
    ("flow", "pool_loads"),
    ("limits", "needs"),
    ("cluster_build", "effort", "facts_file", "objectives", "toml_tables"),
    ("bounds", "cluster_file", "engines", "pooled_bounds", "question", "rules", "solution"),
    ("baselines", "descent", "example", "exact"),
    ("model", "replicated", "sets"),
    ("provers",),
    ("solve",),
    ("comparison", "frontier", "longer_context", "options", "projection", "trials"),
    ("conflict", "suggestions"),
    ("reasons",),
    ("planning",),
    ("prove", "report"),
    ("machine", "claim", "recheck_cluster", "recheck_levels", "recheck_weights"),
    ("recheck",),
    ("cli",),
    ("__main__",),
)
HEIGHTS = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}

NETWORK = {"aiohttp", "fsspec", "http", "httpx", "huggingface_hub", "requests", "socket", "ssl", "urllib", "urllib3"}

MODULES = sorted(path for package in ("tensors", "solver") for path in (REPOSITORY / package).rglob("*.py"))


def name_of(path: Path) -> str:
    """Return the dotted name of a module."""
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """Return the room of a module; the package `solver` itself has none and may import nothing of its own eagerly."""
    parts = module.split(".")
    return "tensors" if parts[0] == "tensors" else ".".join(parts[1:2])


def imports(tree: ast.AST) -> set[str]:
    """Return every module that is imported, wherever the statement stands."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert 0 == node.level, "imports name their module in full"
            module = node.module or ""
            # `from solver import problem` names a module too.
            found.update(f"{module}.{alias.name}" if module == "solver" else module for alias in node.names)
    return found


def eager(tree: ast.Module) -> set[str]:
    """Return the modules that are imported when the module itself is: outside functions and type checking."""
    return imports(
        ast.Module(
            body=[
                node
                for node in tree.body
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                and not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
            ],
            type_ignores=[],
        )
    )


def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_down(path: Path) -> None:
    """Also those for type checking alone; a new room must be given its place in LAYERS."""
    module = name_of(path)
    room = room_of(module)
    inner = {name for name in imports(parsed(path)) if name.partition(".")[0] in {"solver", "tensors"}}
    if module == "solver":
        assert set() == {name for name in eager(parsed(path)) if name.startswith(("solver", "tensors"))}
        return
    wrong = {
        name
        for name in inner
        if room_of(name) != room and not (room_of(name) and HEIGHTS[room_of(name)] < HEIGHTS[room])
    }

    assert set() == wrong


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_solver_library_is_imported_by_the_model_alone(path: Path) -> None:
    """Elsewhere its start-up time would be paid by commands that never solve."""
    if not name_of(path).startswith("solver.model"):
        assert set() == {name for name in imports(parsed(path)) if name.partition(".")[0] == "ortools"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_model_is_imported_only_when_it_is_needed(path: Path) -> None:
    """So that importing a prover does not import OR-Tools."""
    if not name_of(path).startswith("solver.model"):
        assert set() == {name for name in eager(parsed(path)) if name.startswith("solver.model")}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_network_libraries_are_imported_by_sources_alone_and_lazily(path: Path) -> None:
    """A model on disk is read without any of them."""
    tree = parsed(path)
    found = imports(tree) if not name_of(path).startswith("tensors.sources") else eager(tree)

    assert set() == {name for name in found if name.partition(".")[0] in NETWORK}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_command_line_prints_reads_arguments_or_exits(path: Path) -> None:
    """A library that writes to a terminal cannot be used by another program."""
    if name_of(path).startswith(("solver.cli", "solver.__main__")):
        return
    used = {ast.unparse(node) for node in ast.walk(parsed(path)) if isinstance(node, ast.Name | ast.Attribute)}

    assert set() == used & {
        "print",
        "input",
        "exit",
        "quit",
        "sys.exit",
        "sys.stdout",
        "sys.stderr",
        "sys.argv",
        "os._exit",
    }


def test_closed_forms_share_no_code_with_the_solver() -> None:
    """They are the yardstick that every solved plan is checked against."""
    allowed = {"solver.errors", "solver.wording"}
    for path in (REPOSITORY / "solver" / "closed_form").rglob("*.py"):
        inner = {name for name in imports(parsed(path)) if name.startswith("solver.")}

        assert set() == {name for name in inner if not name.startswith("solver.closed_form")} - allowed


ROOMS = sorted({path.relative_to(REPOSITORY / "solver").parts[0] for path in MODULES if "solver" in path.parts})
UNLISTED = {"__init__.py", "__main__.py", "errors.py", "version.py"}


@pytest.mark.parametrize("room", [name for name in ROOMS if name not in UNLISTED])
def test_the_map_of_the_code_names_every_room(room: str) -> None:
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")

    assert room in text
