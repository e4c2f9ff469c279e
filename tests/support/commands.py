"""What the fixture `layerfit` returns: a command line run in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Layerfit", "Ran"]


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


class Layerfit(Protocol):
    """Runs a command line and returns its exit code and what it wrote."""

    def __call__(self, *arguments: str | Path) -> Ran:
        """Run the arguments as a shell would hand them over."""
        ...
