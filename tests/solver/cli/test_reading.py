"""Commands on models that are not on this machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.web import WebServer

import tensors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Layerfit

_SECRETS = ("secret", "bWU6c2VjcmV0")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that headers are kept in."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LAYERFIT_CACHE", str(tmp_path / "headers"))
    return tmp_path / "headers"


@pytest.fixture
def web(tiny_model: Path) -> Iterator[WebServer]:
    """Return a server of the small model."""
    with WebServer() as server:
        server.add_folder(tiny_model.parent)
        yield server


def test_a_distant_model_is_shown_as_a_local_one(web: WebServer, tiny_model: Path, layerfit: Layerfit) -> None:
    for view in ("block", "role", "file"):
        local = layerfit("inspect", tiny_model, "--by", view)
        distant = layerfit("inspect", web.url(f"/{tiny_model.name}"), "--by", view)

        assert local == distant
    assert 0 == local.code


def test_headers_are_kept_unless_nobody_wants_them(
    web: WebServer, tiny_model: Path, layerfit: Layerfit, cache: Path
) -> None:
    layerfit("inspect", web.url(f"/{tiny_model.name}"), "--no-cache")

    assert not cache.exists()
    layerfit("inspect", web.url(f"/{tiny_model.name}"))

    assert len(tensors.read(tiny_model).files) == len(list(cache.iterdir()))


@pytest.mark.parametrize(
    "command", ["inspect", "plan --cluster CLUSTER", "tiers", "route --cluster CLUSTER", "check P --model"]
)
def test_every_command_keeps_to_the_time_limit(
    command: str, web: WebServer, layerfit: Layerfit, tmp_path: Path
) -> None:
    """A server that says nothing is left after it."""
    (tmp_path / "cluster.toml").write_text('[[node]]\nname = "a"\nmemory = "64 GiB"\n')
    plan = tmp_path / "plan.json"
    layerfit("plan", "--no-timings", "-o", plan)
    web.script("/m.gguf", *[lambda handler: handler.wfile.flush() or handler.rfile.read(1)] * 4)
    words = [{"CLUSTER": str(tmp_path / "cluster.toml"), "P": str(plan)}.get(word, word) for word in command.split()]
    ran = layerfit(*words, web.url("/m.gguf"), "--read-timeout", "0.05")

    assert (2, "") == (ran.code, ran.out)
    assert (
        f"{web.url('/m.gguf')}: is not read after 0.05 s; expected all headers by then. "
        "Check the connection, or allow more time.\n"
    ) == ran.err


def test_a_plan_of_a_distant_model_holds_no_credential(
    web: WebServer, tiny_model: Path, layerfit: Layerfit, tmp_path: Path
) -> None:
    """The address is there without them, and the plan stands when it is checked against the same place."""
    (tmp_path / "cluster.toml").write_text('[[node]]\nname = "a"\nmemory = "64 GiB"\n')
    typed = f"http://me:secret@{web.address}/{tiny_model.name}?key=secret"
    report, plan = tmp_path / "report.html", tmp_path / "plan.json"
    ran = layerfit("plan", typed, "--cluster", tmp_path / "cluster.toml", "-o", plan, "--report", report)
    document = json.loads(plan.read_text())

    assert 0 == ran.code
    assert (web.url(f"/{tiny_model.name}"), None) == (document["inputs"]["model"], document["inputs"]["model_path"])
    assert not [
        secret for secret in _SECRETS for text in (*ran[1:], plan.read_text(), report.read_text()) if secret in text
    ]
    assert 0 == layerfit("check", plan, "--model", typed).code


def test_a_refusal_is_one_line_without_credentials(web: WebServer, layerfit: Layerfit) -> None:
    ran = layerfit("inspect", f"http://me:secret@{web.address}/none.gguf?key=secret", "--json")

    assert (2, "") == (ran.code, ran.out)
    assert (
        f"{web.url('/none.gguf')}: the server has no such file, status 404; expected a model. Check the address.\n"
    ) == ran.err


def test_flags_for_distant_models_mean_nothing_beside_a_problem(layerfit: Layerfit, tmp_path: Path) -> None:
    ran = layerfit("plan", "--problem", tmp_path / "p.json", "--no-cache")

    assert 2 == ran.code
    assert (
        "layerfit plan, --no-cache: it means nothing beside --problem; "
        "expected limits, objectives and rules alone. Leave it out.\n"
    ) == ran.err
