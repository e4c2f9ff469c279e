"""Files of a server that are not there, change, or are no models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.answers import part, span, status
from support.web import content_range

import tensors
from benchmarks.forge import Pair, gguf, safetensors
from tensors.errors import FormatError, SourceError, TensorsError

if TYPE_CHECKING:
    from pathlib import Path

    from support.web import Handler, WebServer


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
