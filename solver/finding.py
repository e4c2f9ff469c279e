"""What an audit finds: places where a document says other than what follows from its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Finding", "differences", "short"]

_LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a plan says and that is not so."""

    place: str
    problem: str


def differences(place: str, said: object, proper: object) -> Iterator[Finding]:
    """Yield where a part of a document differs from the proper one, as deep as the two have the same shape."""
    if isinstance(proper, dict) and isinstance(said, dict) and said.keys() == proper.keys():
        for key, value in proper.items():
            yield from differences(f"{place}.{key}", said[key], value)
    elif isinstance(proper, list) and isinstance(said, list) and len(said) == len(proper):
        for index, (one, other) in enumerate(zip(said, proper, strict=True)):
            yield from differences(f"{place}[{index}]", one, other)
    elif not _same(said, proper):
        yield Finding(place, f"{short(said)} is said, {short(proper)} follows from the inputs")


def short(value: object) -> str:
    """Return a value of a document as a finding shows it: on one line, and nothing deep."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    text = (
        {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else repr(value)
    )
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _same(said: object, proper: object) -> bool:
    """Return whether two plain values are equal; true is not 1 here, as it is to Python."""
    return isinstance(said, bool) == isinstance(proper, bool) and said == proper
