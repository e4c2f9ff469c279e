"""What a parser gives for one file, before names are understood."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tensors.errors import FormatError

if TYPE_CHECKING:
    from tensors.metadata import Metadata
    from tensors.sources import Source

__all__ = ["FileHeader", "Prefix", "StoredTensor", "whole"]

_LEAST_WINDOW_BYTES = 2**18
_MOST_WINDOW_BYTES = 2**22


class StoredTensor(NamedTuple):
    """A tensor as its header states it: shape outermost first, offset from the start of the file."""

    name: str
    shape: tuple[int, ...]
    type: str
    size_bytes: int
    offset: int


class FileHeader(NamedTuple):
    """One file: `raw` is its header up to the first byte of data; the sums are those of `ModelFile`."""

    name: str
    location: str
    size_bytes: int
    raw: memoryview
    metadata: Metadata
    tensors: tuple[StoredTensor, ...]
    tensor_bytes: int
    padding_bytes: int
    missing_bytes: int


class Prefix:
    """The first bytes of a source, fetched in windows because nobody says beforehand where a header ends.

    A window is an eighth of what is there, from 256 KiB to 4 MiB: few reads, and never much more than the header.
    """

    def __init__(self, source: Source, limit_bytes: int) -> None:
        self.location = source.location
        self.size = source.size
        self.data = bytearray()
        self._source = source
        self._limit_bytes = limit_bytes

    def reach(self, stop: int) -> None:
        """Fetch all bytes before `stop`.

        Raises:
            FormatError: the file, or what we are ready to read of a header, ends before `stop`.
        """
        if stop > self.size:
            raise FormatError(self.location, self.size, self._ends(stop))
        if stop > self._limit_bytes:
            raise FormatError(
                self.location,
                len(self.data),
                f"the header runs on to byte {stop:,}; headers of more than {self._limit_bytes:,} bytes are not read. "
                "Is the file damaged?",
            )
        while len(self.data) < stop:
            held = len(self.data)
            window_bytes = min(_MOST_WINDOW_BYTES, max(_LEAST_WINDOW_BYTES, held // 8, stop - held))
            window = self._source.read(held, min(self.size, held + window_bytes))
            if not window:
                raise FormatError(self.location, held, self._ends(stop))
            self.data += window

    @staticmethod
    def _ends(stop: int) -> str:
        return f"the file ends inside its header; expected bytes up to {stop:,} at least. Fetch the file again."


def whole(source: Source, limit_bytes: int) -> bytearray:
    """Return all bytes of a small file.

    Raises:
        FormatError: it is larger than `limit_bytes`.
    """
    if source.size > limit_bytes:
        problem = f"has {source.size:,} bytes; expected at most {limit_bytes:,}. Is this the right file?"
        raise FormatError(source.location, 0, problem)
    prefix = Prefix(source, limit_bytes)
    prefix.reach(source.size)
    return prefix.data
