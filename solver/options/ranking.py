"""The order of options: GPU before CPU, fewer cards, fewer nodes, higher quality, free now, most room.

Busy is not unfit, so what is free stands behind all that makes an option good: else one card in use would send every
artifact to a processor.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solver.options.option import Option

__all__ = ["CRITERIA", "Key", "first_difference", "quality", "rank", "rank_key"]

_GPU_CAP: Final = Fraction("8.6")
_CPU_CAP: Final = Fraction("5.8")
_SLOPE: Final = 4

Key: TypeAlias = "tuple[bool, int, int, Fraction, int, int]"

CRITERIA: Final = (
    "cards and no processor",
    "fewer cards",
    "fewer nodes",
    "higher quality",
    "a place that is free now",
    "more room",
)
"""What each place of a key is about, in order."""


def quality(bits: Fraction | float | None, *, cpu: bool = False) -> Fraction | float:
    """Return how good so many bits a weight are: more is better up to a cap, and past it a quarter of it worse.

    A processor reads every bit for every token, so its cap is lower. 0 where bits are unknown (0 or None).
    """
    if not bits:
        return Fraction(0)
    cap = _CPU_CAP if cpu else _GPU_CAP
    return bits if bits <= cap else cap - (bits - cap) / _SLOPE


def rank_key(option: Option) -> Key:
    """Return what options are ordered by, the least first."""
    place = option.place
    return (
        place.cpu,
        place.cards,
        place.nodes,
        -Fraction(quality(option.bits_per_weight, cpu=place.cpu)),
        {True: 0, None: 1, False: 2}[option.free_now],
        option.need_bytes - option.have_bytes,
    )


def rank(options: Iterable[Option]) -> tuple[Option, ...]:
    """Return options best first; ties keep the artifacts' order, then the names of classes, then the order given."""
    return tuple(sorted(options, key=lambda option: (rank_key(option), option.order, option.place.gpu_class)))


def first_difference(better: Option, other: Option) -> int | None:
    """Return which of the criteria puts one option before another, None where they are equal in all."""
    pairs = zip(rank_key(better), rank_key(other), strict=True)
    return next((position for position, (one, two) in enumerate(pairs) if one != two), None)
