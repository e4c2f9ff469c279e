"""Bytes in memory as a file."""

from __future__ import annotations

from typing import Self

from tensors.sources.protocols import MOST_AT_ONCE_BYTES

__all__ = ["BytesSource"]


class BytesSource:
    """Bytes in memory as a file, counted like one."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.location = name
        self.size = len(data)
        self.reads = 0
        self.bytes_read = 0
        self._data = data

    def read(self, start: int, stop: int) -> bytes:
        """Return bytes from `start` on: as many as come at once, none of them from `stop` on."""
        data = self._data[start : min(stop, start + MOST_AT_ONCE_BYTES)]
        self.reads += 1
        self.bytes_read += len(data)
        return data

    def close(self) -> None:
        """Keep the bytes: they can be read again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
