"""Headers of safetensors files, sound ones and such that break a rule."""

from __future__ import annotations

import json
import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from benchmarks.forge import safetensors as forged
from tensors.errors import FormatError
from tensors.header import FileHeader, StoredTensor
from tensors.safetensors import read_header
from tensors.sources import BytesSource
from tensors.types import SAFETENSORS_BITS

SOUND = {
    "b": ("BF16", (2, 3), (4, 16)),
    "a": ("F32", (), (0, 4)),
    "empty": ("I64", (0, 9), (16, 16)),
    "c": ("F4", (4, 8), (16, 32)),
}


def read(data: bytes, *, allow_unknown_types: bool = False) -> FileHeader:
    """Read bytes as a file named model.safetensors."""
    return read_header(BytesSource("model.safetensors", data), allow_unknown_types=allow_unknown_types)


def with_header(text: bytes, data: bytes = b"") -> bytes:
    """Return a file whose header is any text."""
    return struct.pack("<Q", len(text)) + text + data


def test_tensors_are_listed_as_they_stand_with_their_place_in_the_file() -> None:
    data = forged(SOUND, metadata={"format": "pt"})
    header = read(data)
    start = len(data) - 32

    assert (
        StoredTensor("b", (2, 3), "BF16", 12, start + 4),
        StoredTensor("a", (), "F32", 4, start),
        StoredTensor("empty", (0, 9), "I64", 0, start + 16),
        StoredTensor("c", (4, 8), "F4", 16, start + 16),
    ) == header.tensors
    assert (start, 32, 0, 0) == (
        len(header.raw),
        header.tensor_bytes,
        header.padding_bytes,
        header.missing_bytes,
    )


ARRAYS = st.builds(
    np.zeros,
    st.lists(st.integers(0, 4), max_size=3),
    st.sampled_from(["float32", "float16", "int8", "bool", "uint64"]),
)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)


@given(st.dictionaries(NAMES, ARRAYS, min_size=1, max_size=5), st.none() | st.dictionaries(NAMES, NAMES, max_size=3))
def test_whatever_the_format_writes_is_read_back(
    arrays: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]], metadata: dict[str, str] | None
) -> None:
    """Names, shapes and bytes of files that the format's own library wrote."""
    listed = {tensor.name: (tensor.shape, tensor.size_bytes) for tensor in read(save(arrays, metadata)).tensors}

    assert {name: (array.shape, array.nbytes) for name, array in arrays.items()} == listed


@pytest.mark.parametrize("missing", [1, 31, 32])
def test_data_may_be_missing_behind_a_sound_header(missing: int) -> None:
    assert missing == read(forged(SOUND, data_bytes=32 - missing)).missing_bytes


def test_an_unknown_type_may_be_listed_with_the_bytes_between_its_offsets() -> None:
    header = read(forged({"a": ("Q4_K", (256,), (0, 144))}), allow_unknown_types=True)

    assert (StoredTensor("a", (256,), "unknown type Q4_K", 144, len(header.raw)),) == header.tensors


def test_a_header_of_many_pieces_is_read_like_one_of_few() -> None:
    """In any order of its entries; beyond a MiB a header is decoded in pieces, twice."""
    count = 30_000
    tensors = {f"tensor number {number}": ("F32", (1,), (4 * number, 4 * number + 4)) for number in range(count)}
    names = list(tensors)
    random.Random(0).shuffle(names)
    header = read(forged({name: tensors[name] for name in names}, metadata={"format": "pt"}))

    assert names == [tensor.name for tensor in header.tensors]
    assert 4 * count == header.tensor_bytes


def test_a_hole_is_found_in_a_header_of_many_pieces() -> None:
    tensors = {f"tensor number {number}": ("F32", (1,), (4 * number, 4 * number + 4)) for number in range(30_000)}
    del tensors["tensor number 777"]
    with pytest.raises(FormatError) as caught:
        read(forged(tensors))
    (place,) = (json.dumps(tensors, separators=(",", ":")).find('"tensor number 778"'),)

    assert caught.value.offset > place > 0
    assert (
        'tensor "tensor number 778" begins at byte 3,112 of the data; expected 3,108, where the last one ends. '
        "The file is damaged."
    ) == caught.value.problem


DAMAGED = "The file is damaged."
SUCH = "expected an object of tensors with dtype, shape and data_offsets. The file is damaged."
END = "the file ends inside its header; expected bytes up to {} at least. Fetch the file again."
NO_UTF_8 = "'utf-8' codec can't decode byte 0xff in position 3: invalid start byte"
TEXTS = "expected an object of strings. The file is damaged."
REFUSED = {
    "short": (b"abc", f"byte 3: {END.format(8)}"),
    "cut": (forged(SOUND)[:20], f"byte 20: {END.format(240)}"),
    "too long": (
        struct.pack("<Q", 10**8 + 1) + b"{}",
        "byte 0: announces a header of 100,000,001 bytes; expected at most 100,000,000. Is this a safetensors file?",
    ),
    "empty": (with_header(b""), f"byte 8: the header is no JSON object; {SUCH}"),
    "no JSON": (with_header(b"abc"), f"byte 8: the header is no JSON object; {SUCH}"),
    "deep": (
        with_header(b'{"a":' + b"[" * 40_000),
        f"byte 9: the header has no sound entry here; {SUCH}",
    ),
    "behind": (with_header(b"{}x"), f"byte 10: the header goes on behind its closing brace; {SUCH}"),
    "no UTF-8": (
        with_header(b'{"a\xff":{}}'),
        f'byte 9: the header has no sound entry for "a�": {NO_UTF_8}; {SUCH}',
    ),
    "no shape": (
        with_header(b'{"a":{"dtype":"F32","data_offsets":[0,4]}}'),
        'byte 9: the header has no sound entry for "a": object missing required field `shape` at the top; ' + SUCH,
    ),
    "float": (
        with_header(b'{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}'),
        'byte 9: the header has no sound entry for "a": expected `int`, got `float` at shape[0]; ' + SUCH,
    ),
    "negative": (
        with_header(b'{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}'),
        'byte 9: the header has no sound entry for "a": expected `int` >= 0 at shape[0]; ' + SUCH,
    ),
    "metadata": (
        with_header(b'{"__metadata__":{"a":1}}'),
        f'byte 25: "__metadata__" has no sound entry here; {TEXTS}',
    ),
    "type": (
        forged({"ok": ("U8", (1,), (0, 1)), "a": ("Q4_K", (256,), (1, 145))}),
        'byte 62: tensor "a" has type "Q4_K"; known types are '
        + ", ".join(SAFETENSORS_BITS)
        + ". Is the file newer than this reader?",
    ),
    "backwards": (
        forged({"a": ("F32", (), (4, 0))}),
        f'byte 9: tensor "a" ends at byte 0 of the data and begins at 4; expected it the other way. {DAMAGED}',
    ),
    "overflow": (
        forged({"a": ("F32", (2**32, 2**32, 0), (0, 0))}),
        f'byte 9: tensor "a" has the shape [4294967296, 4294967296, 0]; expected fewer than 2^64 bits. {DAMAGED}',
    ),
    "size": (
        forged({"a": ("F32", (3,), (0, 16))}),
        f'byte 9: tensor "a" of shape [3] and type F32 takes 12 bytes; expected the 16 bytes it is given. {DAMAGED}',
    ),
    "half a byte": (
        forged({"a": ("F4", (3,), (0, 1))}),
        f'byte 9: tensor "a" of shape [3] and type F4 takes 12 bits; expected the 1 bytes it is given. {DAMAGED}',
    ),
    "hole": (
        forged({"a": ("U8", (1,), (0, 1)), "b": ("U8", (1,), (2, 3))}),
        'byte 61: tensor "b" begins at byte 2 of the data; expected 1, where the last one ends. The file is damaged.',
    ),
    "overlap": (
        forged({"a": ("U8", (2,), (0, 2)), "b": ("U8", (2,), (1, 3))}),
        'byte 61: tensor "b" begins at byte 1 of the data; expected 2, where the last one ends. The file is damaged.',
    ),
    "name twice": (
        with_header(
            b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}'
        ),
        'byte 9: tensor "a" begins at byte 1 of the data; expected 0, where the last one ends. The file is damaged.',
    ),
    "trailing": (
        forged({"a": ("U8", (1,), (0, 1))}, data_bytes=3),
        "byte 65: 2 bytes follow the last tensor; expected the file to end here. The file is damaged.",
    ),
}


@pytest.mark.parametrize("broken", REFUSED)
def test_a_header_that_breaks_a_rule_is_refused_with_its_place(broken: str) -> None:
    """One line each: where, what is there, what was expected, what to do."""
    data, message = REFUSED[broken]
    with pytest.raises(FormatError) as caught:
        read(data)

    assert f"model.safetensors, {message}" == str(caught.value)
