"""Addresses: what is asked for, what is shown, and that what is shown holds no secret."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensors.errors import SourceError
from tensors.sources import shown_location
from tensors.sources.address import Address, parse_address


@pytest.mark.parametrize(
    ("location", "address"),
    [
        (
            "https://me:p%40ss@host:8443/models/a b.gguf?key=secret#part",
            Address(
                "https://host:8443/models/a%20b.gguf?key=secret",
                "https://host:8443/models/a%20b.gguf",
                "a b.gguf",
                "Basic bWU6cEBzcw==",
            ),
        ),
        ("HTTP://HOST/m.gguf", Address("http://host/m.gguf", "http://host/m.gguf", "m.gguf", None)),
        ("http://[::1]:80/m.gguf", Address("http://[::1]:80/m.gguf", "http://[::1]:80/m.gguf", "m.gguf", None)),
        ("http://host/é.gguf", Address("http://host/%C3%A9.gguf", "http://host/%C3%A9.gguf", "é.gguf", None)),
        ("http://host/a%2Fb", Address("http://host/a%2Fb", "http://host/a%2Fb", "a%2Fb", None)),
        ("http://host", Address("http://host/", "http://host/", "", None)),
    ],
)
def test_an_address_is_taken_apart(location: str, address: Address) -> None:
    assert address == parse_address(location)


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("http://", "http://"),
        ("http:///m.gguf", "http:///m.gguf"),
        ("http://host:port/m.gguf", "http://host:port/m.gguf"),
        ("http://host:99999/m.gguf", "http://host:99999/m.gguf"),
        ("http://me:sec/ret@host/m.gguf", "http://host/m.gguf"),
        ("http://[::1/m.gguf", "http://[::1/m.gguf"),
        ("http://host/\x1b[31m.gguf", '"http://host/\\x1b[31m.gguf"'),
        ("http://host/a\nb.gguf?key=secret", '"http://host/a\\nb.gguf"'),
    ],
)
def test_what_is_no_address_is_refused(location: str, shown: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_address(location)

    assert f"{shown}: is no address; expected one like https://HOST/FOLDER/FILE.gguf. Check it." == str(caught.value)


def test_a_sibling_keeps_what_opens_the_door() -> None:
    address = parse_address("https://me:pass@host/models/a.gguf?key=1")

    assert Address(
        "https://host/models/b%20%23c.gguf?key=1",
        "https://host/models/b%20%23c.gguf",
        "b #c.gguf",
        address.authorization,
    ) == address.sibling("b #c.gguf")
    assert "models" == address.folder_name
    assert "" == parse_address("https://host/a.gguf").folder_name


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://me:secret@host/m.gguf?key=secret#secret", "https://host/m.gguf"),
        ("https://token@host/", "https://host/"),
        ("hf://org/repo@v1/m.gguf", "hf://org/repo@v1/m.gguf"),
        ("hf://org/repo?token=secret", "hf://org/repo"),
        ("hf://me:secret@org/repo", "hf://org/repo"),
        ("s3+x://me:secret@bucket/m.gguf", "s3+x://bucket/m.gguf"),
        ("models/a?b#c@d.gguf", "models/a?b#c@d.gguf"),
        ("C:\\models\\m.gguf", "C:\\models\\m.gguf"),
    ],
)
def test_what_is_shown_of_a_location(location: str, shown: str) -> None:
    """Of a path, all of it."""
    assert shown == shown_location(location)


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="/?#@[]\\", exclude_categories=("C", "Z")), max_size=9)


@given(user=_TEXT, password=_TEXT, path=_TEXT, query=_TEXT)
def test_no_part_of_an_address_that_may_be_secret_is_shown(user: str, password: str, path: str, query: str) -> None:
    location = f"https://{user}:{password}@host/{path}.gguf?{query}"
    address = parse_address(location)

    assert parse_address(f"https://host/{path}.gguf").shown == address.shown == address.url.partition("?")[0]
    assert address.name == parse_address(address.shown).name
