"""Files and folders of this machine."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tensors.errors import SourceError
from tensors.sources.hub_sets import selected, sets_of
from tensors.sources.protocols import MOST_AT_ONCE_BYTES, is_plain
from tensors.text import within_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tensors.sources.protocols import Folder, Result

__all__ = ["FileSource", "LocalFolder", "open_every", "open_local"]


class FileSource:
    """A file of this machine, read by position and counted: `reads` calls gave `bytes_read` bytes."""

    def __init__(self, path: Path) -> None:
        self.location = str(path)
        self.name = path.name
        self.reads = 0
        self.bytes_read = 0
        try:
            self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
        except (OSError, ValueError) as error:
            raise SourceError(self.location, _refusal(error)) from error
        status = os.fstat(self._descriptor)
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise SourceError(self.location, "this is no regular file; expected a model file. Name a file or a folder.")
        self.size = status.st_size

    def read(self, start: int, stop: int) -> bytes:
        """Return bytes from `start` on: as many as come at once, none of them from `stop` on.

        Raises:
            SourceError: the system refuses.
        """
        self.reads += 1
        try:
            data = os.pread(self._descriptor, min(stop - start, MOST_AT_ONCE_BYTES), start)
        except OSError as error:
            raise SourceError(self.location, _refusal(error)) from error
        self.bytes_read += len(data)
        return data

    def close(self) -> None:
        """Close the file; twice does no harm."""
        descriptor, self._descriptor = self._descriptor, -1
        with suppress(OSError):
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class LocalFolder:
    """A folder of this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.location = str(path)
        self.name = path.resolve().name

    def names(self) -> tuple[str, ...]:
        """Return the base names of its files, sorted.

        Raises:
            SourceError: the folder cannot be read.
        """
        try:
            with os.scandir(self.path) as entries:
                return tuple(sorted(entry.name for entry in entries if _is_file(entry)))
        except OSError as error:
            raise SourceError(self.location, _refusal(error)) from error

    def has(self, name: str) -> bool:
        """Return whether a file of that base name is there."""
        return (self.path / name).is_file()

    def join(self, name: str) -> str:
        """Return the location of one of its files, for messages."""
        return str(self.path / name)

    def encloses(self, name: str) -> bool:
        """Return whether a name that a file gives stays inside the folder: no path, and no link that leads out.

        Downloads of huggingface_hub are links into the folder `blobs` of the same download, which is inside too:
        https://huggingface.co/docs/huggingface_hub/guides/manage-cache
        """
        if not is_plain(name):
            return False
        try:
            folder, target = self.path.resolve(), (self.path / name).resolve()
        except (OSError, RuntimeError):
            return False
        blobs = folder.parent.parent / "blobs"
        return target.parent == folder or (folder.parent.name == "snapshots" and target.parent == blobs)

    def open(self, name: str) -> FileSource:
        """Open one of its files."""
        return FileSource(self.path / name)

    def each(self, function: Callable[[str], Result], names: Iterable[str]) -> Iterator[Result]:
        """Yield what a function gives for names of files, in their order."""
        return map(function, names)


def open_local(location: str | os.PathLike[str]) -> tuple[Folder, str | None]:
    """Return the folder of a model and, unless the folder itself was named, the base name of the file.

    Raises:
        SourceError: there is nothing at that place.
    """
    path = Path(location)
    if path.is_dir():
        return LocalFolder(path), None
    if not path.exists():
        raise SourceError(str(path), "there is no such file or folder; expected a model. Check the path.")
    return LocalFolder(path.parent), path.name


def open_every(location: str | os.PathLike[str]) -> list[tuple[Folder, str]]:
    """Return the folder and the base name of every model in a folder and in the folders in it; of a file, its own.

    Raises:
        SourceError: there is no model at that place.
    """
    folder, name = open_local(location)
    if name is not None:
        return [(folder, name)]
    root = Path(location)
    sizes: dict[str, int | None] = dict.fromkeys(_files_below(root))
    found = selected(sets_of(sizes), "", str(root))
    return [(LocalFolder(root / one.folder), one.first.rpartition("/")[2]) for one in found]


def _files_below(root: Path) -> Iterator[str]:
    """Yield the paths of files in a folder and in the folders in it, as repositories have them."""
    yield from LocalFolder(root).names()
    with os.scandir(root) as entries:
        inner = sorted(entry.name for entry in entries if _is_folder(entry) and not entry.name.startswith("."))
    for name in inner:
        with suppress(SourceError):
            yield from (f"{name}/{file}" for file in LocalFolder(root / name).names())


def _is_file(entry: os.DirEntry[str]) -> bool:
    # A link that leads round to itself is no file, and no reason to refuse the folder.
    try:
        return entry.is_file()
    except OSError:
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    # As for files.
    try:
        return entry.is_dir()
    except OSError:
        return False


def _refusal(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file; expected a model file. Check the path."
    reason = within_sentence(getattr(error, "strerror", None) or str(error))
    return f"cannot be read: {reason}; expected a file that you may read. Check its permissions and the disk."
