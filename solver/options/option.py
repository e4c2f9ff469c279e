"""One way to serve one artifact: where, what the fullest card or host would hold, and whether that place is free."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from solver.options.artifact import Artifact  # noqa: TC001 - a field

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["Method", "Option", "Place", "PlacedStage", "Verdict"]


class Method(StrEnum):
    """Who says that it fits: plain arithmetic, or the solver."""

    SIMPLE = "simple"
    EXACT = "exact"


class Verdict(StrEnum):
    """What the exact method says of a simple option: it fits, it does not, or nobody could ask."""

    FITS = "fits"
    REFUTED = "refuted"
    NOT_ASKED = "not asked"

    @classmethod
    def of(cls, fits: bool) -> Verdict:
        """Return the verdict of an answer."""
        return cls.FITS if fits else cls.REFUTED


@dataclass(frozen=True, slots=True)
class Place:
    """Where an option is. `gpus_per_node` is None where nodes differ; `gpu_class` and `fabric` are "" where none is.

    `cards` counts all cards, and of several memories every host as one; it is 0 in one host. `cpu` says that some of it
    runs on a processor.
    """

    cpu: bool
    gpu_class: str
    fabric: str
    gpus_per_node: int | None
    nodes: int
    cards: int
    label: str


@dataclass(frozen=True, slots=True)
class PlacedStage:
    """The half-open run of blocks [start, end) on a device of a node, and its bytes beside those it may use.

    Both are of one card where several share the stage.
    """

    node: str
    device: str
    start: int
    end: int
    need_bytes: int
    have_bytes: int


@dataclass(frozen=True, slots=True)
class Option:
    """One way to serve an artifact.

    `need_bytes` and `have_bytes` are of the fullest card, or of the host. `hosts` counts the nodes that offer such a
    place, `free_now` is None where nobody says what is in use. `order` is that of the artifact among all, for ties.
    `longest_context` is in tokens, None where unknown or without limit. Stages and what proves the cut are the
    solver's; `verdict` is about simple options, and `note` says why one is refuted.
    """

    artifact: Artifact
    order: int
    engine: str
    place: Place
    need_bytes: int
    have_bytes: int
    hosts: int
    free_now: bool | None
    method: Method
    verdict: Verdict
    stages: tuple[PlacedStage, ...]
    longest_context: int | None
    proof: str
    note: str

    @property
    def bits_per_weight(self) -> Fraction | None:
        """Return the bits of a weight, None where unknown."""
        return self.artifact.bits_per_weight

    @property
    def refuted(self) -> bool:
        """Return whether the exact method shows that it does not fit."""
        return self.verdict is Verdict.REFUTED
