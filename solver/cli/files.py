"""Files that commands write: whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from solver.errors import UsageError

__all__ = ["check_apart", "check_folder", "write_file"]


def check_folder(path: Path) -> None:
    """Refuse a path in a folder that is not there: better before a long search than behind it.

    Raises:
        OSError: the folder does not exist.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(2, "No such folder", str(path.parent))


def check_apart(output: Path, *inputs: Path | None) -> None:
    """Refuse to write over a file that is read.

    Raises:
        UsageError: the output is one of the inputs.
    """
    for path in inputs:
        if path is not None and output.is_file() and path.exists() and output.samefile(path):
            raise UsageError(f"{output}: it is an input too; expected a file of its own to write. Name another.")


def write_file(path: Path, text: str) -> None:
    """Write a text file; whoever reads it meanwhile sees the old file or the new one, never a part.

    Raises:
        OSError: the folder does not exist or cannot be written.
    """
    check_folder(path)
    if path.exists() and not path.is_file():
        # A device such as /dev/stdout is written, never replaced.
        path.write_text(text, encoding="utf-8")
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    temporary = path.with_name(Path(name).name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink()
        raise
