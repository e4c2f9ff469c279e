"""Headers kept on disk: the second look costs one request, and nothing that is kept is trusted."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensors
from tensors.sources.header_cache import CachedHeader, HeaderCache, cache_folder

if TYPE_CHECKING:
    from pathlib import Path

    from support.web import Handler, WebServer

_SECRETS = ("secret", "c2VjcmV0", "bWU6c2VjcmV0")


def kept(cache: Path) -> list[Path]:
    """Return the files of a cache."""
    return sorted(cache.iterdir()) if cache.is_dir() else []


def test_the_second_look_costs_one_request_and_no_content(web: WebServer, tiny: Path) -> None:
    web.add_folder(tiny.parent)
    first = tensors.read(web.url(f"/{tiny.name}"))
    web.forget()

    assert first == tensors.read(web.url(f"/{tiny.name}"))
    assert [("GET", 304, 0)] == [(request.method, request.status, request.sent_bytes) for request in web.requests]


def test_a_server_that_knows_no_conditions_is_asked_for_one_byte(web: WebServer, tiny: Path) -> None:
    """Its answer names the version too."""

    def deaf(handler: Handler) -> None:
        del handler.headers["If-None-Match"]
        handler.serve(handler.request_record.path)

    web.add_folder(tiny.parent)
    first = tensors.read(web.url(f"/{tiny.name}"))
    web.forget()
    web.script(f"/{tiny.name}", deaf)

    assert first == tensors.read(web.url(f"/{tiny.name}"))
    # The head of the answer settles it, so the byte itself may never be waited for: what was asked for is counted.
    assert [(206, "bytes=0-0")] == [(request.status, request.range) for request in web.requests]


def test_the_second_look_at_a_set_costs_one_request_for_each_file(web: WebServer, sharded: Path) -> None:
    """Its index and its config.json are kept as well."""
    web.add_folder(sharded)
    first = tensors.read(web.url("/model.safetensors.index.json"))
    web.forget()

    assert first == tensors.read(web.url("/model.safetensors.index.json"))
    assert [304] * len(list(sharded.iterdir())) == [request.status for request in web.requests]


def test_a_changed_file_is_read_anew(web: WebServer, tiny: Path) -> None:
    web.files["/m.gguf"] = tiny
    tensors.read(web.url("/m.gguf"))
    web.files["/m.gguf"] = tiny.read_bytes() + b"\0"
    web.etag_of = '"new {}"'.format
    second = tensors.read(web.url("/m.gguf"))

    assert tiny.stat().st_size + 1 == second.files[0].size_bytes
    assert second == tensors.read(web.url("/m.gguf"))


def test_without_an_entity_tag_the_time_of_the_last_change_counts(web: WebServer, tiny: Path) -> None:
    moment = "Wed, 21 Oct 2015 07:28:00 GMT"

    def dated(handler: Handler) -> bool:
        if handler.headers.get("If-Modified-Since") == moment:
            handler.head(304)
        else:
            size = tiny.stat().st_size
            start, stop = handler.asked(size) or (0, size)
            part = tiny.read_bytes()[start:stop]
            handler.simple(206, part, Content_Range=f"bytes {start}-{stop - 1}/{size}", Last_Modified=moment)
        return True

    web.routes.append(dated)
    tensors.read(web.url("/m.gguf"))
    web.forget()
    tensors.read(web.url("/m.gguf"))

    assert [304] == [request.status for request in web.requests]


def test_without_either_nothing_is_kept(web: WebServer, tiny: Path, cache: Path) -> None:
    web.sends_etags = False
    web.add_folder(tiny.parent)
    tensors.read(web.url(f"/{tiny.name}"))

    assert [] == kept(cache)


def test_who_asks_for_no_cache_leaves_none_and_uses_none(web: WebServer, tiny: Path, cache: Path) -> None:
    web.add_folder(tiny.parent)
    tensors.read(web.url(f"/{tiny.name}"), cache=False)

    assert [] == kept(cache)
    tensors.read(web.url(f"/{tiny.name}"))
    web.forget()
    tensors.read(web.url(f"/{tiny.name}"), cache=False)

    assert [206] == [request.status for request in web.requests]


@pytest.mark.parametrize("damage", ["cut", "flip", "label", "other", "empty"])
def test_a_damaged_entry_is_thrown_away_and_the_file_read_anew(
    damage: str, web: WebServer, tiny: Path, cache: Path
) -> None:
    web.add_folder(tiny.parent)
    first = tensors.read(web.url(f"/{tiny.name}"))
    (entry,) = kept(cache)
    sound = entry.read_bytes()
    damaged = {
        "cut": sound[:-1],
        "flip": sound[:-1] + bytes([sound[-1] ^ 1]),
        "label": b"{" + sound,
        "other": sound.replace(b'"http://', b'"http:/.', 1),
        "empty": b"",
    }[damage]
    entry.write_bytes(damaged)
    web.forget()

    assert first == tensors.read(web.url(f"/{tiny.name}"))
    assert [206] == [request.status for request in web.requests]
    assert [sound] == [path.read_bytes() for path in kept(cache)]


def test_no_credential_is_kept(web: WebServer, tiny: Path, cache: Path) -> None:
    web.add_folder(tiny.parent)
    tensors.read(f"http://me:secret@{web.address}/{tiny.name}")
    (entry,) = kept(cache)

    assert not [secret for secret in _SECRETS if secret.encode() in entry.read_bytes()]
    assert f"{sha256(web.url(f'/{tiny.name}').encode()).hexdigest()}.header" == entry.name


def test_what_a_query_says_is_not_kept(web: WebServer, tiny: Path, cache: Path) -> None:
    """It may be a credential, and it may choose another content."""
    web.add_folder(tiny.parent)
    tensors.read(web.url(f"/{tiny.name}?signature=secret"))

    assert [] == kept(cache)


def test_the_cache_is_for_its_owner_alone(web: WebServer, tiny: Path, cache: Path) -> None:
    web.add_folder(tiny.parent)
    tensors.read(web.url(f"/{tiny.name}"))

    assert 0o700 == cache.stat().st_mode & 0o777
    assert [0o600] == [path.stat().st_mode & 0o777 for path in kept(cache)]


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_cache(web: WebServer, tiny: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    web.add_folder(tiny.parent)

    assert tensors.read(tiny) == tensors.read(web.url(f"/{tiny.name}"))


@given(stamp=st.text(), data=st.binary(max_size=100), more=st.integers(0, 2**62))
def test_what_is_put_in_comes_out(tmp_path_factory: pytest.TempPathFactory, stamp: str, data: bytes, more: int) -> None:
    cache = HeaderCache(tmp_path_factory.mktemp("cache"))
    cache.put("http://host/a", stamp, len(data) + more, data)

    assert CachedHeader(stamp, len(data) + more, data) == cache.get("http://host/a")
    assert None is cache.get("http://host/b")


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    """Looking at an entry is a use."""
    cache = HeaderCache(tmp_path, most_bytes=2_500)
    for number, name in enumerate("abc"):
        cache.put(name, "1", 600, bytes(600))
        os.utime(max(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime_ns), (number, number))
    cache.get("a")
    cache.put("d", "1", 600, bytes(600))
    cache.put("e", "1", 600, bytes(600))

    assert ["a", "d", "e"] == [name for name in "abcde" if cache.get(name)]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2_500


def test_an_entry_that_is_larger_than_the_cache_is_not_kept(tmp_path: Path) -> None:
    cache = HeaderCache(tmp_path, most_bytes=1_000)
    cache.put("a", "1", 2_000, bytes(2_000))

    assert [] == kept(tmp_path)


def test_the_folder_is_the_users_unless_the_environment_names_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LAYERFIT_CACHE", str(tmp_path))

    assert tmp_path == cache_folder()
    monkeypatch.delenv("LAYERFIT_CACHE")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name, **_: tmp_path / name)

    assert tmp_path / "layerfit" / "headers" == cache_folder()
