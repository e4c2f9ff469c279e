"""Models of the Hugging Face hub: hf://ORG/REPO[@REVISION][/FILE, a folder, or the end of a name].

One listing gives every file with its size and digest, and the commit that all of them are then read at. It comes
through huggingface_hub, which knows where the hub is (HF_ENDPOINT) and who asks (HF_TOKEN, or a login).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tensors.errors import SourceError
from tensors.parts import CONFIG, INDEX_SUFFIX
from tensors.sources.address import shown_location
from tensors.sources.answers import Advice
from tensors.sources.hub_listing import Listing, list_repository
from tensors.sources.hub_sets import chosen, selected, sets_of
from tensors.sources.protocols import is_plain
from tensors.sources.ranges import Place, RangeSource
from tensors.sources.threads import in_order
from tensors.sources.web import WORKERS
from tensors.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tensors.sources.client import Client
    from tensors.sources.header_cache import HeaderCache
    from tensors.sources.protocols import Result

__all__ = ["HubFolder", "HubLocation", "from_page", "open_hub", "open_hub_every", "parse_hub_location"]

_LOCATION = re.compile(
    r"hf://(?:models/)?(?P<repository>[\w.-]+/[\w.-]+)"
    r"(?:@(?P<revision>refs/(?:pr/\d+|convert/[\w.-]+)|[^/@?#]+))?(?:/(?P<path>[^?#]*))?",
    re.ASCII | re.IGNORECASE,
)
_PAGE = re.compile(
    r"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/(?P<repository>[\w.-]+/[\w.-]+)"
    r"(?:/(?:tree|blob|resolve|raw)/(?P<revision>[^/?#]+)(?:/(?P<path>[^?#]*))?)?/?(?:[?#].*)?",
    re.ASCII | re.IGNORECASE,
)
_OTHER_KINDS = frozenset({"datasets", "spaces", "kernels", "buckets"})
_MODEL_SUFFIXES = (".gguf", ".safetensors", INDEX_SUFFIX, CONFIG)
_ADVICE = Advice(
    unknown="Set HF_TOKEN to a token that may read it.",
    refused="Ask for access on the page of the repository, and set HF_TOKEN to a token that has it.",
)


def from_page(address: str) -> str | None:
    """Return the hf:// location of a page of the hub, as people copy it from a browser; None for any other address."""
    match = _PAGE.fullmatch(address)
    if match is None or match["repository"].partition("/")[0] in _OTHER_KINDS:
        return None
    revision = "" if match["revision"] in {None, "main"} else f"@{match['revision']}"
    return f"hf://{match['repository']}{revision}/{match['path'] or ''}".rstrip("/")


class HubLocation(NamedTuple):
    """A place on the hub; `revision` is None for the default branch, `path` is "" for the whole repository."""

    repository: str
    revision: str | None
    path: str

    @property
    def root(self) -> str:
        """Return the location of the repository, as a person would type it."""
        return f"hf://{self.repository}" + ("" if self.revision is None else f"@{self.revision}")


def parse_hub_location(location: str) -> HubLocation:
    """Take a location on the hub apart.

    Raises:
        SourceError: it is none, or not one of a model.
    """
    match = _LOCATION.fullmatch(location)
    if match is None or not location.isprintable() or match["repository"].partition("/")[0] in _OTHER_KINDS:
        problem = "is no model on the hub; expected hf://ORG/REPO, then @REVISION and /FILE where needed. Check it."
        shown = shown_location(location)
        raise SourceError(shown if shown.isprintable() else quoted(shown), problem)
    revision = match["revision"]
    return HubLocation(match["repository"], revision and revision.replace("%2F", "/"), (match["path"] or "").strip("/"))


def open_hub(location: str, client: Client, cache: HeaderCache | None) -> tuple[HubFolder, str]:
    """Return the folder of a model on the hub, and the base name of the file that stands for it.

    Raises:
        SourceError: there is no such repository, revision or model, or several models match.
    """
    place = parse_hub_location(location)
    listing = list_repository(place.repository, place.revision, place.root, client.deadline)
    path = place.path
    if path not in listing.files or not path.lower().endswith(_MODEL_SUFFIXES):
        sizes = {name: file.size for name, file in listing.files.items()}
        path = chosen(sets_of(sizes), place.path, "/".join(filter(None, (place.root, place.path)))).first
    folder, _, name = path.rpartition("/")
    return HubFolder(place, listing, folder, client, cache), name


def open_hub_every(location: str, client: Client, cache: HeaderCache | None) -> list[tuple[HubFolder, str]]:
    """Return the folder and the base name of every model of a repository, or of those that the rest of it selects.

    Raises:
        SourceError: there is no such repository, revision or model.
    """
    place = parse_hub_location(location)
    listing = list_repository(place.repository, place.revision, place.root, client.deadline)
    sets = sets_of({name: file.size for name, file in listing.files.items()})
    found = selected(sets, place.path, "/".join(filter(None, (place.root, place.path))))
    return [(HubFolder(place, listing, one.folder, client, cache), one.first.rpartition("/")[2]) for one in found]


class HubFolder:
    """A folder of a repository, at one commit."""

    def __init__(
        self, place: HubLocation, listing: Listing, path: str, client: Client, cache: HeaderCache | None
    ) -> None:
        self.location = "/".join(filter(None, (place.root, path)))
        self.name = (path or place.repository).rpartition("/")[2]
        self._listing = listing
        self._prefix = path and f"{path}/"
        self._client = client
        self._cache = cache

    def names(self) -> tuple[str, ...]:
        """Return the base names of its files, sorted."""
        inside = (path.removeprefix(self._prefix) for path in self._listing.files if path.startswith(self._prefix))
        return tuple(sorted(name for name in inside if "/" not in name))

    def has(self, name: str) -> bool:
        """Return whether a file of that base name is there."""
        return self._prefix + name in self._listing.files

    def join(self, name: str) -> str:
        """Return the location of one of its files, for messages."""
        return f"{self.location}/{name}"

    def encloses(self, name: str) -> bool:
        """Return whether a name that a file gives stays inside the folder: no path."""
        return is_plain(name)

    def open(self, name: str) -> RangeSource:
        """Open one of its files; the first byte is asked for when it is read.

        Raises:
            SourceError: there is no such file.
        """
        path = self._prefix + name
        file = self._listing.files.get(path)
        if file is None:
            raise SourceError(self.join(name), "there is no such file; expected a model file. Check the name.")
        token = self._listing.token
        place = Place(
            name=name,
            location=self.join(name),
            url=self._listing.url_of(path),
            authorization=None if token is None else f"Bearer {token}",
            cache_key=self._listing.cache_key_of(path),
            size=file.size,
            stamp=file.digest,
            advice=_ADVICE,
        )
        return RangeSource(self._client, place, self._cache)

    def each(self, function: Callable[[str], Result], names: Iterable[str]) -> Iterator[Result]:
        """Yield what a function gives for names of files, in their order; several are worked on at a time."""
        return in_order(function, names, WORKERS)
