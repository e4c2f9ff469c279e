"""The index of a sharded safetensors model: which file holds which tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tensors.errors import FormatError
from tensors.header import whole
from tensors.json_pieces import TEXTS, MalformedError, pieces
from tensors.text import decoder_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tensors.sources import Folder

__all__ = ["Index", "read_index"]

_LIMIT_BYTES = 256 * 2**20
_MOST_SHARDS = 10_000
_UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class _Metadata(msgspec.Struct):
    total_size: int | float | None = None


class _Document(msgspec.Struct):
    weight_map: msgspec.Raw
    metadata: _Metadata | None = None


_decode_document = msgspec.json.Decoder(_Document).decode
_decode_places = msgspec.json.Decoder(dict[str, str]).decode


class Index(NamedTuple):
    """An index file; `total_size` is what it states, which need not be true."""

    name: str
    location: str
    weight_map: memoryview
    total_size: int | float | None

    def places(self) -> Iterator[dict[str, str]]:
        """Yield the file of every tensor, some tensors at a time.

        Raises:
            FormatError: the map is not one of strings to strings.
        """
        try:
            for piece in pieces(self.weight_map, 0, len(self.weight_map), TEXTS):
                yield _decode_places((b"{" + self.weight_map[piece.start : piece.stop] + b"}").decode())
        except MalformedError as error:
            raise _refuse(self.location, f"its weight_map {error.problem}") from None
        except _UNDECODABLE as error:
            raise _refuse(self.location, f"its weight_map cannot be decoded: {decoder_problem(error)}") from None

    def shards(self) -> set[str]:
        """Return the names of all files that the index lists.

        Raises:
            FormatError: there is none, or more than 10,000 of them.
        """
        shards: set[str] = set()
        for places in self.places():
            shards.update(places.values())
            if len(shards) > _MOST_SHARDS:
                raise _refuse(self.location, f"lists more than {_MOST_SHARDS:,} files")
        if not shards:
            raise _refuse(self.location, "lists no file")
        return shards


def read_index(folder: Folder, name: str) -> Index:
    """Read an index file.

    Raises:
        FormatError: it is no JSON object with a weight_map.
        SourceError: it cannot be read.
    """
    location = folder.join(name)
    with folder.open(name) as source:
        text = whole(source, _LIMIT_BYTES)
    try:
        document = _decode_document(text)
    except _UNDECODABLE as error:
        raise _refuse(location, f"is no index: {decoder_problem(error)}") from None
    stated = document.metadata.total_size if document.metadata else None
    return Index(name, location, memoryview(document.weight_map), stated)


def _refuse(location: str, problem: str) -> FormatError:
    expected = "expected an object whose weight_map gives the file of every tensor"
    return FormatError(location, 0, f"{problem}; {expected}. Fetch the index again.")
