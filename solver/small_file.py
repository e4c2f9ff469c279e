"""A file of a person's, read whole: what it is called in errors, and how large it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_small"]

_MIB = 2**20


def read_small(path: Path, most_mib: int, what: str) -> bytes:
    """Return the bytes of a file of at most so many MiB; `what` says in errors what it should be.

    Raises:
        InputError: it cannot be read, or is larger; names the path as it was given.
    """
    where = str(path)
    try:
        with path.open("rb") as file:
            content = file.read(most_mib * _MIB + 1)
    except IsADirectoryError:
        raise InputError(where, f"it is a folder; expected {what}. Name the file.") from None
    except FileNotFoundError:
        raise InputError(where, f"there is no such file; expected {what}. Check the path.") from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(where, f"{reason}; expected {what}. Check the path.") from None
    if len(content) > most_mib * _MIB:
        raise InputError(where, f"it is larger than {most_mib} MiB; expected {what}. Check the path.")
    return content
