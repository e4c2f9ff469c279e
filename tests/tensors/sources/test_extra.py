"""Packages that only distant models need: what is said where they are missing, and that nothing else loads them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.web import WebServer

import tensors
from tensors.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("location", "packages", "named"),
    [
        ("hf://org/repo", ["huggingface_hub"], "huggingface_hub"),
        ("hf://org/repo", ["huggingface_hub", "urllib3", "platformdirs"], "huggingface_hub, urllib3 and platformdirs"),
        ("https://host/m.gguf", ["urllib3"], "urllib3"),
        ("https://host/m.gguf", ["platformdirs"], "platformdirs"),
    ],
)
def test_the_extra_is_named_where_a_package_is_missing(
    location: str, packages: list[str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SourceError) as caught:
        tensors.read(location)

    assert (
        f'{location}: reading it takes {named}; expected the extra "remote" to be installed. '
        "Run pip install 'layerfit[remote]'."
    ) == str(caught.value)


def test_a_web_server_needs_no_hub(web: WebServer, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    web.add_folder(tiny.parent)

    assert tensors.read(tiny) == tensors.read(web.url(f"/{tiny.name}"))


def test_a_model_on_disk_loads_no_network_library(repository: Path, tiny: Path) -> None:
    code = f"import sys, tensors; tensors.read({str(tiny)!r}); print([n for n in sys.modules if n in {{{_NETWORK}}}])"
    ran = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True)

    assert "[]\n" == ran.stdout


_NETWORK = "'urllib3', 'huggingface_hub', 'platformdirs', 'socket', 'ssl', 'http.client', 'urllib.request'"


def test_a_proxy_of_the_environment_is_used(web: WebServer, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for whole addresses; what the environment exempts is asked directly."""
    with WebServer(files={"http://nowhere.invalid/m.gguf": tiny}) as proxy:
        monkeypatch.setenv("http_proxy", f"http://{proxy.address}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        web.add_folder(tiny.parent)
        through = tensors.read("http://nowhere.invalid/m.gguf")
        past = tensors.read(web.url(f"/{tiny.name}"))

        assert through.tensors == past.tensors
        assert (1, 1) == (len(proxy.requests), len(web.requests))
