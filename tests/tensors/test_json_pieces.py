"""Large JSON objects, taken apart entry by entry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensors.json_pieces import OBJECTS, TEXTS, Form, MalformedError, pieces

if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS = st.text(st.characters(codec="utf-8"), max_size=8)
FLAT = st.dictionaries(KEYS, st.one_of(KEYS, st.integers(), st.lists(st.integers(), max_size=3)), max_size=3)


def joined(text: bytes, form: Form) -> dict[str, object]:
    """Return all entries of all pieces, those alone under their key."""
    data = bytearray(text)
    found: dict[str, object] = {}
    for piece in pieces(data, 0, len(data), form):
        value = bytes(data[piece.start : piece.stop])
        found |= {"__metadata__": json.loads(value)} if piece.alone else json.loads(b"{" + value + b"}")
    return found


@given(
    document=st.dictionaries(KEYS, FLAT, max_size=6),
    metadata=st.none() | st.dictionaries(KEYS, KEYS, max_size=3),
    indent=st.sampled_from([None, 1, "\t"]),
    ascii_only=st.booleans(),
)
def test_the_pieces_of_an_object_hold_its_entries(
    document: Mapping[str, object], metadata: Mapping[str, str] | None, indent: int | str | None, ascii_only: bool
) -> None:
    """Whatever the names, escapes and spaces, and wherever the entry stands that is given by itself."""
    items = list(document.items())
    whole = dict(items[:2]) | ({} if metadata is None else {"__metadata__": metadata}) | dict(items[2:])

    assert whole == joined(json.dumps(whole, indent=indent, ensure_ascii=ascii_only).encode(), OBJECTS)


@given(st.dictionaries(KEYS, KEYS, max_size=600))
def test_the_pieces_of_a_map_of_strings_hold_its_entries(document: dict[str, str]) -> None:
    assert document == joined(json.dumps(document).encode(), TEXTS)


def test_a_piece_has_about_a_mebibyte() -> None:
    text = bytearray(json.dumps({f"name {number}": "x" * 100 for number in range(40_000)}).encode())
    sizes = [piece.stop - piece.start for piece in pieces(text, 0, len(text), TEXTS)]

    assert 5 == len(sizes)
    assert max(sizes) < 1.1 * 2**20


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        (b"", 0, "is no JSON object"),
        (b"[]", 0, "is no JSON object"),
        (b"{", 1, "has no sound entry here"),
        (b'{"a":{}', 1, "has no sound entry here"),
        (b'{"a":{},}', 8, "has no sound entry here"),
        (b'{"a":{"b":{}}}', 1, "has no sound entry here"),
        (b'{"a":1}', 1, "has no sound entry here"),
        (b'{"a" {}}', 1, "has no sound entry here"),
        (b'{"a":{}} x', 8, "goes on behind its closing brace"),
        (b"{} x", 2, "goes on behind its closing brace"),
        (b"{" + b'"a":{"b":' * 100_000, 1, "has no sound entry here"),
        (b'{"' + b"a" * 2**23 + b'":{}}', 1, "has an entry of 8,388,614 bytes, more than the 8,388,608 that are read"),
    ],
)
def test_a_text_that_is_no_such_object_is_refused_where_it_stops_being_one(
    text: bytes, position: int, problem: str
) -> None:
    with pytest.raises(MalformedError) as caught:
        joined(text, OBJECTS)

    assert (position, problem) == (caught.value.position, caught.value.problem)
