"""The registry of families, each at its full size and at one that takes seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.drawn import DRAWN, DRAWN_SMALL
from benchmarks.public.families import PUBLIC, PUBLIC_SMALL

if TYPE_CHECKING:
    from benchmarks.family import Family

__all__ = ["FAMILIES", "SMALL", "families_of"]

FAMILIES: dict[str, Family] = {family.name: family for family in (*DRAWN, *PUBLIC)}
SMALL: dict[str, Family] = {family.name: family for family in (*DRAWN_SMALL, *PUBLIC_SMALL)}


def families_of(*, small: bool) -> dict[str, Family]:
    """Return the families of one size by name."""
    return SMALL if small else FAMILIES
