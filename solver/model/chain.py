"""What the rules of stages in order need of a model, whatever else it decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

__all__ = ["Chain", "Frame"]


class Chain(Protocol):
    """Variables of stages in order."""

    @property
    def cut(self) -> tuple[cp_model.IntVar, ...]:
        """Return where each stage starts, and where the last ends."""

    @property
    def use(self) -> tuple[tuple[cp_model.IntVar, ...], ...]:
        """Return by stage and position of a class whether the stage is on a device of it."""

    @property
    def used(self) -> tuple[cp_model.IntVar, ...]:
        """Return by stage whether it is used."""


class Frame(Protocol):
    """How much there is to place where."""

    @property
    def items(self) -> int:
        """Return how many items there are."""

    @property
    def stages(self) -> int:
        """Return how many stages there may be."""

    @property
    def classes(self) -> tuple[int, ...]:
        """Return which class of the problem each position stands for."""

    @property
    def counts(self) -> tuple[int, ...]:
        """Return by position how many devices the class has."""
