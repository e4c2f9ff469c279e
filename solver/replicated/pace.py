"""The pace that a search asks for: whether replicas together keep up with it, decided without rounding."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Pace", "pace_of"]

# Sums of a few floats are exact to some 10^-15; what is closer to the limit than this is summed again in fractions.
_NEAR = 1e-9
_NS = 10**9


@dataclass(frozen=True, slots=True)
class Pace:
    """At most so many nanoseconds between two tokens; with `strict` fewer than that."""

    ns: Fraction
    strict: bool

    def kept(self, count_and_time: Sequence[tuple[int, int]]) -> bool:
        """Return whether so many replicas, each with its time in ns, together keep the pace."""
        together = sum(count / time for count, time in count_and_time) * float(self.ns)
        if abs(together - 1) > _NEAR:
            return together > 1
        exact = sum((Fraction(count, time) for count, time in count_and_time), Fraction(0)) * self.ns
        return exact > 1 if self.strict else exact >= 1

    def carried_by(self, tokens_per_second: Fraction) -> bool:
        """Return whether so many tokens a second keep the pace."""
        passed = tokens_per_second * self.ns
        return passed > _NS if self.strict else passed >= _NS


def pace_of(count_and_time: Sequence[tuple[int, int]]) -> Fraction:
    """Return the pace of replicas that share tokens: their rates add."""
    return 1 / sum((Fraction(count, time) for count, time in count_and_time), Fraction(0))
