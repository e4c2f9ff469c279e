"""Headers of safetensors files.

The format: https://github.com/huggingface/safetensors#format. What is sound is what its own parser accepts,
https://github.com/huggingface/safetensors/blob/000a16f45cff0d4169ca15b67ea002895234d671/safetensors/src/tensor.rs:
tensors cover the data without a hole or an overlap, in any order. Beyond it we take files whose data ends early.

A header may have 100 MB, so it is decoded in pieces: once to check it, which keeps two numbers a tensor, and, where it
is sound, once more to list its tensors.
"""

from __future__ import annotations

import heapq
from array import array
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import msgspec

from tensors.errors import FormatError
from tensors.header import FileHeader, Prefix, StoredTensor
from tensors.json_pieces import OBJECTS, TEXTS, MalformedError, Piece, pieces
from tensors.text import decoder_problem, quoted, shown_shape
from tensors.types import SAFETENSORS_BITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tensors.sources import Source

__all__ = ["HEADER_LIMIT_BYTES", "read_header"]

HEADER_LIMIT_BYTES: Final = 100_000_000
"""The limit of the format's own parser."""

_LENGTH_BYTES = 8
_SIZE_LIMIT = 2**64
_SHORT_BYTES = 2**20

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _Entry(msgspec.Struct, gc=False):
    dtype: str
    shape: tuple[_Count, ...]
    data_offsets: tuple[_Count, _Count]


class _Some(NamedTuple):
    """Some entries of a header, and where their text begins in the file."""

    entries: dict[str, _Entry]
    start: int


_UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_decode_entries = msgspec.json.Decoder(dict[str, _Entry]).decode
_decode_keys = msgspec.json.Decoder(dict[str, None]).decode
_decode_texts = msgspec.json.Decoder(dict[str, str]).decode


def read_header(source: Source, *, allow_unknown_types: bool) -> FileHeader:
    """Read the header of one safetensors file.

    With `allow_unknown_types`, a tensor of a type that is not known is listed with the bytes its offsets span.

    Raises:
        FormatError: the header is not sound; the message says where.
        SourceError: the source refuses to be read.
    """
    text = _Text(source)
    total = _check(text, allow_unknown_types=allow_unknown_types)
    data_start = text.stop
    surplus = source.size - data_start - total
    if surplus > 0:
        problem = f"{surplus:,} bytes follow the last tensor; expected the file to end here. The file is damaged."
        raise FormatError(text.location, data_start + total, problem)
    return FileHeader(
        name=source.name,
        location=source.location,
        size_bytes=source.size,
        raw=memoryview(text.data),
        metadata={},
        tensors=tuple(_stored(text)),
        tensor_bytes=total,
        padding_bytes=0,
        missing_bytes=-surplus,
    )


class _Text:
    """The JSON text of a header, decoded some entries at a time."""

    def __init__(self, source: Source) -> None:
        prefix = Prefix(source, HEADER_LIMIT_BYTES + _LENGTH_BYTES)
        prefix.reach(_LENGTH_BYTES)
        self.location = source.location
        length = int.from_bytes(prefix.data[:_LENGTH_BYTES], "little")
        self.stop = _LENGTH_BYTES + length
        if length > HEADER_LIMIT_BYTES:
            problem = f"announces a header of {length:,} bytes; expected at most {HEADER_LIMIT_BYTES:,}."
            raise FormatError(self.location, 0, f"{problem} Is this a safetensors file?")
        prefix.reach(self.stop)
        del prefix.data[self.stop :]
        self.data = prefix.data
        self._kept: list[_Some] | None = None

    def entries(self) -> Iterable[_Some]:
        """Return the entries that describe tensors, some at a time; a short header is decoded once."""
        if self.stop > _SHORT_BYTES:
            return self._decoded()
        if self._kept is None:
            self._kept = list(self._decoded())
        return self._kept

    def refuse(self, position: int, problem: str) -> FormatError:
        """Return the error for a header that breaks the form of JSON, or of an entry."""
        expected = "expected an object of tensors with dtype, shape and data_offsets"
        return FormatError(self.location, position, f"the header {problem}; {expected}. The file is damaged.")

    def refuse_tensor(self, some: _Some, name: str, problem: str) -> FormatError:
        """Return the error for a tensor of some entries, with the place of its own."""
        position = some.start
        while (entry := OBJECTS.one.match(self.data, position)) is not None:
            if name in _decode_keys(b"{" + entry[1] + b":null}"):
                break
            position = entry.end()
        return FormatError(self.location, position, f"tensor {quoted(name)} {problem}")

    def _decoded(self) -> Iterator[_Some]:
        try:
            for piece in pieces(self.data, _LENGTH_BYTES, self.stop, OBJECTS):
                if piece.alone:
                    self._check_texts(piece)
                else:
                    yield self._some(piece)
        except MalformedError as error:
            raise self.refuse(error.position, error.problem) from None

    def _check_texts(self, value: Piece) -> None:
        try:
            for piece in pieces(self.data, value.start, value.stop, TEXTS):
                _decode_texts(self._braced(piece))
        except MalformedError as error:
            problem = f'"__metadata__" {error.problem}; expected an object of strings. The file is damaged.'
            raise FormatError(self.location, error.position, problem) from None
        except _UNDECODABLE as error:
            problem = f'"__metadata__" is not an object of strings: {decoder_problem(error)}'
            raise FormatError(self.location, value.start, f"{problem}; expected one. The file is damaged.") from None

    def _some(self, piece: Piece) -> _Some:
        try:
            return _Some(_decode_entries(self._braced(piece)), piece.start)
        except _UNDECODABLE as error:
            raise self._culprit(piece, error) from None

    def _braced(self, piece: Piece) -> str:
        return (b"{" + memoryview(self.data)[piece.start : piece.stop] + b"}").decode()

    def _culprit(self, piece: Piece, error: Exception) -> FormatError:
        """Find the entry of a piece that cannot be decoded."""
        position = piece.start
        while position < piece.stop and (entry := OBJECTS.one.match(self.data, position)) is not None:
            try:
                _decode_entries((b"{" + entry[1] + b":" + entry[2] + b"}").decode())
            except _UNDECODABLE as own:
                name = quoted(entry[1].decode("utf-8", "replace")[1:-1])
                return self.refuse(position, f"has no sound entry for {name}: {decoder_problem(own)}")
            position = entry.end()
        return self.refuse(position, f"cannot be decoded: {decoder_problem(error)}")


def _check(text: _Text, *, allow_unknown_types: bool) -> int:
    """Return the bytes of data that the header describes, having seen every entry."""
    runs: list[tuple[array[int], array[int]]] = []
    for some in text.entries():
        spans: list[tuple[int, int]] = []
        for name, entry in some.entries.items():
            if entry.dtype not in SAFETENSORS_BITS and not allow_unknown_types:
                raise text.refuse_tensor(some, name, _unknown(entry.dtype))
            problem = _misfit(entry)
            if problem:
                raise text.refuse_tensor(some, name, f"{problem} The file is damaged.")
            spans.append(entry.data_offsets)
        spans.sort()
        runs.append((array("Q", [begin for begin, _ in spans]), array("Q", [end for _, end in spans])))
    expected = 0
    for begin, end in heapq.merge(*(zip(begins, ends, strict=True) for begins, ends in runs)):
        if begin != expected:
            raise _uncovered(text, begin, end, expected)
        expected = end
    return expected


def _unknown(dtype: str) -> str:
    known = ", ".join(SAFETENSORS_BITS)
    return f"has type {quoted(dtype)}; known types are {known}. Is the file newer than this reader?"


def _misfit(entry: _Entry) -> str:
    begin, end = entry.data_offsets
    if end < begin:
        return f"ends at byte {end:,} of the data and begins at {begin:,}; expected it the other way."
    bits = SAFETENSORS_BITS.get(entry.dtype)
    if bits is None:
        return ""
    for extent in entry.shape:
        bits *= extent
        if bits >= _SIZE_LIMIT:
            return f"has the shape {shown_shape(entry.shape)}; expected fewer than 2^64 bits."
    if bits != (end - begin) * 8:
        size = f"{bits // 8:,} bytes" if bits % 8 == 0 else f"{bits:,} bits"
        shape = shown_shape(entry.shape)
        return f"of shape {shape} and type {entry.dtype} takes {size}; expected the {end - begin:,} bytes it is given."
    return ""


def _uncovered(text: _Text, begin: int, end: int, expected: int) -> FormatError:
    for some in text.entries():
        for name, entry in some.entries.items():
            if entry.data_offsets == (begin, end):
                problem = f"begins at byte {begin:,} of the data; expected {expected:,}, where the last one ends."
                return text.refuse_tensor(some, name, f"{problem} The file is damaged.")
    return text.refuse(_LENGTH_BYTES, f"names no tensor at byte {expected:,} of the data")


def _stored(text: _Text) -> Iterator[StoredTensor]:
    for some in text.entries():
        for name, entry in some.entries.items():
            begin, end = entry.data_offsets
            kind = entry.dtype if entry.dtype in SAFETENSORS_BITS else f"unknown type {entry.dtype}"
            yield StoredTensor(name, entry.shape, kind, end - begin, text.stop + begin)
