"""Files of other programs: one file or a folder of them, read whole and bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from solver.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["files_of", "read_whole"]

_LARGEST_FILE: Final = 16 * 2**20
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
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(str(path), f"{reason}; expected {what}. Check the path.") from None
    if len(content) > _LARGEST_FILE:
        raise InputError(str(path), f"it is larger than 16 MiB; expected {what}. Check the path.")
    return content
