"""Headers of GGUF files, sound ones and such that break a rule."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.forge import Pair, Stated, gguf
from tensors.errors import FormatError
from tensors.gguf import read_header
from tensors.gguf_values import Cursor
from tensors.header import StoredTensor
from tensors.metadata import ArraySummary
from tensors.sources import BytesSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensors.header import FileHeader

PAIRS = (
    Pair("general.architecture", "str", "llama"),
    Pair("u8", "u8", 200),
    Pair("i8", "i8", -100),
    Pair("u16", "u16", 60000),
    Pair("i16", "i16", -30000),
    Pair("u32", "u32", 4_000_000_000),
    Pair("i32", "i32", -2_000_000_000),
    Pair("f32", "f32", 0.5),
    Pair("bool", "bool", 1),
    Pair("u64", "u64", 2**63),
    Pair("i64", "i64", -(2**63)),
    Pair("f64", "f64", 0.1),
    Pair("heads", "i32", [8, 8, 0]),
    Pair("flags", "bool", [1, 0]),
    Pair("tags", "str", ["a", "", "späť"]),
    Pair("empty", "u8", []),
    Pair("tokenizer.ggml.tokens", "str", ["a", "b"]),
    Pair("tokenizer.ggml.scores", "f32", [0.0, 1.0]),
    Pair("long", "u32", list(range(1025))),
)
VALUES = {
    "general.architecture": "llama",
    "u8": 200,
    "i8": -100,
    "u16": 60000,
    "i16": -30000,
    "u32": 4_000_000_000,
    "i32": -2_000_000_000,
    "f32": 0.5,
    "bool": True,
    "u64": 2**63,
    "i64": -(2**63),
    "f64": 0.1,
    "heads": (8, 8, 0),
    "flags": (True, False),
    "tags": ("a", "", "späť"),
    "empty": (),
    "tokenizer.ggml.tokens": ArraySummary("string", 2),
    "tokenizer.ggml.scores": ArraySummary("float32", 2),
    "long": ArraySummary("uint32", 1025),
}


def read(data: bytes, *, allow_unknown_types: bool = False) -> FileHeader:
    """Read bytes as a file named model.gguf."""
    return read_header(BytesSource("model.gguf", data), allow_unknown_types=allow_unknown_types)


def refusal(data: bytes) -> str:
    """Return the message that refuses the bytes."""
    with pytest.raises(FormatError) as caught:
        read(data)
    return str(caught.value)


@pytest.mark.parametrize(("order", "version"), [("<", 2), ("<", 3), (">", 2), (">", 3)])
def test_values_of_every_type_are_read_in_both_byte_orders(order: str, version: int) -> None:
    """Scalars and short arrays are values; vocabularies and long arrays are summaries."""
    assert VALUES == read(gguf(PAIRS, [], order=order, version=version)).metadata


def test_tensors_have_their_shape_outermost_first_and_their_place_in_the_file() -> None:
    stated = [Stated(b"a", (64, 3), 8, 0), Stated(b"b", (), 0, 224), Stated(b"c", (2, 0), 0, 256)]
    data = gguf([], stated, data_bytes=228)
    header = read(data)
    start = len(data) - 228

    assert (
        StoredTensor("a", (3, 64), "Q8_0", 3 * 2 * 34, start),
        StoredTensor("b", (), "F32", 4, start + 224),
        StoredTensor("c", (0, 2), "F32", 0, start + 256),
    ) == header.tensors
    assert start == len(header.raw)


@pytest.mark.parametrize(
    ("data_bytes", "padding_bytes", "missing_bytes"),
    [(0, 24, 36), (35, 24, 1), (36, 24, 0), (64, 52, 0), (100, 88, 0)],
)
def test_bytes_are_conserved_whatever_the_file_lacks_or_has_too_many(
    data_bytes: int, padding_bytes: int, missing_bytes: int
) -> None:
    """Length = header + padding + tensors, less what a sound header promises and the file lacks at its end."""
    header = read(gguf([], [Stated(b"a", (2,), 0, 0), Stated(b"b", (1,), 0, 32)], data_bytes=data_bytes))

    assert (12, padding_bytes, missing_bytes) == (header.tensor_bytes, header.padding_bytes, header.missing_bytes)
    assert len(header.raw) + 12 + padding_bytes == header.size_bytes + missing_bytes


def test_the_alignment_is_that_of_its_key() -> None:
    pairs = [Pair("general.alignment", "u32", 128)]
    stated = [Stated(b"a", (1,), 0, 0), Stated(b"b", (1,), 0, 128)]
    header = read(gguf(pairs, stated, alignment=128, data_bytes=132))

    assert 0 == len(header.raw) % 128
    assert [0, 128] == [tensor.offset - len(header.raw) for tensor in header.tensors]


def test_a_file_without_tensors_ends_where_it_likes() -> None:
    """Files of a vocabulary alone are not padded."""
    data = gguf(PAIRS, [])

    assert (len(data), 0) == (len(read(data).raw), read(data).padding_bytes)


def test_text_that_is_no_utf_8_is_escaped() -> None:
    """The format's own reader takes such names, so they are listed."""
    (tensor,) = read(gguf([], [Stated(b"a\xff\0b", (1,), 0, 0)], data_bytes=4)).tensors

    assert "a\\xff" == tensor.name


def test_a_string_above_64_kib_is_a_summary() -> None:
    header = read(gguf([Pair("license", "str", "x" * (2**16 + 1)), Pair("name", "str", "y" * 2**16)], []))

    assert {"license": ArraySummary("string", 1), "name": "y" * 2**16} == header.metadata


def test_only_a_mebibyte_of_values_is_kept() -> None:
    """Sixteen strings of 64 KiB fit less their keys; what follows is summed up, short values too."""
    pairs = [Pair(f"key{number}", "str", "x" * 2**16) for number in range(18)]
    kept = [value for value in read(gguf(pairs, [])).metadata.values() if isinstance(value, str)]

    assert 15 == len(kept)


def test_an_unknown_type_may_be_listed_with_the_bytes_up_to_the_next_tensor() -> None:
    stated = [Stated(b"a", (7,), 200, 0), Stated(b"b", (1,), 0, 64), Stated(b"c", (9,), 201, 96)]
    data = gguf([], stated, data_bytes=130)
    header = read(data, allow_unknown_types=True)

    assert [("type 200", 64), ("F32", 4), ("type 201", 34)] == [(t.type, t.size_bytes) for t in header.tensors]
    assert len(data) == len(header.raw) + header.tensor_bytes + header.padding_bytes


END = "the file ends inside its header; expected bytes up to {} at least. Fetch the file again."
NO_KIND = (
    "expected a scalar, a string or an array of them (0 to 12, no arrays of arrays). "
    "The file is damaged or newer than this reader."
)
NO_ROOM = "expected at most 0 in the 0 bytes that are left. Fetch the file again."
TOO_MANY = "expected fewer than 2^64 bytes. The file is damaged."
NEWER = "known types are 0 to 42, and 97 to 399 of ik_llama.cpp, each with gaps. Is the file newer than this reader?"
ONE_PAIR = gguf([Pair("a", "u8", 1)], [])[:33]
REFUSED = {
    "empty": (b"", 'byte 0: the file is empty; expected "GGUF". Fetch the file again.'),
    "a page": (b"<!DOCTYPE html>", 'byte 0: begins with "<!DO"; expected "GGUF". Is this a GGUF file?'),
    "controls": (b"\x1b[31m...", 'byte 0: begins with "\\x1b[31"; expected "GGUF". Is this a GGUF file?'),
    "magic alone": (b"GGUF", f"byte 4: {END.format(8)}"),
    "version 1": (gguf([], [], version=1), "byte 4: GGUF version 1; expected 2 or 3. Convert the model anew."),
    "cut": (gguf([], [])[:20], f"byte 20: {END.format(24)}"),
    "many tensors": (
        gguf([], [], tensor_count=2**63),
        f"byte 8: announces {2**63:,} tensors; expected at most 0 in a file of 24 bytes. Fetch the file again.",
    ),
    "many pairs": (
        gguf([Pair("a", "u8", 1)] * 3, [], pair_count=10**9),
        f"byte 8: announces {10**9:,} key-value pairs; expected at most 3 in a file of 66 bytes. Fetch the file again.",
    ),
    "empty key": (
        gguf([Pair("", "u16", 1)], []),
        "byte 24: a key is empty; expected a name. The file is damaged.",
    ),
    "key twice": (
        gguf([Pair("a", "u8", 1)] * 2, []),
        'byte 38: key "a" is there twice; expected every key once. Convert it anew.',
    ),
    "kind 13": (
        ONE_PAIR + struct.pack("<IQ", 13, 0),
        f'byte 33: the value of key "a" has type 13; {NO_KIND}',
    ),
    "array of arrays": (
        ONE_PAIR + struct.pack("<IIQ", 9, 9, 1),
        f'byte 37: the value of key "a" has type 9; {NO_KIND}',
    ),
    "long array": (
        ONE_PAIR + struct.pack("<IIQ", 9, 5, 2**62),
        f'byte 37: the array of key "a" has {2**62:,} entries; {NO_ROOM}',
    ),
    "signed alignment": (
        gguf([Pair("general.alignment", "i32", 32)], []),
        "byte 24: general.alignment has value type 5; expected 4 (uint32). Convert the model anew.",
    ),
    "odd alignment": (
        gguf([Pair("general.alignment", "u32", 13)], []),
        "byte 0: general.alignment is 13; expected a power of 2. Convert the model anew.",
    ),
    "long name": (
        gguf([], [Stated(b"n" * 64, (1,), 0, 0)]),
        "byte 24: the name of a tensor is 64 bytes long; expected at most 63. The file is damaged.",
    ),
    "name twice": (
        gguf([], [Stated(b"a", (1,), 0, 0), Stated(b"a", (1,), 0, 32)]),
        'byte 57: tensor "a" is there twice; expected every name once. Convert the model anew.',
    ),
    "five dimensions": (
        gguf([], [Stated(b"a", (1, 1, 1, 1, 1), 0, 0)]),
        'byte 24: tensor "a" has 5 dimensions; expected at most 4. The file is damaged.',
    ),
    "negative extent": (
        gguf([], [Stated(b"a", (2**64 - 1,), 0, 0)]),
        'byte 24: tensor "a" has an extent of -1; expected 0 or more. The file is damaged.',
    ),
    "many values": (
        gguf([], [Stated(b"a", (2**32, 2**31), 0, 0)]),
        f'byte 24: tensor "a" has the shape [{2**31}, {2**32}]; expected fewer than 2^63 values. The file is damaged.',
    ),
    "many bytes": (
        gguf([], [Stated(b"a", (2**61, 3), 27, 0)]),
        f'byte 24: tensor "a" has the shape [3, {2**61}] of type I64; {TOO_MANY}',
    ),
    "half a block": (
        gguf([], [Stated(b"a", (100,), 12, 0)]),
        'byte 24: tensor "a" has rows of 100 values; expected whole blocks of 256 (Q4_K). The file is damaged.',
    ),
    "removed type": (
        gguf([], [Stated(b"a", (1,), 4, 0)]),
        f'byte 24: tensor "a" has type 4; {NEWER}',
    ),
    "misaligned": (
        gguf([], [Stated(b"a", (1,), 0, 0), Stated(b"b", (1,), 0, 16)]),
        'byte 57: tensor "b" has offset 16; expected 32. The file is damaged.',
    ),
    "too much in all": (
        gguf([], [Stated(b"a", (2**60 - 4,), 27, 0), Stated(b"b", (2**60 + 4,), 27, 2**63 - 32)]),
        f'byte 57: tensor "b" ends at byte {2**64:,} of the data; expected fewer than 2^64. The file is damaged.',
    ),
    "no padding": (gguf([], [Stated(b"a", (1,), 0, 0)], alignment=1), f"byte 57: {END.format(64)}"),
}


@pytest.mark.parametrize("broken", REFUSED)
def test_a_header_that_breaks_a_rule_is_refused_with_its_place(broken: str) -> None:
    """One line each: where, what is there, what was expected, what to do."""
    data, message = REFUSED[broken]

    assert f"model.gguf, {message}" == refusal(data)


def test_a_key_is_at_most_65535_bytes_long() -> None:
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 65536) + b"k" * 70_000

    assert "model.gguf, byte 24: a key is 65,536 bytes long; expected at most 65,535. The file is damaged." == refusal(
        data
    )


def test_keys_of_more_than_a_mebibyte_in_all_are_refused() -> None:
    pairs = [Pair(f"{number}" + "k" * 60_000, "u8", 0) for number in range(20)]

    assert "the keys take more than 1,048,576 bytes; expected a few KiB of them." in refusal(gguf(pairs, []))


def test_a_header_beyond_128_mib_is_refused_unread() -> None:
    """A sparse file may promise any length; nothing is fetched for what is too long anyway."""

    class Sparse(BytesSource):
        """Five GiB, of which the first bytes are there."""

        size = 5 * 2**30

    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"k" + struct.pack("<IIQ", 9, 0, 2**32)
    source = Sparse("model.gguf", data + bytes(2**19))
    source.size = 5 * 2**30
    with pytest.raises(FormatError) as caught:
        read_header(source, allow_unknown_types=False)

    assert str(caught.value).endswith(
        "the header runs on to byte 4,294,967,345; headers of more than 134,217,728 bytes are not read. "
        "Is the file damaged?"
    )
    assert source.bytes_read < 2**20


def test_a_header_is_fetched_in_few_windows_and_not_much_beyond_its_end() -> None:
    """The end of a header is unknown beforehand; a file of 4 MiB of header and 16 of data gives 4.5 at most."""
    words = [f"word number {number}" for number in range(175_000)]
    data = gguf([Pair("tokenizer.ggml.tokens", "str", words)], [Stated(b"a", (2**22,), 0, 0)], data_bytes=2**24)
    source = BytesSource("model.gguf", data)
    header = read_header(source, allow_unknown_types=False)

    assert 4 * 2**20 < len(header.raw) < 4.6 * 2**20
    assert source.bytes_read <= 1.25 * len(header.raw) + 2**19
    assert source.reads <= 16


TEXTS = st.lists(
    st.sampled_from([b"", b"a", b"\0" * 9, b"\1" + b"\0" * 7, b"x" * 95, b"x" * 97, b"y" * 300]), min_size=1
)


@given(texts=TEXTS, repeats=st.integers(1, 9000), order=st.sampled_from("<>"))
def test_strings_are_stepped_over_to_the_same_byte_whatever_their_lengths(
    texts: Sequence[bytes], repeats: int, order: str
) -> None:
    """Runs of short strings are matched by one pattern, the rest one by one; both end where the strings do."""
    written = b"".join(struct.pack(f"{order}Q", len(text)) + text for text in texts)
    count = max(1, repeats // len(texts))
    data = written * count
    cursor = Cursor(BytesSource("model.gguf", data + b"GGUF"))
    cursor.order = order
    cursor.skip_strings(count * len(texts))

    assert len(data) == cursor.position


def test_a_length_beyond_every_index_ends_the_header() -> None:
    """In the middle of a run, where the pattern would be asked to match there."""
    data = struct.pack("<Q", 1) + b"a"
    cursor = Cursor(BytesSource("model.gguf", data * 5000 + struct.pack("<Q", 2**64 - 1) + data * 5000))

    with pytest.raises(FormatError, match=re.escape("the file ends inside its header")):
        cursor.skip_strings(10_001)
