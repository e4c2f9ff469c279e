"""The registry of objectives: what each is called, how it is measured, and how its value becomes a limit.

Lexicographic search fixes the value of one level and goes on: a fixed value is a limit on placements, and for memory
that is a cap on the load of each class of nodes. Caps are integers computed in Python, so that no ratio ever reaches a
solver.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from solver.errors import InputError
from solver.measures import largest_fill, largest_load, nodes_used

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.problem import Placement, Problem

__all__ = ["NO_LIMITS", "OBJECTIVES", "Limits", "Objective", "Value", "cap_bytes", "objectives_named"]

Value = int | Fraction


@dataclass(frozen=True, slots=True)
class Limits:
    """What earlier levels, or a search for something better, allow; None where nothing is limited."""

    max_nodes: int | None
    max_load_bytes: int | None
    max_fill: Fraction | None
    below_fill: Fraction | None


NO_LIMITS = Limits(max_nodes=None, max_load_bytes=None, max_fill=None, below_fill=None)


@dataclass(frozen=True, slots=True)
class Objective:
    """One figure to make as small as it goes.

    `at_most(limits, value)` adds "no worse than value" to limits, `below(limits, value)` adds "better than value".
    """

    name: str
    unit: str
    formula: str
    measure: Callable[[Problem, Placement], Value]
    at_most: Callable[[Limits, Value], Limits]
    below: Callable[[Limits, Value], Limits]


def cap_bytes(limits: Limits, budget_bytes: int) -> int:
    """Return the largest load that the limits allow a node with this budget, never above the budget.

    A ratio p/q becomes p·budget // q (at most) or (p·budget − 1) // q (strictly below): exact, in Python's integers.
    """
    cap = budget_bytes
    if limits.max_load_bytes is not None:
        cap = min(cap, limits.max_load_bytes)
    if limits.max_fill is not None:
        cap = min(cap, limits.max_fill.numerator * budget_bytes // limits.max_fill.denominator)
    if limits.below_fill is not None:
        cap = min(cap, (limits.below_fill.numerator * budget_bytes - 1) // limits.below_fill.denominator)
    return cap


def objectives_named(text: str) -> tuple[Objective, ...]:
    """Return the objectives of a list such as "nodes,balance", most important first.

    Raises:
        InputError: a name is unknown or stands twice, or the list is empty.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in OBJECTIVES:
            known = ", ".join(sorted(OBJECTIVES))
            raise InputError("objective", f'"{name[:40]}" is not one; expected some of {known}. Correct the list.')
    if len(set(names)) < len(names):
        raise InputError("objective", f'"{text}" names one twice; expected each once. Remove the second.')
    return tuple(OBJECTIVES[name] for name in names)


def _least(value: int, limit: int | None) -> int:
    return value if limit is None else min(value, limit)


def _nodes_at_most(limits: Limits, value: Value) -> Limits:
    return replace(limits, max_nodes=_least(int(value), limits.max_nodes))


def _load_at_most(limits: Limits, value: Value) -> Limits:
    return replace(limits, max_load_bytes=_least(int(value), limits.max_load_bytes))


def _fill_at_most(limits: Limits, value: Value) -> Limits:
    fill = Fraction(value)
    return replace(limits, max_fill=fill if limits.max_fill is None else min(fill, limits.max_fill))


def _fill_below(limits: Limits, value: Value) -> Limits:
    fill = Fraction(value)
    return replace(limits, below_fill=fill if limits.below_fill is None else min(fill, limits.below_fill))


OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective(
            name="nodes",
            unit="count",
            formula="nodes that hold a stage",
            measure=nodes_used,
            at_most=_nodes_at_most,
            below=lambda limits, value: _nodes_at_most(limits, int(value) - 1),
        ),
        Objective(
            name="balance",
            unit="ratio",
            formula="largest load / budget",
            measure=largest_fill,
            at_most=_fill_at_most,
            below=_fill_below,
        ),
        Objective(
            name="load",
            unit="bytes",
            formula="largest load",
            measure=largest_load,
            at_most=_load_at_most,
            below=lambda limits, value: _load_at_most(limits, int(value) - 1),
        ),
    )
}
