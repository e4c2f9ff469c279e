"""A placement as chains of steps, where several nodes may hold one step whole and share its tokens."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Chain", "Step", "chains_of", "placement_of_chains"]


@dataclass(frozen=True, slots=True)
class Step:
    """The half-open run of items [start, end) that each of `nodes` holds; every token passes one of them."""

    start: int
    end: int
    nodes: tuple[str, ...]


Chain = tuple[Step, ...]


def chains_of(placement: Placement) -> tuple[Chain, ...]:
    """Return the chains of a placement as listed: stages in a row of one chain with the same items are one step."""
    return tuple(
        tuple(
            Step(start, end, tuple(stage.node for stage in replicas))
            for (start, end), replicas in groupby(stages, key=lambda stage: (stage.start, stage.end))
        )
        for _, stages in groupby(placement.stages, key=lambda stage: stage.chain)
    )


def placement_of_chains(chains: Iterable[Chain]) -> Placement:
    """Return chains as a placement, numbered in the order given."""
    return Placement(
        tuple(
            Stage(step.start, step.end, node, chain=number)
            for number, chain in enumerate(chains)
            for step in chain
            for node in step.nodes
        )
    )
