"""How hard to try: limits of time and work, and the clock that counts them over all levels of one question."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.limits import Value

__all__ = ["Clock", "Effort", "Progress", "silent"]

# Called with the objective's name, the best value so far and the best bound so far (None where there is none yet).
Progress: TypeAlias = "Callable[[str, Value | None, Value | None], None]"


@dataclass(frozen=True, slots=True)
class Effort:
    """Limits of one call.

    A deterministic limit is in the solver's own units, about a second each, and repeats; seconds do not.
    """

    time_limit_seconds: float
    deterministic_limit: float | None
    workers: int
    seed: int


@dataclass(slots=True)
class Clock:
    """What is left of an effort, and what has been spent. The one record here that changes."""

    effort: Effort
    started: float = field(default_factory=time.monotonic)
    deterministic_time: float = 0.0

    @property
    def seconds_left(self) -> float:
        """Return the wall time left, not below 0."""
        return max(self.effort.time_limit_seconds - (time.monotonic() - self.started), 0.0)

    @property
    def deterministic_left(self) -> float | None:
        """Return the deterministic time left, or None where it is not limited."""
        if self.effort.deterministic_limit is None:
            return None
        return max(self.effort.deterministic_limit - self.deterministic_time, 0.0)

    @property
    def spent(self) -> bool:
        """Return whether a limit is reached."""
        return self.seconds_left <= 0 or self.deterministic_left == 0

    @property
    def wall_ms(self) -> int:
        """Return the milliseconds since the start."""
        return round((time.monotonic() - self.started) * 1000)


def silent(_name: str, _best: Value | None, _bound: Value | None) -> None:
    """Show no progress."""
