"""What web servers do wrong: each is one line that says where, what is there, what was expected and what to do."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest
from support.web import content_range

import tensors
from benchmarks.forge import Pair, gguf, safetensors
from tensors.errors import FormatError, SourceError, TensorsError
from tensors.sources import client, patience

if TYPE_CHECKING:
    from pathlib import Path

    from support.web import Handler, Script, WebServer

_WELL = b"GGUF" + bytes(2**20)
_FIRST = 2**17


def part(
    handler: Handler,
    start: int = 0,
    stop: int = _FIRST,
    size: int = len(_WELL),
    *,
    length: int | None = None,
    sent: int | None = None,
    **headers: object,
) -> None:
    """Answer with a part of a file; the length it announces and the bytes it sends may differ from the part's."""
    whole = stop - start
    handler.head(
        206,
        Content_Range=content_range(start, stop, size),
        Content_Length=whole if length is None else length,
        **headers,
    )
    handler.body(_WELL[start:stop][:sent])
    handler.close_connection = True


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


def span(handler: Handler, size: int = 2**62) -> tuple[int, int]:
    """Return the range that is asked for."""
    asked = handler.asked(size)
    assert asked is not None
    return asked


def whole(handler: Handler) -> None:
    """Answer with the whole file, whatever was asked."""
    handler.head(200, Content_Length=len(_WELL))
    handler.body(_WELL)


def endless(handler: Handler) -> None:
    """Answer with a file that has no length."""
    handler.head(200, Connection="close")
    handler.body(_WELL)
    handler.close_connection = True


def no_range(handler: Handler) -> None:
    """Answer with a part of a file, and do not say which."""
    handler.simple(206, _WELL[:_FIRST])


def status(code: int, **headers: object) -> Script:
    """Return a script that answers with a status alone."""
    return lambda handler: handler.simple(code, b"<html>no</html>", **headers)


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
    web.files["/m.gguf"] = _WELL
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
    web.files["/m.gguf"] = _WELL
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
        handler.head(206, Content_Range=content_range(0, _FIRST, len(_WELL)), Content_Length=_FIRST)
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


def test_a_file_that_is_not_there(web: WebServer) -> None:
    with pytest.raises(SourceError) as caught:
        tensors.read(web.url("/none.gguf?token=secret"))

    assert (
        f"{web.url('/none.gguf')}: the server has no such file, status 404; expected a model. Check the address."
    ) == str(caught.value)


def test_a_part_that_is_not_there_is_named(web: WebServer, split: tuple[Path, ...]) -> None:
    web.add_folder(split[0].parent, "/glm/")
    del web.files[f"/glm/{split[3].name}"], web.files[f"/glm/{split[4].name}"]
    with pytest.raises(SourceError) as caught:
        tensors.read(web.url(f"/glm/{split[0].name}"))

    assert (
        f"{web.url('/glm')}: {split[3].name} and {split[4].name} are missing; "
        "expected all 6 parts of GLM-5.2-UD-IQ2_XXS in one folder. Fetch the rest."
    ) == str(caught.value)


def test_a_part_that_may_not_be_read_is_not_missing(web: WebServer, split: tuple[Path, ...]) -> None:
    web.add_folder(split[0].parent)
    web.script(f"/{split[3].name}", status(403))
    with pytest.raises(SourceError, match=rf"{split[3].name}: the server refuses to give it, status 403"):
        tensors.read(web.url(f"/{split[0].name}"))


def test_a_file_that_changes_while_it_is_read(web: WebServer) -> None:
    """By its entity tag, or by its length."""
    web.files["/m.gguf"] = long_array()
    web.script(
        "/m.gguf",
        lambda handler: handler.serve("/m.gguf"),
        lambda handler: part(handler, *span(handler, 2**21 + 50), 2**21 + 50, ETag='"new"'),
    )
    with pytest.raises(SourceError) as caught:
        tensors.read(web.url("/m.gguf"))

    assert (f"{web.url('/m.gguf')}: has changed while it was read; expected one version throughout. Try again.") == str(
        caught.value
    )
    web.script(
        "/m.gguf",
        lambda handler: handler.serve("/m.gguf"),
        lambda handler: part(handler, *span(handler, 2**30), 2**30),
    )
    with pytest.raises(SourceError) as caught:
        tensors.read(web.url("/m.gguf"))

    assert (f"{web.url('/m.gguf')}: has 1,073,741,824 bytes now; expected 2,097,202 as before. Try again.") == str(
        caught.value
    )


def long_array() -> bytes:
    """Return a GGUF file of 2 MiB and 50 bytes that holds one array of bytes."""
    return gguf([Pair("a", "u8", [0] * 2**21)], [], data_bytes=1)


def test_what_is_no_model_is_refused_by_its_first_bytes(web: WebServer) -> None:
    web.files["/m.gguf"] = b"<!doctype html>" + bytes(500)
    with pytest.raises(FormatError) as caught:
        tensors.read(web.url("/m.gguf"))

    assert (f'{web.url("/m.gguf")}, byte 0: begins with "<!do"; expected "GGUF". Is this a GGUF file?') == str(
        caught.value
    )


def test_an_empty_file(web: WebServer) -> None:
    web.files["/m.gguf"] = b""
    with pytest.raises(FormatError) as caught:
        tensors.read(web.url("/m.gguf"))

    assert f"{web.url('/m.gguf')}, byte 0: " == str(caught.value)[: len(f"{web.url('/m.gguf')}, byte 0: ")]


@pytest.mark.parametrize(
    ("location", "message"),
    [
        (
            "http://127.0.0.1:1/m.gguf",
            (
                "http://127.0.0.1:1/m.gguf: cannot be reached (connection refused); expected a web server. "
                "Check the address and the network."
            ),
        ),
        (
            "http://me:secret@nowhere.invalid/m.gguf?key=secret",
            (
                "http://nowhere.invalid/m.gguf: there is no such host; expected a web server. "
                "Check the address and the network."
            ),
        ),
        (
            "ftp://me:secret@host/m.gguf",
            (
                "ftp://host/m.gguf: there is no way to read ftp:// here; expected http://, https://, hf:// or a path. "
                "Fetch the model and name its file."
            ),
        ),
        (
            "http://host/models/",
            (
                "http://host/models/: names a folder; expected the address of a file, since servers list none. "
                "Add the name of a file."
            ),
        ),
    ],
)
def test_places_that_cannot_be_read(location: str, message: str) -> None:
    with pytest.raises(TensorsError) as caught:
        tensors.read(location)

    assert message == str(caught.value)


def test_a_certificate_that_nobody_knows(web: WebServer) -> None:
    """A server that does not speak TLS at all shows none."""
    with pytest.raises(SourceError) as caught:
        tensors.read(f"https://{web.address}/m.gguf")

    assert str(caught.value).startswith(f"https://{web.address}/m.gguf: shows no certificate to trust (")
    assert str(caught.value).endswith("); expected one that is known here. Check the address and the network.")


def test_companions_that_a_store_refuses_need_not_be_there(web: WebServer) -> None:
    """Stores that list nothing refuse what is not there."""
    web.files["/alone.safetensors"] = safetensors({"x": ("F32", [2], (0, 8))})
    for name in ("alone.safetensors.index.json", "config.json"):
        web.script(f"/{name}", status(403))
    inventory = tensors.read(web.url("/alone.safetensors"))

    assert "alone.safetensors" == inventory.name
    assert any(note.startswith("there is no config.json beside the tensors") for note in inventory.notes)


def test_a_server_that_sends_less_than_asked_is_asked_for_the_rest(web: WebServer, tiny: Path) -> None:
    web.add_folder(tiny.parent)
    path = f"/{tiny.name}"

    def sparing(handler: Handler) -> None:
        start, stop = span(handler, handler.size(path))
        part_ = handler.part(path, start, min(stop, start + 3_000))
        place = content_range(start, start + len(part_), handler.size(path))
        handler.simple(206, part_, Content_Range=place, ETag=handler.web.etag_of(path))

    web.script(path, *[sparing] * 4)

    assert tensors.read(tiny) == tensors.read(web.url(path))
    assert ["bytes=0-131071", "bytes=3000-131071"] == [request.range for request in web.requests]
