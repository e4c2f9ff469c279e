"""Distant models: one deadline, one set of connections and one cache for all files of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensors.errors import SourceError
from tensors.sources.address import shown_location
from tensors.sources.client import Client
from tensors.sources.extra import needed
from tensors.sources.header_cache import HeaderCache, cache_folder
from tensors.sources.hub import from_page, open_hub, open_hub_every
from tensors.sources.threads import Deadline, within
from tensors.sources.web import WORKERS, open_web
from tensors.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tensors.sources.protocols import Folder, Result

__all__ = ["visit_remote", "visit_remote_every"]

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

    def work(place: str, client: Client, headers: HeaderCache | None) -> Result:
        if _scheme(place) == "hf":
            return use(*open_hub(place, client, headers))
        return use(*open_web(place, client, headers))

    return _within_limits(location, work, cache=cache, time_limit_seconds=time_limit_seconds)


def visit_remote_every(
    location: str, use: Callable[[Sequence[tuple[Folder, str]]], Result], *, cache: bool, time_limit_seconds: float
) -> Result:
    """Return what `use` makes of the folders and files of all models at a location: of a server, its only one.

    Raises:
        SourceError: as for `visit_remote`.
    """

    def work(place: str, client: Client, headers: HeaderCache | None) -> Result:
        if _scheme(place) == "hf":
            return use(open_hub_every(place, client, headers))
        return use([open_web(place, client, headers)])

    return _within_limits(location, work, cache=cache, time_limit_seconds=time_limit_seconds)


def _within_limits(
    location: str,
    work: Callable[[str, Client, HeaderCache | None], Result],
    *,
    cache: bool,
    time_limit_seconds: float,
) -> Result:
    location = from_page(location) or location
    shown = shown_location(location)
    shown = shown if shown.isprintable() else quoted(shown)
    scheme = _scheme(location)
    if scheme not in _PACKAGES:
        problem = f"there is no way to read {scheme}:// here; expected http://, https://, hf:// or a path."
        raise SourceError(shown, f"{problem} Fetch the model and name its file.")
    needed(shown, *_PACKAGES[scheme])
    deadline = Deadline(time_limit_seconds)
    client = Client(deadline, WORKERS)
    headers = HeaderCache(cache_folder()) if cache else None
    try:
        return within(deadline, shown, lambda: work(location, client, headers))
    finally:
        client.close()


def _scheme(location: str) -> str:
    return location.partition("://")[0].lower()
