"""Models on web servers: http and https addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensors.errors import SourceError
from tensors.sources.address import parse_address
from tensors.sources.answers import Advice, ClosedFileError, MissingFileError
from tensors.sources.protocols import is_plain
from tensors.sources.ranges import Place, RangeSource
from tensors.sources.threads import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tensors.sources.address import Address
    from tensors.sources.client import Client
    from tensors.sources.header_cache import HeaderCache
    from tensors.sources.protocols import Result

__all__ = ["WORKERS", "WebFolder", "open_web"]

WORKERS = 8
"""How many files of a set are read at the same time."""

_ADVICE = Advice(
    unknown="Put a name and a password into the address, as https://NAME:PASSWORD@HOST/.",
    refused="Check your rights, and whether the address has run out.",
)


def open_web(location: str, client: Client, cache: HeaderCache | None) -> tuple[WebFolder, str]:
    """Return the folder of a file on the web, and the base name of the file.

    Raises:
        SourceError: the address is none, or names no file.
    """
    address = parse_address(location)
    if not address.name:
        problem = "names a folder; expected the address of a file, since servers list none. Add the name of a file."
        raise SourceError(address.shown, problem)
    return WebFolder(address, client, cache), address.name


class WebFolder:
    """The files beside a file on the web. No server lists them: whether one is there is found out by asking for it."""

    def __init__(self, address: Address, client: Client, cache: HeaderCache | None) -> None:
        self.location = address.shown.rpartition("/")[0]
        self.name = address.folder_name
        self._address = address
        self._client = client
        self._cache = cache
        self._met: dict[str, RangeSource] = {}

    def names(self) -> tuple[str, ...]:
        """Refuse: servers list no files.

        Raises:
            SourceError: always.
        """
        raise SourceError(self.location, "cannot be listed; expected the address of a file. Name one.")

    def has(self, name: str) -> bool:
        """Return whether the server has a file of that name; what it sends of it is kept until the file is opened.

        Raises:
            SourceError: the server refuses or fails, other than by having no such file.
        """
        source = self._source(name)
        try:
            source.meet()
        except MissingFileError:
            return False
        except ClosedFileError:
            # Stores that list nothing refuse what is not there. An index or a config.json need not be.
            if name.endswith(".json"):
                return False
            raise
        self._met[name] = source
        return True

    def join(self, name: str) -> str:
        """Return the location of one of its files, for messages."""
        return self._address_of(name).shown

    def encloses(self, name: str) -> bool:
        """Return whether a name that a file gives stays inside the folder: no path."""
        return is_plain(name)

    def open(self, name: str) -> RangeSource:
        """Open one of its files."""
        return self._met.pop(name, None) or self._source(name)

    def each(self, function: Callable[[str], Result], names: Iterable[str]) -> Iterator[Result]:
        """Yield what a function gives for names of files, in their order; several are worked on at a time."""
        return in_order(function, names, WORKERS)

    def _address_of(self, name: str) -> Address:
        return self._address if name == self._address.name else self._address.sibling(name)

    def _source(self, name: str) -> RangeSource:
        address = self._address_of(name)
        place = Place(
            name=name,
            location=address.shown,
            url=address.url,
            authorization=address.authorization,
            # What a query says may be secret, and may choose the content: such headers are not kept.
            cache_key=None if address.has_query else address.shown,
            size=None,
            stamp=None,
            advice=_ADVICE,
        )
        return RangeSource(self._client, place, self._cache)
