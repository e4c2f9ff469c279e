"""Distant models: one deadline, one set of connections and one cache for all files of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensors.errors import SourceError
from tensors.sources.address import shown_location
from tensors.sources.client import Client
from tensors.sources.extra import needed
from tensors.sources.header_cache import HeaderCache, cache_folder
from tensors.sources.hub import from_page, open_hub
from tensors.sources.threads import Deadline, within
from tensors.sources.web import WORKERS, open_web
from tensors.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensors.sources.protocols import Folder, Result

__all__ = ["visit_remote"]

_PACKAGES = {
    "http": ("urllib3", "platformdirs"),
    "https": ("urllib3", "platformdirs"),
    "hf": ("huggingface_hub", "urllib3", "platformdirs"),
}


def visit_remote(
    location: str, use: Callable[[Folder, str | None], Result], *, cache: bool, time_limit_seconds: float
) -> Result:
    """Return what `use` makes of the folder and the file that a location with a scheme names.

    Raises:
        SourceError: the scheme is not known, a package is missing, the time is over, or the place cannot be read.
    """
    location = from_page(location) or location
    shown = shown_location(location)
    shown = shown if shown.isprintable() else quoted(shown)
    scheme = location.partition("://")[0].lower()
    if scheme not in _PACKAGES:
        problem = f"there is no way to read {scheme}:// here; expected http://, https://, hf:// or a path."
        raise SourceError(shown, f"{problem} Fetch the model and name its file.")
    needed(shown, *_PACKAGES[scheme])
    deadline = Deadline(time_limit_seconds)
    client = Client(deadline, WORKERS)
    headers = HeaderCache(cache_folder()) if cache else None

    def work() -> Result:
        if scheme == "hf":
            return use(*open_hub(location, client, headers))
        return use(*open_web(location, client, headers))

    try:
        return within(deadline, shown, work)
    finally:
        client.close()
