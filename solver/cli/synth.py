"""`layerfit synth`: header-only model files to try things on."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from solver.cli.exit_code import ExitCode
from solver.cli.output import OutputOptions, paint, write_document, write_table, write_text
from solver.report.table import Table
from solver.report.table_text import table_lines
from solver.report.terminal import escape
from tensors import synthetic
from tensors.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["synth"]

_SCHEMA = "layerfit/synth/1"
_NAMES = "; ".join(f"{name}: {model.description}" for name, model in synthetic.MODELS.items())


def synth(
    name: Annotated[str, Parameter(help=f"Which model. {_NAMES}.")],
    /,
    *,
    folder: Annotated[
        Path, Parameter(name=("-o", "--output"), metavar="DIR", help="Folder for the files; made if need be.")
    ],
    output: OutputOptions = OutputOptions(),
) -> ExitCode:
    """Write header-only model files, for tests and demonstrations."""
    output.check()
    paths = synthetic.write(name, folder)
    sizes = [path.stat().st_size for path in paths]
    table = Table(
        columns=("file", "size_bytes"), rows=tuple((str(path), size) for path, size in zip(paths, sizes, strict=True))
    )
    if output.json:
        write_document(_document(name, folder, paths, sizes))
    elif output.format is not None:
        write_table(table, output.format)
    else:
        lines = [
            *table_lines(table, None, paint()),
            "",
            f"{format_bytes(sum(sizes))} in size; the weights are holes, so almost nothing on disk. Look at it with",
            f"  layerfit inspect {escape(shlex.quote(str(paths[0])))}",
        ]
        write_text("\n".join(lines) + "\n")
    return ExitCode.ANSWERED


def _document(name: str, folder: Path, paths: Sequence[Path], sizes: Sequence[int]) -> dict[str, object]:
    return {
        "schema": _SCHEMA,
        "name": name,
        "folder": str(folder),
        "files": [{"name": path.name, "bytes": size} for path, size in zip(paths, sizes, strict=True)],
    }
