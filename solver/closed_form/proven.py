"""Places for what a solver has proved, to stand beside the closed forms. Nothing here solves anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["MeasuredBalance", "ProvenRoute", "ProvenTier"]


@dataclass(frozen=True, slots=True)
class MeasuredBalance:
    """The most even placement of real blocks on a number of equal nodes.

    `nodes` were offered, `devices_used` hold a block; imbalance = `largest_load_bytes` / (Σ loads / devices used).
    `proof` names the kind of proof that no placement has a smaller largest load, "none" where there is none.
    """

    nodes: int
    devices_used: int
    largest_load_bytes: int
    imbalance: Fraction
    proof: str


@dataclass(frozen=True, slots=True)
class ProvenTier:
    """What placing the real blocks on nodes of one tier gave.

    `outcome` is that of the search for the fewest nodes: optimal, feasible, infeasible or unknown. `fewest_nodes` is
    None where no placement was found, `at_recommended` where none was found on the recommended count.
    `assumption_holds` compares the imbalance at the recommended count with the assumed factor, exactly.
    `indivisible_blocks` are those that end a run before its node is full, where more nodes are needed than the minimum.
    """

    outcome: str
    proof: str
    fewest_nodes: int | None
    at_fewest: MeasuredBalance | None
    at_recommended: MeasuredBalance | None
    assumption_holds: bool | None
    indivisible_blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProvenRoute:
    """What placing the real blocks on the nodes of a route gave.

    `sufficient` is True or False where that is proved and None where the limits ran out; `nodes_used` counts the nodes
    of the best placement, proved fewest where `outcome` is optimal. `reasons` say why where there is no placement.
    """

    outcome: str
    proof: str
    sufficient: bool | None
    nodes_used: int | None
    reasons: tuple[str, ...]
