"""Files of other programs: one file or a folder of them, read whole and bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from solver.errors import InputError
from solver.small_file import read_small

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["files_of", "read_whole"]

_MOST_MIB: Final = 16
_MOST_FILES: Final = 10_000


def files_of(path: Path, suffixes: tuple[str, ...], what: str) -> tuple[Path, ...]:
    """Return the file itself, or the files of a folder with one of these endings, by name.

    Raises:
        InputError: there is none, or far too many.
    """
    if not path.is_dir():
        return (path,)
    found = sorted(file for file in path.iterdir() if file.suffix.lower() in suffixes and file.is_file())
    if not found:
        raise InputError(
            str(path), f"the folder holds no {' or '.join(suffixes)} file; expected {what}. Check the path."
        )
    if len(found) > _MOST_FILES:
        raise InputError(str(path), f"it holds {len(found):,} files; expected at most {_MOST_FILES:,}. Name a part.")
    return tuple(found)


def read_whole(path: Path, what: str) -> bytes:
    """Return the bytes of a file.

    Raises:
        InputError: it cannot be read, or is larger than such files are.
    """
    return read_small(path, _MOST_MIB, what)
