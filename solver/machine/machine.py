"""How a machine is asked: files, folders and commands, and a library of the driver where one is installed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["LibraryCard", "Machine", "natural", "number_in"]

# No memory has more digits than this.
_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class LibraryCard:
    """A card as the driver's library reports it; `memory_bytes` is None where it has no memory of its own."""

    name: str
    pci: str
    memory_bytes: int | None
    reserved_bytes: int
    used_bytes: int | None
    divided: bool


class Machine(Protocol):
    """One machine. Nothing here raises: what is absent, refused or too slow is None or empty."""

    @property
    def system(self) -> str:
        """Return "Linux", "Darwin", "Windows" or another name of the operating system."""
        ...

    @property
    def host_name(self) -> str:
        """Return the name that the machine has in its network; may be empty."""
        ...

    def text(self, path: str) -> str | None:
        """Return the text of a file."""
        ...

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the names in a folder, sorted."""
        ...

    def output(self, *command: str) -> str | None:
        """Return what a command writes, None where it is absent, fails or takes too long."""
        ...

    def nvidia_library(self) -> tuple[LibraryCard, ...] | None:
        """Return the cards that NVML lists, None where there is no such library."""
        ...


def natural(text: str | None) -> int | None:
    """Return the whole number that text is, None where it is anything else."""
    word = "" if text is None else text.strip()
    return int(word) if word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS else None


def number_in(machine: Machine, path: str) -> int | None:
    """Return the whole number that a file holds, None where it is absent or holds anything else."""
    return natural(machine.text(path))
