"""What a place of bytes is to parsers: ranges of a file, and the other files beside it."""

from __future__ import annotations

from typing import Protocol, Self

__all__ = ["Folder", "Source", "is_plain"]

_PATH_CHARACTERS = frozenset("/\\:\0")


class Source(Protocol):
    """Bytes of one file. `size` is its length, `name` its base name, `location` what errors call it."""

    @property
    def name(self) -> str:
        """Return the base name of the file."""

    @property
    def location(self) -> str:
        """Return what a person would type to name the file."""

    @property
    def size(self) -> int:
        """Return the length of the file in bytes."""

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes of [start, stop), fewer where the file ends before `stop`.

        Raises:
            SourceError: the bytes cannot be had.
        """

    def close(self) -> None:
        """Give back what reading holds."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class Folder(Protocol):
    """Files that stand beside each other."""

    @property
    def name(self) -> str:
        """Return the base name of the folder, "" where it has none."""

    @property
    def location(self) -> str:
        """Return what a person would type to name the folder."""

    def names(self) -> tuple[str, ...]:
        """Return the base names of its files, sorted."""

    def has(self, name: str) -> bool:
        """Return whether a file of that base name is there."""

    def join(self, name: str) -> str:
        """Return the location of one of its files, for messages."""

    def encloses(self, name: str) -> bool:
        """Return whether a name that a file gives stays inside the folder: no path, and no link that leads out."""

    def open(self, name: str) -> Source:
        """Open one of its files.

        Raises:
            SourceError: there is no such file, or it cannot be read.
        """


def is_plain(name: str) -> bool:
    """Return whether a name is that of a file and no path, on any system."""
    return name not in {"", ".", ".."} and not _PATH_CHARACTERS & set(name)
