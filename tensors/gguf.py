"""GGUF headers, versions 2 and 3, in either byte order.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. What is sound is what llama.cpp loads, so the
checks are those of ggml/src/gguf.cpp at
https://github.com/ggml-org/llama.cpp/blob/067d44f6c48459f7a82dbafc6fbd0bae97755a4e/ggml/src/gguf.cpp
Beyond it we take big-endian files, types of ik_llama.cpp, and files whose data ends early. Vocabularies are stepped
over, never decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tensors.gguf_values import ALIGNMENT_KEY, Cursor, read_pairs
from tensors.header import FileHeader, StoredTensor
from tensors.text import quoted, shown_shape
from tensors.types import GGML_TYPES, BlockType, known_ggml_types, tensor_bytes

if TYPE_CHECKING:
    from tensors.sources import Source

__all__ = ["MAGIC", "read_header"]

MAGIC: Final = b"GGUF"
_ORDERS = {b"\2\0\0\0": "<", b"\3\0\0\0": "<", b"\0\0\0\2": ">", b"\0\0\0\3": ">"}
_DEFAULT_ALIGNMENT = 32
_LONGEST_NAME = 63
_MOST_DIMENSIONS = 4
_INT64_MAX = 2**63 - 1
_SIZE_LIMIT = 2**64
# The least bytes of an entry bound how many entries a file can hold.
_LEAST_PAIR_BYTES = 8 + 1 + 4 + 1
_LEAST_TENSOR_BYTES = 8 + 4 + 4 + 8
_USUAL_TENSOR_BYTES = 64
# And these what we are ready to keep of them: the largest headers in use have some 100 pairs and 2,000 tensors.
_MOST_PAIRS = 2**14
_MOST_TENSORS = 2**15


class _Stated(NamedTuple):
    """A tensor as stated: `size_bytes` is None for a type that is not known, `offset` counts from the data start."""

    name: str
    shape: tuple[int, ...]
    type: str
    size_bytes: int | None
    offset: int
    stated_at: int


def read_header(source: Source, *, allow_unknown_types: bool) -> FileHeader:
    """Read the header of one GGUF file.

    With `allow_unknown_types`, a tensor of a type that is not known is listed with the bytes up to the next tensor.

    Raises:
        FormatError: the header is not sound; the message says where.
        SourceError: the source refuses to be read.
    """
    cursor = Cursor(source)
    tensor_count, pair_count = _start(cursor)
    metadata = read_pairs(cursor, pair_count)
    alignment = metadata.get(ALIGNMENT_KEY, _DEFAULT_ALIGNMENT)
    assert isinstance(alignment, int)  # noqa: S101
    if alignment < 1 or alignment & (alignment - 1):
        raise cursor.refuse(0, f"{ALIGNMENT_KEY} is {alignment}; expected a power of 2. Convert the model anew.")
    stated = _tensors(cursor, tensor_count, allow_unknown_types=allow_unknown_types)
    data_start = _padded(cursor.position, alignment)
    if stated:
        cursor.prefix.reach(data_start)
    else:
        data_start = min(data_start, source.size)
        cursor.prefix.reach(data_start)
    tensors, end = _laid_out(cursor, stated, data_start, alignment)
    tensor_bytes = sum(tensor.size_bytes for tensor in tensors)
    missing = max(0, end - source.size)
    return FileHeader(
        name=source.name,
        location=source.location,
        size_bytes=source.size,
        raw=memoryview(cursor.data)[:data_start],
        metadata=metadata,
        tensors=tensors,
        tensor_bytes=tensor_bytes,
        padding_bytes=source.size + missing - data_start - tensor_bytes,
        missing_bytes=missing,
    )


def _start(cursor: Cursor) -> tuple[int, int]:
    cursor.prefix.reach(min(8, cursor.size))
    magic, version = bytes(cursor.data[:4]), bytes(cursor.data[4:8])
    if not cursor.size:
        raise cursor.refuse(0, f"the file is empty; expected {_bytes(MAGIC)}. Fetch the file again.")
    if magic != MAGIC:
        raise cursor.refuse(0, f"begins with {_bytes(magic)}; expected {_bytes(MAGIC)}. Is this a GGUF file?")
    cursor.prefix.reach(8)
    if version not in _ORDERS:
        number = int.from_bytes(version, "little")
        raise cursor.refuse(4, f"GGUF version {number}; expected 2 or 3. Convert the model anew.")
    cursor.order = _ORDERS[version]
    cursor.position = 8
    tensor_count, pair_count = cursor.take("QQ")
    for what, count, least, limit in (
        ("tensors", tensor_count, _LEAST_TENSOR_BYTES, _MOST_TENSORS),
        ("key-value pairs", pair_count, _LEAST_PAIR_BYTES, _MOST_PAIRS),
    ):
        most = min(limit, (cursor.size - cursor.position) // least)
        if count > most:
            problem = f"announces {count:,} {what}; expected at most {most:,} in a file of {cursor.size:,} bytes."
            raise cursor.refuse(8, f"{problem} Fetch the file again.")
    cursor.later_bytes = tensor_count * _USUAL_TENSOR_BYTES
    return tensor_count, pair_count


def _tensors(cursor: Cursor, count: int, *, allow_unknown_types: bool) -> list[_Stated]:
    stated: list[_Stated] = []
    names: set[str] = set()
    for _ in range(count):
        tensor = _tensor(cursor)
        if tensor.name in names:
            problem = f"tensor {quoted(tensor.name)} is there twice; expected every name once. Convert the model anew."
            raise cursor.refuse(tensor.stated_at, problem)
        if tensor.size_bytes is None and not allow_unknown_types:
            problem = f"tensor {quoted(tensor.name)} has {tensor.type}; known types are {known_ggml_types()}."
            raise cursor.refuse(tensor.stated_at, f"{problem} Is the file newer than this reader?")
        names.add(tensor.name)
        stated.append(tensor)
    return stated


def _tensor(cursor: Cursor) -> _Stated:
    start = cursor.position
    raw = cursor.string(_LONGEST_NAME, "the name of a tensor")
    # C strings end at their first zero byte.
    name = raw.partition(b"\0")[0].decode("utf-8", "backslashreplace")
    (dimensions,) = cursor.take("I")
    if dimensions > _MOST_DIMENSIONS:
        problem = f"tensor {quoted(name)} has {dimensions:,} dimensions; expected at most {_MOST_DIMENSIONS}."
        raise cursor.refuse(start, f"{problem} The file is damaged.")
    *extents, number, offset = cursor.take(f"{dimensions}qiQ")
    shape = tuple(reversed(extents))
    kind = GGML_TYPES.get(number)
    problem = _impossible(shape)
    if kind is None:
        name_of_kind, size = f"type {number}", None
    else:
        problem = problem or _misfit(kind, shape)
        name_of_kind, size = kind.name, 0 if problem else tensor_bytes(kind, shape)
    if problem:
        raise cursor.refuse(start, f"tensor {quoted(name)} {problem} The file is damaged.")
    return _Stated(name, shape, name_of_kind, size, offset, start)


def _impossible(shape: tuple[int, ...]) -> str:
    """Say what is wrong with a shape by the counts of ggml, which are signed 64-bit numbers."""
    elements = 1
    for extent in reversed(shape):
        if extent < 0:
            return f"has an extent of {extent:,}; expected 0 or more."
        if extent and elements and _INT64_MAX // extent <= elements and extent > 1:
            return f"has the shape {shown_shape(shape)}; expected fewer than 2^63 values."
        elements *= extent
    return ""


def _misfit(kind: BlockType, shape: tuple[int, ...]) -> str:
    row = shape[-1] if shape else 1
    if row % kind.block_elements:
        return f"has rows of {row:,} values; expected whole blocks of {kind.block_elements} ({kind.name})."
    if tensor_bytes(kind, shape) >= _SIZE_LIMIT:
        return f"has the shape {shown_shape(shape)} of type {kind.name}; expected fewer than 2^64 bytes."
    return ""


def _laid_out(
    cursor: Cursor, stated: list[_Stated], data_start: int, alignment: int
) -> tuple[tuple[StoredTensor, ...], int]:
    """Return the tensors at their places and the first byte behind the last; order, padding and overlap are checked."""
    tensors: list[StoredTensor] = []
    expected = end = 0
    for index, tensor in enumerate(stated):
        if tensor.offset != expected:
            problem = f"tensor {quoted(tensor.name)} has offset {tensor.offset:,}; expected {expected:,}."
            raise cursor.refuse(tensor.stated_at, f"{problem} The file is damaged.")
        size = tensor.size_bytes
        if size is None:
            following = stated[index + 1].offset if index + 1 < len(stated) else cursor.size - data_start
            size = max(0, following - tensor.offset)
        end = expected + size
        expected = _padded(end, alignment)
        if expected >= _SIZE_LIMIT:
            problem = f"tensor {quoted(tensor.name)} ends at byte {end:,} of the data; expected fewer than 2^64."
            raise cursor.refuse(tensor.stated_at, f"{problem} The file is damaged.")
        tensors.append(StoredTensor(tensor.name, tensor.shape, tensor.type, size, data_start + tensor.offset))
    return tuple(tensors), data_start + end


def _padded(position: int, alignment: int) -> int:
    return (position + alignment - 1) // alignment * alignment


def _bytes(data: bytes) -> str:
    return quoted(data.decode("latin-1"))
