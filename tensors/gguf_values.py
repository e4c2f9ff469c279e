"""The values of a GGUF header: a cursor over its bytes, strings, numbers and arrays, and the key-value pairs."""

from __future__ import annotations

import re
from functools import cache
from struct import Struct, error
from typing import TYPE_CHECKING, Final

from tensors.errors import FormatError
from tensors.header import Prefix
from tensors.metadata import MAXIMUM_TUPLE, ArraySummary, MetadataValue
from tensors.text import quoted

if TYPE_CHECKING:
    from tensors.sources import Source

__all__ = ["ALIGNMENT_KEY", "HEADER_LIMIT_BYTES", "Cursor", "read_pairs"]

ALIGNMENT_KEY: Final = "general.alignment"
HEADER_LIMIT_BYTES: Final = 128 * 2**20
"""No header in use comes near it: vocabularies make 6 to 20 MB."""

_SCALARS = {
    0: ("uint8", "B"),
    1: ("int8", "b"),
    2: ("uint16", "H"),
    3: ("int16", "h"),
    4: ("uint32", "I"),
    5: ("int32", "i"),
    6: ("float32", "f"),
    7: ("bool", "?"),
    10: ("uint64", "Q"),
    11: ("int64", "q"),
    12: ("float64", "d"),
}
_UINT32, _STRING, _ARRAY = 4, 8, 9
_LONGEST_KEY = 2**16 - 1
_LONGEST_VALUE = 2**16
# What is kept of all keys and values; a value beyond it is a summary. Headers in use keep a few KiB.
_KEPT_BYTES = 2**20
_NUMBER_BYTES = 8
_LEAST_STRING = 8
# Writers put it behind all other parts of a vocabulary.
_LAST_LONG_KEY = "tokenizer.ggml.merges"
_USUAL_STRING_BYTES = 16
# A run of short strings is stepped over by one pattern, twice as fast as string by string; see benchmarks/headers.py.
_RUN = 64
_MANY = 4096
_LONGEST_SHORT = 96
_COMMONEST = 7


class Cursor:
    """A place in the header of a source, and the byte order in which it reads on.

    `later_bytes` is a guess at what comes after all values; a distant source is asked for it with them.
    """

    def __init__(self, source: Source) -> None:
        self.prefix = Prefix(source, HEADER_LIMIT_BYTES)
        self.location = source.location
        self.size = source.size
        self.data = self.prefix.data
        self.position = 0
        self.order = "<"
        self.kept_bytes = 0
        self.later_bytes = 0
        self._seen = 0, 0

    def take(self, codes: str) -> tuple[int, ...]:
        """Read numbers by their `struct` codes and step behind them."""
        layout = _layout(self.order + codes)
        start = self.position
        self.position = stop = start + layout.size
        if stop > len(self.data):
            self.prefix.reach(stop)
        return layout.unpack_from(self.data, start)

    def string(self, longest: int, what: str) -> bytes:
        """Read a string of at most `longest` bytes and step behind it.

        Raises:
            FormatError: it is longer, or the file ends before it does.
        """
        start = self.position
        (length,) = self.take("Q")
        if length > longest:
            problem = f"{what} is {length:,} bytes long; expected at most {longest:,}. The file is damaged."
            raise FormatError(self.location, start, problem)
        start = self.position
        self.position = stop = start + length
        if stop > len(self.data):
            self.prefix.reach(stop)
        return bytes(self.data[start:stop])

    def skip(self, count: int) -> None:
        """Step over `count` bytes."""
        self.prefix.expect(self.position + count + self.later_bytes, sure=False)
        self.prefix.reach(self.position + count)
        self.position += count

    def skip_strings(self, count: int, *, last: bool = False) -> None:
        """Step over `count` strings without a look at their text; `last` says that no other long array follows."""
        length_at = _layout(self.order + "Q").unpack_from
        match_run = _short_strings().match if self.order == "<" and count > _MANY else None
        data, position = self.data, self.position
        self._seen = position, count
        # A hostile length may step beyond every index; `reach` below refuses it.
        while count and position <= self.size:
            found = match_run(data, position) if match_run is not None and count >= _RUN else None
            if found is not None:
                position = found.end()
                count -= _RUN
                continue
            try:
                for _ in range(min(count, _RUN)):
                    position += length_at(data, position)[0] + _LEAST_STRING
                    count -= 1
            except (error, OverflowError):
                self._fetch_strings(position, count, last=last)
        self.prefix.reach(position)
        self.position = position

    def _fetch_strings(self, position: int, count: int, *, last: bool) -> None:
        """Fetch more of an array that goes on at `position` with `count` strings."""
        # Words of a vocabulary grow longer: those of the last window tell most of what is left.
        seen_at, seen_count = self._seen
        seen = seen_count - count
        mean_bytes = (position - seen_at) // max(1, seen) or _USUAL_STRING_BYTES
        self.prefix.expect(position + mean_bytes * count + self.later_bytes, sure=last and seen > count // 8)
        # All of a window is looked at before the next is opened: the more strings, the better the guess.
        if position + _LEAST_STRING > self.prefix.window_end:
            self._seen = position, count
        least_end = position + _LEAST_STRING * count
        open_end = max(self.prefix.window_end, position + _LEAST_STRING)
        self.prefix.reach(least_end if least_end > self.size else min(least_end, open_end))

    def keep(self, size_bytes: int) -> bool:
        """Return whether a value of that size may be kept, and count it if so."""
        keeps = self.kept_bytes + size_bytes <= _KEPT_BYTES
        self.kept_bytes += size_bytes if keeps else 0
        return keeps

    def refuse(self, start: int, problem: str) -> FormatError:
        """Return the error that names a byte of this file."""
        return FormatError(self.location, start, problem)


def read_pairs(cursor: Cursor, count: int) -> dict[str, MetadataValue]:
    """Read `count` key-value pairs.

    Raises:
        FormatError: a key is empty, too long or there twice, a type is none of the format's, or the file ends.
    """
    pairs: dict[str, MetadataValue] = {}
    for _ in range(count):
        start = cursor.position
        key = cursor.string(_LONGEST_KEY, "a key").decode("utf-8", "backslashreplace")
        if not cursor.keep(len(key)):
            raise cursor.refuse(start, f"the keys take more than {_KEPT_BYTES:,} bytes; expected a few KiB of them.")
        if not key:
            raise cursor.refuse(start, "a key is empty; expected a name. The file is damaged.")
        if key in pairs:
            raise cursor.refuse(start, f"key {quoted(key)} is there twice; expected every key once. Convert it anew.")
        (kind,) = cursor.take("I")
        if key == ALIGNMENT_KEY and kind != _UINT32:
            raise cursor.refuse(start, f"{key} has value type {kind}; expected 4 (uint32). Convert the model anew.")
        pairs[key] = _array(cursor, key) if kind == _ARRAY else _value(cursor, key, kind)
    return pairs


def _value(cursor: Cursor, key: str, kind: int) -> MetadataValue:
    if kind == _STRING:
        start = cursor.position
        (length,) = cursor.take("Q")
        if length > _LONGEST_VALUE or not cursor.keep(length):
            cursor.skip(length)
            return ArraySummary("string", 1)
        cursor.position = start
        return cursor.string(length, "a value").decode("utf-8", "backslashreplace")
    if kind not in _SCALARS:
        raise cursor.refuse(cursor.position - 4, _unknown_kind(key, kind))
    return cursor.take(_SCALARS[kind][1])[0]


def _array(cursor: Cursor, key: str) -> MetadataValue:
    start = cursor.position
    kind, length = cursor.take("IQ")
    short = length <= MAXIMUM_TUPLE and not key.startswith("tokenizer.")
    if kind == _STRING:
        _bound(cursor, start, key, length, _LEAST_STRING)
        first = cursor.position
        cursor.skip_strings(length, last=key == _LAST_LONG_KEY)
        if not short or not cursor.keep(cursor.position - first):
            return ArraySummary("string", length)
        cursor.position = first
        texts = (cursor.string(_KEPT_BYTES, "an entry") for _ in range(length))
        return tuple(text.decode("utf-8", "backslashreplace") for text in texts)
    if kind not in _SCALARS:
        raise cursor.refuse(start, _unknown_kind(key, kind))
    name, code = _SCALARS[kind]
    size_bytes = _layout(cursor.order + code).size
    _bound(cursor, start, key, length, size_bytes)
    # Each kept number is an object of its own.
    if short and cursor.keep(length * _NUMBER_BYTES):
        return cursor.take(f"{length}{code}")
    cursor.skip(length * size_bytes)
    return ArraySummary(name, length)


def _bound(cursor: Cursor, start: int, key: str, length: int, least_bytes: int) -> None:
    remaining = cursor.size - cursor.position
    if length * least_bytes > remaining:
        raise cursor.refuse(
            start,
            f"the array of key {quoted(key)} has {length:,} entries; expected at most {remaining // least_bytes:,} in "
            f"the {remaining:,} bytes that are left. Fetch the file again.",
        )


def _unknown_kind(key: str, kind: int) -> str:
    return (
        f"the value of key {quoted(key)} has type {kind}; expected a scalar, a string or an array of them (0 to 12, "
        "no arrays of arrays). The file is damaged or newer than this reader."
    )


@cache
def _short_strings() -> re.Pattern[bytes]:
    """Return the pattern of a run of strings of 1 to 96 bytes each, commonest lengths first, little-endian."""
    lengths = sorted(range(1, _LONGEST_SHORT + 1), key=lambda length: abs(length - _COMMONEST))
    texts = (re.escape(length.to_bytes(1, "little")) + rb"\0" * 7 + b".{%d}" % length for length in lengths)
    return re.compile(b"(?>" + b"|".join(texts) + b"){%d}+" % _RUN, re.DOTALL)


@cache
def _layout(codes: str) -> Struct:
    return Struct(codes)
