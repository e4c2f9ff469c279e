"""Packages that only distant models need: the extra `remote`."""

from __future__ import annotations

from importlib.util import find_spec

from tensors.errors import SourceError
from tensors.parts import listed

__all__ = ["needed"]


def needed(location: str, *packages: str) -> None:
    """Refuse a location whose packages are not installed.

    Raises:
        SourceError: it names them and the extra that brings them.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        problem = f'reading it takes {listed(missing)}; expected the extra "remote" to be installed.'
        raise SourceError(location, f"{problem} Run pip install 'layerfit[remote]'.")
