"""What a parser gives for one file, before names are understood."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tensors.errors import FormatError

if TYPE_CHECKING:
    from tensors.metadata import Metadata
    from tensors.sources import Source

__all__ = ["FileHeader", "Prefix", "StoredTensor", "whole"]

_LEAST_WINDOW_BYTES = 2**17
_MOST_WINDOW_BYTES = 2**22
_SPARE_BYTES = 3 * 2**17
_LAST_WINDOW = 4


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

    A window is an eighth of what is there, from 128 KiB to 4 MiB, or goes to where the header is thought to end. A
    distant source makes one request of each, so the fourth is the last where it can be: unless a parser is sure of the
    end, it goes as far as a header may, and is left when the end is found. `window_end` is where the open one ends.
    """

    def __init__(self, source: Source, limit_bytes: int) -> None:
        self.location = source.location
        self.size = source.size
        self.data = bytearray()
        self._source = source
        self._limit_bytes = limit_bytes
        self._windows = 0
        self.window_end = 0
        self._expected_end = 0
        self._sure = False

    def expect(self, end: int, *, sure: bool) -> None:
        """Say where the header is thought to end; the next window goes a fifth beyond."""
        self._expected_end = end + end // 5 + _SPARE_BYTES
        self._sure = sure

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
            if held >= self.window_end:
                self._open_window(held, stop)
            window = self._source.read(held, self.window_end)
            if not window:
                raise FormatError(self.location, held, self._ends(stop))
            self.data += window

    def _open_window(self, held: int, stop: int) -> None:
        self._windows += 1
        end = held + min(_MOST_WINDOW_BYTES, max(_LEAST_WINDOW_BYTES, held // 8))
        if self._windows > _LAST_WINDOW or (self._windows == _LAST_WINDOW and not self._sure):
            end = self._limit_bytes
        self.window_end = max(stop, min(self.size, self._limit_bytes, max(end, self._expected_end)))

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
