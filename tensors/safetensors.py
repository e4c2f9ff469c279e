"""Headers of safetensors files.

The format: https://github.com/huggingface/safetensors#format. What is sound is what its own parser accepts,
https://github.com/huggingface/safetensors/blob/000a16f45cff0d4169ca15b67ea002895234d671/safetensors/src/tensor.rs:
tensors cover the data without a hole or an overlap, in any order. Beyond it we take files whose data ends early.

A header may have 100 MB, so it is decoded in pieces: once to check it, which keeps two numbers a tensor, and, where it
is sound, once more to list its tensors.
"""

from __future__ import annotations

import heapq
import re
from array import array
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import msgspec

from tensors.errors import FormatError
from tensors.header import FileHeader, Prefix, StoredTensor
from tensors.text import quoted, shown_shape
from tensors.types import SAFETENSORS_BITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tensors.sources import Source

__all__ = ["HEADER_LIMIT_BYTES", "read_header"]

HEADER_LIMIT_BYTES: Final = 100_000_000
"""The limit of the format's own parser."""

_LENGTH_BYTES = 8
_SIZE_LIMIT = 2**64
_PIECE_BYTES = 2**20

_SPACE = rb"[ \t\n\r]*+"
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_OBJECT = rb"\{(?:[^\"{}]++|" + _STRING + rb")*+\}"
_ENTRY = re.compile(_SPACE.join((b"", b"(" + _STRING + b")", b":", b"(" + _OBJECT + b")", b"([,}])")), re.DOTALL)
_OPENING = re.compile(_SPACE + rb"\{(?:(" + _SPACE + rb"\}))?")
_CLOSING = re.compile(_SPACE + rb"\Z")

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _Entry(msgspec.Struct, gc=False):
    dtype: str
    shape: tuple[_Count, ...]
    data_offsets: tuple[_Count, _Count]


class _Piece(NamedTuple):
    """Some entries of a header, and where the text they stand in begins and ends in the file."""

    entries: dict[str, _Entry]
    start: int
    stop: int


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
    """The JSON text of a header and its pieces."""

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
        self._kept: list[_Piece] | None = None

    def pieces(self) -> Iterable[_Piece]:
        """Return the entries that describe tensors, about a MiB of text at a time; a short header is decoded once."""
        if self.stop > _PIECE_BYTES:
            return self._decoded()
        if self._kept is None:
            self._kept = list(self._decoded())
        return self._kept

    def _decoded(self) -> Iterator[_Piece]:
        opening = _OPENING.match(self.data, _LENGTH_BYTES)
        if opening is None:
            raise self.refuse(_LENGTH_BYTES, "is no JSON object")
        position = opening.end()
        ended = opening[1] is not None
        start = position
        while not ended:
            entry = _ENTRY.match(self.data, position)
            if entry is None:
                raise self.refuse(position, "has no entry of the form NAME: {…} here")
            ended = entry[3] == b"}"
            is_text = entry[1] == b'"__metadata__"'
            if is_text:
                self._check_texts(entry[2], position)
            if is_text or ended or entry.end() - start > _PIECE_BYTES:
                stop = position if is_text else entry.end()
                if stop > start:
                    yield self._piece(start, stop)
                start = entry.end()
            position = entry.end()
        if _CLOSING.match(self.data, position) is None:
            raise self.refuse(position, "goes on behind its closing brace")

    def refuse(self, position: int, problem: str) -> FormatError:
        """Return the error for a header that breaks the form of JSON, or of an entry."""
        expected = "expected an object of tensors with dtype, shape and data_offsets"
        return FormatError(self.location, position, f"the header {problem}; {expected}. The file is damaged.")

    def refuse_tensor(self, piece: _Piece, name: str, problem: str) -> FormatError:
        """Return the error for a tensor of a piece, with the place of its entry."""
        position = piece.start
        while (entry := _ENTRY.match(self.data, position)) is not None:
            if name in _decode_keys(b"{" + entry[1] + b":null}"):
                break
            position = entry.end()
        return FormatError(self.location, position, f"tensor {quoted(name)} {problem}")

    def _check_texts(self, value: bytes, position: int) -> None:
        try:
            _decode_texts(value)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            problem = f'"__metadata__" is not an object of strings ({error}); expected one.'
            raise FormatError(self.location, position, f"{problem} The file is damaged.") from None

    def _piece(self, start: int, stop: int) -> _Piece:
        text = b"{" + bytes(memoryview(self.data)[start:stop]).rstrip(b" \t\r\n")[:-1] + b"}"
        try:
            return _Piece(_decode_entries(text.decode()), start, stop)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise self._culprit(start, stop, error) from None

    def _culprit(self, start: int, stop: int, error: Exception) -> FormatError:
        """Find the entry of a piece that cannot be decoded."""
        while start < stop:
            entry = _ENTRY.match(self.data, start)
            if entry is None:
                break
            try:
                _decode_entries((b"{" + entry[1] + b":" + entry[2] + b"}").decode())
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as own:
                name = quoted(entry[1].decode("utf-8", "backslashreplace")[1:-1])
                return self.refuse(start, f"has no sound entry for {name} ({own})")
            start = entry.end()
        return self.refuse(start, f"cannot be decoded ({error})")


def _check(text: _Text, *, allow_unknown_types: bool) -> int:
    """Return the bytes of data that the header describes, having seen every entry."""
    runs: list[tuple[array[int], array[int]]] = []
    for piece in text.pieces():
        spans: list[tuple[int, int]] = []
        for name, entry in piece.entries.items():
            if entry.dtype not in SAFETENSORS_BITS and not allow_unknown_types:
                raise text.refuse_tensor(piece, name, _unknown(entry.dtype))
            problem = _misfit(entry)
            if problem:
                raise text.refuse_tensor(piece, name, f"{problem} The file is damaged.")
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
    for piece in text.pieces():
        for name, entry in piece.entries.items():
            if entry.data_offsets == (begin, end):
                problem = f"begins at byte {begin:,} of the data; expected {expected:,}, where the last one ends."
                return text.refuse_tensor(piece, name, f"{problem} The file is damaged.")
    return text.refuse(_LENGTH_BYTES, f"names no tensor at byte {expected:,} of the data")


def _stored(text: _Text) -> Iterator[StoredTensor]:
    for piece in text.pieces():
        for name, entry in piece.entries.items():
            begin, end = entry.data_offsets
            kind = entry.dtype if entry.dtype in SAFETENSORS_BITS else f"unknown type {entry.dtype}"
            yield StoredTensor(name, entry.shape, kind, end - begin, text.stop + begin)
