"""What may pass when a server fails, and what no second try mends."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest
from support.answers import FIRST, WELL, part, span, status
from support.web import content_range

import tensors
from tensors.errors import SourceError
from tensors.sources import client, patience

if TYPE_CHECKING:
    from pathlib import Path

    from support.web import Handler, Script, WebServer


def cut_off(handler: Handler) -> None:
    """Answer with 1,000 bytes of what was asked for, and break off."""
    path = handler.request_record.path
    start, stop = span(handler, handler.size(path))
    etag = handler.web.etag_of(path)
    handler.head(
        206, Content_Range=content_range(start, stop, handler.size(path)), Content_Length=stop - start, ETag=etag
    )
    handler.body(handler.part(path, start, start + 1000))
    handler.close_connection = True


def whole(handler: Handler) -> None:
    """Answer with the whole file, whatever was asked."""
    handler.head(200, Content_Length=len(WELL))
    handler.body(WELL)


def endless(handler: Handler) -> None:
    """Answer with a file that has no length."""
    handler.head(200, Connection="close")
    handler.body(WELL)
    handler.close_connection = True


def no_range(handler: Handler) -> None:
    """Answer with a part of a file, and do not say which."""
    handler.simple(206, WELL[:FIRST])


def leading(place: str) -> Script:
    """Return a script that leads elsewhere."""
    return status(302, Location=place)


_FETCH = "Fetch the file and name it."
_LATER = "expected an answer. Check the connection, or try again later."
_ONES = [
    (whole, f"the server sends the whole file where a part is asked for; expected one that honours ranges. {_FETCH}"),
    (endless, f"the server sends the whole file where a part is asked for; expected one that honours ranges. {_FETCH}"),
    (
        partial(part, start=5, stop=25),
        f"the server sends bytes 5 to 24 of 1,048,580; expected bytes 0 to 131,071. {_FETCH}",
    ),
    (
        partial(part, stop=2**19),
        f"the server sends bytes 0 to 524,287 of 1,048,580; expected bytes 0 to 131,071. {_FETCH}",
    ),
    (
        no_range,
        "the server does not say which part of how long a file it sends; expected a Content-Range with both. " + _FETCH,
    ),
    (
        partial(part, length=2**30),
        f"the server announces 1,073,741,824 bytes; expected 131,072, the part that it names. {_FETCH}",
    ),
    (
        partial(part, Content_Encoding="gzip"),
        f"the server sends the file encoded; expected its plain bytes. {_FETCH}",
    ),
    (
        status(401),
        (
            "the server does not know who asks, status 401; expected a file that you may read. "
            "Put a name and a password into the address, as https://NAME:PASSWORD@HOST/."
        ),
    ),
    (
        status(403),
        (
            "the server refuses to give it, status 403; expected a file that you may read. "
            "Check your rights, and whether the address has run out."
        ),
    ),
    (status(418), "the server answers with status 418; expected 206 and a part of the file. Check the address."),
    (status(302), "the server answers with status 302; expected 206 and a part of the file. Check the address."),
    (
        leading("file:///etc/passwd"),
        'leads to "file:///etc/passwd"; expected an http or https address. Do not use this one.',
    ),
    (
        leading("ftp://me:secret@elsewhere/x?key=secret"),
        'leads to "ftp://elsewhere/x"; expected an http or https address. Do not use this one.',
    ),
    (
        leading("gopher://\x1b[31mred"),
        'leads to "gopher://\\x1b[31mred"; expected an http or https address. Do not use this one.',
    ),
    (leading("/m.gguf"), "leads from address to address more than 10 times; expected a file. Check the address."),
]


@pytest.mark.parametrize(("script", "problem"), _ONES)
def test_what_no_second_try_mends_is_said_at_once(script: Script, problem: str, web: WebServer) -> None:
    """Only a redirect that leads back to itself is followed, and not for ever."""
    web.files["/m.gguf"] = WELL
    tries = 11 if "more than 10" in problem else 1
    web.script("/m.gguf", *[script] * tries)
    with pytest.raises(SourceError) as caught:
        tensors.read(f"http://me:secret@{web.address}/m.gguf")

    assert f"{web.url('/m.gguf')}: {problem}" == str(caught.value)
    assert tries == len(web.requests)


_PASSING = [
    (status(429), "the server is asked too often, status 429"),
    (status(500), "the server fails, status 500"),
    (status(503, Retry_After="0"), "the server fails, status 503"),
    (status(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), "the server fails, status 503"),
    (status(504, Retry_After="soon"), "the server fails, status 504"),
    (lambda handler: handler.reset(), "the server breaks the connection"),
    (lambda handler: setattr(handler, "close_connection", True), "the server breaks the connection"),
    (cut_off, "the server breaks the connection"),
]


@pytest.mark.parametrize(("script", "what"), _PASSING)
def test_what_may_pass_is_tried_four_times(script: Script, what: str, web: WebServer) -> None:
    web.files["/m.gguf"] = WELL
    web.script("/m.gguf", *[script] * 4)
    with pytest.raises(SourceError) as caught:
        tensors.read(web.url("/m.gguf"))

    assert f"{web.url('/m.gguf')}: {what} (4 tries); {_LATER}" == str(caught.value)
    assert 4 == len(web.requests)


@pytest.mark.parametrize(("script", "_"), _PASSING)
def test_what_passes_is_not_spoken_of(script: Script, _: str, web: WebServer, tiny: Path) -> None:
    web.add_folder(tiny.parent)
    path = f"/{tiny.name}"
    web.script(path, script, script)

    assert tensors.read(tiny) == tensors.read(web.url(path))


def test_what_came_before_a_connection_broke_is_not_asked_for_again(web: WebServer, tiny: Path) -> None:
    web.add_folder(tiny.parent)
    web.script(f"/{tiny.name}", cut_off, cut_off)
    tensors.read(web.url(f"/{tiny.name}"))

    assert ["bytes=0-131071", "bytes=1000-131071", "bytes=2000-131071"] == [r.range for r in web.requests]


def test_a_server_that_wants_a_longer_pause_than_there_is_time_for_is_left(web: WebServer) -> None:
    web.script("/m.gguf", status(429, Retry_After="3600"))
    with pytest.raises(SourceError) as caught:
        tensors.read(web.url("/m.gguf"), time_limit_seconds=30)

    assert (
        f"{web.url('/m.gguf')}: the server is asked too often, status 429 and asks to wait 3,600 s; expected an answer "
        "within 30 s. Try again later, or allow more time."
    ) == str(caught.value)
    assert 1 == len(web.requests)


def test_pauses_double(monkeypatch: pytest.MonkeyPatch, web: WebServer) -> None:
    paused = []
    monkeypatch.setattr(patience, "FIRST_PAUSE_SECONDS", 0.5)
    monkeypatch.setattr("tensors.sources.threads.Deadline.pause", lambda _, seconds: paused.append(seconds))
    web.script("/m.gguf", status(503), status(503, Retry_After="7"), status(503), status(503))
    with pytest.raises(SourceError):
        tensors.read(web.url("/m.gguf"))

    assert [0.5, 7.0, 2.0] == paused


def test_a_slow_drip_ends_with_the_time_limit(web: WebServer) -> None:
    """Bytes come all the time, and never enough of them."""
    over = threading.Event()

    def drip(handler: Handler) -> None:
        handler.head(206, Content_Range=content_range(0, FIRST, len(WELL)), Content_Length=FIRST)
        while not over.wait(0.01):
            handler.body(b"G")

    web.script("/m.gguf", drip)
    with pytest.raises(SourceError) as caught:
        tensors.read(web.url("/m.gguf"), time_limit_seconds=0.1)
    over.set()

    assert (
        f"{web.url('/m.gguf')}: is not read after 0.1 s; expected all headers by then. "
        "Check the connection, or allow more time."
    ) == str(caught.value)


def test_headers_that_never_end_come_to_the_time_limit(web: WebServer) -> None:
    over = threading.Event()

    def drip(handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.1 206 Partial Content\r\nX: ")
        while not over.wait(0.01):
            handler.wfile.write(b"x")

    web.script("/m.gguf", drip)
    with pytest.raises(SourceError, match=r"is not read after 0\.1 s"):
        tensors.read(web.url("/m.gguf"), time_limit_seconds=0.1)
    over.set()


def test_a_silent_server_is_asked_again(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SILENCE_SECONDS", 0.05)
    over = threading.Event()
    web.script("/m.gguf", *[lambda _: over.wait(5)] * 4)
    with pytest.raises(SourceError) as caught:
        tensors.read(web.url("/m.gguf"))
    over.set()

    assert f"{web.url('/m.gguf')}: the server is silent for 0.05 s (4 tries); {_LATER}" == str(caught.value)
