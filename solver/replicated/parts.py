"""Parts of a cluster that wide links hold together: sites, where links between them are thin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.measures import transfer_ns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from solver.problem import Problem

__all__ = ["joined_parts"]


def joined_parts(problem: Problem, names: Sequence[str], fastest_ns: Fraction) -> list[list[str]]:
    """Return the nodes in parts: two are in one if links that carry all tokens alone join them, directly or not."""
    parts: list[list[str]] = []
    left = list(names)
    while left:
        part = [left.pop(0)]
        for node in part:
            joined = [other for other in left if _wide(problem, node, other, fastest_ns)]
            part += joined
            left = [other for other in left if other not in joined]
        parts.append(part)
    return parts


def _wide(problem: Problem, one: str, other: str, fastest_ns: Fraction) -> bool:
    return any(
        not problem.link(*ends).forbidden and transfer_ns(problem, *ends) <= fastest_ns
        for ends in ((one, other), (other, one))
    )
