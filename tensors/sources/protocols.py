"""What a place of bytes is to parsers: ranges of a file, and the other files beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["MOST_AT_ONCE_BYTES", "Folder", "Result", "Source", "is_plain"]

Result = TypeVar("Result")

MOST_AT_ONCE_BYTES: Final = 2**20
"""What one read gives at most, so that a hostile header is seen through before much of it is held."""

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
        """Return bytes from `start` on: as many as come at once, none of them from `stop` on.

        There is at least one, unless the file ends at `start`. A distant source asks for all of [start, stop) in one
        request, so `stop` is how far reading is thought to go.

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

    def each(self, function: Callable[[str], Result], names: Iterable[str]) -> Iterator[Result]:
        """Yield what a function gives for names of files, in their order; of a distant folder, several at a time."""


def is_plain(name: str) -> bool:
    """Return whether a name is that of a file and no path, on any system."""
    return name not in {"", ".", ".."} and not _PATH_CHARACTERS & set(name)
