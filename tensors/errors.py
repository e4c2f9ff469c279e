"""What can be wrong with a model's files.

TensorsError
├── UnitError          a size, rate or time without a unit we know
├── SourceError        bytes that cannot be had: no such file, a server's refusal
├── FormatError        a file breaks its format, or uses a part of it we do not read
├── ArchitectureError  the header lacks a fact that was asked for
└── CacheTypeError     a cache type that is not known
"""

from __future__ import annotations

from tensors.text import quoted

__all__ = ["ArchitectureError", "CacheTypeError", "FormatError", "SourceError", "TensorsError", "UnitError"]


class TensorsError(Exception):
    """Base of every error that `tensors` raises on purpose."""


class UnitError(TensorsError, ValueError):
    """Text that should be a size, rate or time and is not. The message does not say where it stood."""


class SourceError(TensorsError):
    """Bytes that cannot be read: a missing file, a folder without a model, a refusal of a server."""

    def __init__(self, location: str, problem: str) -> None:
        super().__init__(location, problem)
        self.location = location
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.location}: {self.problem}"


class FormatError(TensorsError):
    """A model file breaks its format, or uses a part of it that we do not read."""

    def __init__(self, location: str, offset: int, problem: str) -> None:
        super().__init__(location, offset, problem)
        self.location = location
        self.offset = offset
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.location}, byte {self.offset:,}: {self.problem}"


class ArchitectureError(TensorsError):
    """A fact that is needed stands in no header: names the key that would hold it."""

    def __init__(self, model: str, problem: str) -> None:
        super().__init__(model, problem)
        self.model = model
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.model}: {self.problem}"


class CacheTypeError(TensorsError, ValueError):
    """A name that is no type of cache values; `known` lists those that are, sorted."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(name, known)
        self.name = name
        self.known = known

    def __str__(self) -> str:
        return f"{quoted(self.name)} is not a cache type; expected one of {', '.join(self.known)}."
