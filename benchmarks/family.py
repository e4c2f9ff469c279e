"""What a family of instances is: what is asked of each, how long, and what it should take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.problem import Problem

__all__ = ["MEMORY", "RIVALS", "Family", "Instance", "Target"]

MEMORY = ("nodes", "balance", "load", "headroom", "context", "tokens")
RIVALS = ("highs", "intervals")


@dataclass(frozen=True, slots=True)
class Instance:
    """A problem that is drawn or read again wherever it is needed."""

    name: str
    make: Callable[[], Problem]


@dataclass(frozen=True, slots=True)
class Target:
    """What an objective should take: seconds to proof, or a gap when the limit is reached. None where none is set."""

    seconds: float | None
    gap: float | None


@dataclass(frozen=True, slots=True)
class Family:
    """Instances with the objectives asked of each, under one limit of seconds.

    `most_mib` is the memory that a run should stay below, None where none is set. `rivals` are given the first
    `compared` instances. A `public` family is read from the folder of public instances, and left out without it.
    """

    name: str
    instances: tuple[Instance, ...]
    targets: dict[str, Target]
    limit_seconds: float
    most_mib: int | None
    rivals: tuple[str, ...]
    compared: int
    public: bool = False
