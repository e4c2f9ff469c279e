"""What a hub refuses, lacks or says wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from huggingface_hub import constants
from support.refused import LATER, refusal

import tensors

if TYPE_CHECKING:
    from pathlib import Path

    from support.hub import Hub
    from support.web import Handler


_CLOSED = (
    "hf://org/repo: there is no such repository, or it is closed to others; expected ORG/REPO. "
    "Check the name, or set HF_TOKEN to a token that may read it."
)


def test_a_repository_that_is_not_there_or_closed(hub: Hub) -> None:
    assert _CLOSED == refusal("hf://org/repo")
    hub.token = "hf_other"  # noqa: S105
    hub.add("org/repo", {"m.gguf": b"GGUF"})

    assert _CLOSED == refusal("hf://org/repo")


def test_a_revision_that_is_not_there(hub: Hub) -> None:
    hub.add("org/repo", {"m.gguf": b"GGUF"})

    assert (
        'hf://org/repo@v9: there is no revision "v9"; expected a branch, a tag or a commit. Check its name.'
    ) == refusal("hf://org/repo@v9/m.gguf")


def test_a_repository_whose_files_are_gated(hub: Hub, tiny: Path) -> None:
    hub.gated = True
    hub.add("org/repo", {"m.gguf": tiny})

    assert (
        "hf://org/repo/m.gguf: the server refuses to give it, status 403; expected a file that you may read. "
        "Ask for access on the page of the repository, and set HF_TOKEN to a token that has it."
    ) == refusal("hf://org/repo")


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (401, "the hub does not accept the token, status 401; expected one that is valid. Check HF_TOKEN."),
        (
            403,
            (
                "the hub refuses to list it, status 403; expected a repository that you may read. "
                "Set HF_TOKEN to a token that may."
            ),
        ),
        (418, "the hub answers with status 418; expected the files of the repository. Check the name."),
        (429, f"the server is asked too often, status 429 (4 tries); {LATER}"),
        (503, f"the server fails, status 503 (4 tries); {LATER}"),
    ],
)
def test_a_hub_that_refuses_to_list(status: int, problem: str, hub: Hub) -> None:
    def refuse(handler: Handler) -> None:
        # The hub's own words, which its library tells from those for repositories that are not there.
        handler.simple(status, b"{}", X_Error_Message="Invalid credentials in Authorization header")

    hub.web.script("/api/models/org/repo", *[refuse] * 4)

    assert f"hf://org/repo: {problem}" == refusal("hf://org/repo")
    assert (4 if "tries" in problem else 1) == len(hub.paths)


def test_a_hub_that_recovers_is_asked_again(hub: Hub, tiny: Path) -> None:
    hub.add("org/repo", {"m.gguf": tiny})
    hub.web.script("/api/models/org/repo", lambda handler: handler.simple(503), lambda handler: handler.reset())

    assert tensors.read(tiny).tensors == tensors.read("hf://org/repo").tensors


def test_a_listing_that_is_none(hub: Hub) -> None:
    hub.web.script("/api/models/org/repo", lambda handler: handler.simple(200, b"<html>"))

    assert (
        f'hf://org/repo: the listing of the hub at "http://{hub.web.address}" cannot be read; '
        "expected the files of the repository. Try again later."
    ) == refusal("hf://org/repo")


def test_a_hub_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://me:secret@127.0.0.1:1")

    assert (
        'hf://org/repo: the hub at "http://127.0.0.1:1" cannot be reached; expected its answer. '
        "Check the network, and HF_ENDPOINT if you set it."
    ) == refusal("hf://org/repo")


def test_offline_the_hub_is_not_asked(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    assert (
        "hf://org/repo: HF_HUB_OFFLINE is set; expected a hub that may be asked. Unset it, or name a folder on disk."
    ) == refusal("hf://org/repo")
    assert [] == hub.paths


def test_a_file_of_another_length_than_listed(hub: Hub, tiny: Path) -> None:
    hub.add("org/repo", {"m.gguf": tiny})
    hub.store.files["/org/repo/m.gguf"] = tiny.read_bytes()[:-1]

    assert (
        f"hf://org/repo/m.gguf: has {tiny.stat().st_size - 1:,} bytes now; expected {tiny.stat().st_size:,} as before. "
        "Try again."
    ) == refusal("hf://org/repo")


@pytest.mark.parametrize(
    "location",
    [
        "hf://",
        "hf://org",
        "hf://org/",
        "hf://datasets/org/repo",
        "hf://org/re po",
        "hf://org/repo@",
        "hf://o/r?x=1",
        "hf://o/r/m?x=1",
    ],
)
def test_what_is_no_place_on_the_hub(location: str, hub: Hub) -> None:
    shown = location.partition("?")[0]

    assert (
        f"{shown}: is no model on the hub; expected hf://ORG/REPO, then @REVISION and /FILE where needed. Check it."
    ) == refusal(location)
    assert [] == hub.paths
