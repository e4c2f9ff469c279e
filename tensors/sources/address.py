"""Addresses of files on the web: checked, taken apart, and shown without what is secret in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tensors.errors import SourceError
from tensors.sources.protocols import is_plain
from tensors.text import quoted

if TYPE_CHECKING:
    from urllib.parse import SplitResult

__all__ = ["Address", "has_scheme", "parse_address", "shown_location", "shown_url"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PATH_SAFE = "/%:@!$&'()*+,;=~-._"
_QUERY_SAFE = _PATH_SAFE + "?"


class Address(NamedTuple):
    """A file on the web.

    `url` is what is asked for, without a name and password, which `authorization` holds; `shown` is what people and
    caches may see: no name, password or query. `name` is the base name, decoded where that is safe.
    """

    url: str
    shown: str
    name: str
    authorization: str | None

    @property
    def has_query(self) -> bool:
        """Return whether the address says more than scheme, host and path."""
        return "?" in self.url

    @property
    def folder_name(self) -> str:
        """Return the base name of the folder, "" where the file stands at the top."""
        folders = self.shown.partition("://")[2].split("/")[1:-1]
        return _decoded(folders[-1]) if folders else ""

    def sibling(self, name: str) -> Address:
        """Return the address of a file beside this one, with the same query and authorization."""
        from urllib.parse import quote  # noqa: PLC0415 - only distant files need it

        path, mark, query = self.url.partition("?")
        folder = path.rpartition("/")[0]
        return Address(
            url=f"{folder}/{quote(name)}{mark}{query}",
            shown=f"{self.shown.rpartition('/')[0]}/{quote(name)}",
            name=name,
            authorization=self.authorization,
        )


def has_scheme(location: str) -> bool:
    """Return whether a location is an address and no path."""
    return _SCHEME.match(location) is not None


def parse_address(location: str) -> Address:
    """Take an http or https address apart.

    Raises:
        SourceError: it is none.
    """
    from urllib.parse import quote  # noqa: PLC0415

    parts = _split(location)
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname or not location.isprintable():
        problem = "is no address; expected one like https://HOST/FOLDER/FILE.gguf. Check it."
        raise SourceError(_shown_broken(location), problem)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port is None else f":{parts.port}"
    path = quote(parts.path, safe=_PATH_SAFE) or "/"
    shown = f"{parts.scheme}://{host}{port}{path}"
    query = f"?{quote(parts.query, safe=_QUERY_SAFE)}" if parts.query else ""
    return Address(
        url=shown + query,
        shown=shown,
        name=_decoded(path.rpartition("/")[2]),
        authorization=_basic(parts),
    )


def shown_location(location: str) -> str:
    """Return a location as people may see it: of an address, without a name, a password, a query or a fragment."""
    if not has_scheme(location):
        return location
    scheme, _, rest = location.partition("://")
    place = rest.partition("#")[0].partition("?")[0]
    host, slash, path = place.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def shown_url(url: str) -> str:
    """Return any address in quotes, as people may see it; what a server made of it stays on one short line."""
    return quoted(shown_location(url))


def _shown_broken(location: str) -> str:
    """Return a location that cannot be taken apart, without all that could be a name and a password."""
    scheme, mark, rest = shown_location(location).partition("://")
    shown = f"{scheme}{mark}{rest.rpartition('@')[2]}"
    return shown if shown.isprintable() else quoted(shown)


def _split(location: str) -> SplitResult | None:
    from urllib.parse import urlsplit  # noqa: PLC0415

    try:
        parts = urlsplit(location)
        # A port is looked at only when it is asked for.
        sound = parts.port is None or parts.port > 0
    except ValueError:
        return None
    return parts if sound else None


def _decoded(segment: str) -> str:
    """Return a part of a path as a name, without escapes where that makes a name that is safe to show."""
    from urllib.parse import unquote  # noqa: PLC0415

    name = unquote(segment)
    return name if is_plain(name) and name.isprintable() else segment


def _basic(parts: SplitResult) -> str | None:
    if parts.username is None:
        return None
    from base64 import b64encode  # noqa: PLC0415
    from urllib.parse import unquote  # noqa: PLC0415

    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + b64encode(pair.encode()).decode()
