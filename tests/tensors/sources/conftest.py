"""A web server and a hub of this machine, headers kept in a folder of the test, and no waiting between tries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from huggingface_hub import constants
from support.hub import Hub
from support.web import WebServer

from tensors import synthetic
from tensors.sources import patience

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that headers are kept in; nothing else of the environment has a say."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LAYERFIT_CACHE", str(tmp_path / "headers"))
    monkeypatch.setattr(patience, "FIRST_PAUSE_SECONDS", 0.0)
    return tmp_path / "headers"


@pytest.fixture
def web() -> Iterator[WebServer]:
    """Return a web server without files."""
    with WebServer() as server:
        yield server


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Return a hub without repositories, where HF_ENDPOINT says the hub is; nobody is logged in to it."""
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    with Hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://{server.web.address}")
        yield server


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small GGUF model, one file."""
    return synthetic.write("tiny", tmp_path_factory.mktemp("tiny"))[0]


@pytest.fixture(scope="session")
def split(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Return the parts of a split GGUF model of 222 GiB."""
    return synthetic.write("glm-5.2", tmp_path_factory.mktemp("split"))


@pytest.fixture(scope="session")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a sharded safetensors model of 87 GiB."""
    return synthetic.write("mixtral-8x7b", tmp_path_factory.mktemp("sharded"))[0].parent
