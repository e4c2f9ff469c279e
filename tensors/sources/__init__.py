"""Where bytes come from: ranges of a file, and the other files beside it.

Parsers see the two protocols alone, so that every kind of place counts and bounds its reads in one spot.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from tensors.sources.address import has_scheme, shown_location
from tensors.sources.local import FileSource, LocalFolder, open_every
from tensors.sources.local import open_local as open_location
from tensors.sources.memory import BytesSource
from tensors.sources.protocols import Folder, Source, is_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tensors.sources.protocols import Result

__all__ = [
    "TIME_LIMIT_SECONDS",
    "BytesSource",
    "FileSource",
    "Folder",
    "LocalFolder",
    "Source",
    "has_scheme",
    "is_plain",
    "open_location",
    "shown_location",
    "visit",
    "visit_every",
]

TIME_LIMIT_SECONDS: Final = 120.0
"""How long all headers of a distant model may take where nobody says otherwise."""


def visit(
    location: str | os.PathLike[str],
    use: Callable[[Folder, str | None], Result],
    *,
    cache: bool,
    time_limit_seconds: float,
) -> Result:
    """Return what `use` makes of the folder of a model and, unless the folder itself was named, the name of a file.

    The folder is a path of this machine or, by an address, a distant one: that is read within a limit of time, and with
    `cache` its headers are kept on disk for the next time.

    Raises:
        SourceError: there is nothing at that place, or it cannot be read.
    """
    place = os.fspath(location)
    if not has_scheme(place):
        return use(*open_location(place))
    # Everything about the web is loaded when something there is named.
    from tensors.sources.remote import visit_remote  # noqa: PLC0415

    return visit_remote(place, use, cache=cache, time_limit_seconds=time_limit_seconds)


def visit_every(
    location: str | os.PathLike[str],
    use: Callable[[Sequence[tuple[Folder, str]]], Result],
    *,
    cache: bool,
    time_limit_seconds: float,
) -> Result:
    """Return what `use` makes of the folder and the base name of every model at a location, as for `visit`.

    A folder stands for all models in it and in the folders in it, a repository for all of its own.

    Raises:
        SourceError: there is no model at that place, or it cannot be read.
    """
    place = os.fspath(location)
    if not has_scheme(place):
        return use(open_every(place))
    from tensors.sources.remote import visit_remote_every  # noqa: PLC0415 - as above

    return visit_remote_every(place, use, cache=cache, time_limit_seconds=time_limit_seconds)
