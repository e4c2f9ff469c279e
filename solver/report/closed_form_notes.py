"""Sentences beside the tier table: where there is no headroom, and what the proofs say of the assumption."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solver.closed_form import TopologyPlan

__all__ = ["tier_notes"]

_LONGEST_LIST = 8


def tier_notes(plans: Mapping[str, TopologyPlan]) -> tuple[str, ...]:
    """Return the notes of all tiers: first those of the arithmetic, then those of the proofs."""
    # One node alone has nothing to be uneven with.
    agree = [
        name for name, plan in plans.items() if plan.counts_agree and plan.recommended_nodes > 1 and plan.proven is None
    ]
    notes = [_without_headroom(agree)] if agree else []
    for name, plan in plans.items():
        notes.extend(_proven_notes(f"tier {name}", plan))
    return tuple(notes)


def _without_headroom(names: list[str]) -> str:
    listed = ", ".join(names)
    return f"tier {listed}: both counts agree, so there is no headroom; admissible only with a proven placement"


def _proven_notes(tier: str, plan: TopologyPlan) -> list[str]:
    proven = plan.proven
    if proven is None:
        return []
    if proven.fewest_nodes is None:
        found = "no number of nodes takes the blocks" if proven.outcome == "infeasible" else "no answer in the limits"
        return [f"{tier}: {found}"]
    notes = []
    if proven.indivisible_blocks:
        blocks = ", ".join(str(block) for block in proven.indivisible_blocks[:_LONGEST_LIST])
        more = " …" if len(proven.indivisible_blocks) > _LONGEST_LIST else ""
        notes.append(
            f"{tier}: {proven.fewest_nodes} nodes where arithmetic asks for {plan.arithmetic_minimum_nodes}, "
            f"since blocks {blocks}{more} do not fit beside those before them"
        )
    measured = proven.at_recommended
    if proven.assumption_holds is not False:
        return notes
    if measured is None:
        notes.append(f"{tier}: the recommended {plan.recommended_nodes} nodes do not take the blocks")
    else:
        notes.append(
            f"{tier}: {float(measured.imbalance):.4f} at the recommended {measured.nodes} nodes is above the assumed "
            f"{float(plan.imbalance_factor):.2f}: the assumption does not hold"
        )
    return notes
