"""Seams in the model of shared memories: which link a token takes where one stage ends and the next begins.

Devices that every link treats alike are one group; where all devices are one and none of its links is barred, nothing
needs deciding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.model.draft import Draft
    from solver.model.pooled_sizes import Placed, Sizes
    from solver.problem import Link, Problem

__all__ = ["Seams", "seams_of"]

_Rows = tuple[tuple[cp_model.IntVar, ...], ...]
_Sum = cp_model.LinearExpr


@dataclass(frozen=True, eq=False)
class Seams:
    """Groups of devices, and y by groups (source, target) and item; y is None where there is one group and no bar."""

    groups: tuple[tuple[int, ...], ...]
    y: dict[tuple[int, int], dict[int, cp_model.IntVar]] | None


def seams_of(draft: Draft, x: _Rows, s: _Rows, problem: Problem, sizes: Sizes) -> Seams:
    """Declare the seams with their rule; links that are forbidden have none."""
    names = [device.node.name for device in sizes.devices]
    groups = _groups(problem, names)
    if len(groups) == 1 and (len(groups[0]) == 1 or not problem.link(names[0], names[1]).forbidden):
        return Seams(groups, None)
    group_of = {d: number for number, group in enumerate(groups) for d in group}
    y = {
        (g, h): {i: draft.boolean(f"y[{i},{g},{h}]", _crosses(group_of, i, g, h)) for i in range(1, sizes.items)}
        for g, sources in enumerate(groups)
        for h, targets in enumerate(groups)
        if (g != h or len(sources) > 1) and not problem.link(names[sources[0]], names[targets[g == h]]).forbidden
    }
    seams = Seams(groups, y)
    hops(draft.model, x, s, seams, sizes.items)
    return seams


def hops(model: cp_model.CpModel, x: _Rows, s: _Rows, seams: Seams, items: int) -> None:
    """Where a stage ends behind the first item, another starts, over a link that is not forbidden."""
    for i in range(1, items):
        for number, group in enumerate(seams.groups):
            out = [row[i] for (g, _), row in (seams.y or {}).items() if g == number]
            into = [row[i] for (_, h), row in (seams.y or {}).items() if h == number]
            starts = _Sum.sum([s[d][i] for d in group]) - _Sum.sum([s[d][i - 1] for d in group])
            grown = _Sum.sum([x[d][i] for d in group]) - _Sum.sum([x[d][i - 1] for d in group])
            model.add(_Sum.sum(into) == starts)
            model.add(_Sum.sum(out) == starts - grown)


def _crosses(group_of: dict[int, int], i: int, g: int, h: int) -> Callable[[Placed], bool]:
    def meaning(placed: Placed) -> bool:
        at = next((k for k, d in enumerate(placed.order) if k and placed.held[d].start == i), None)  # type: ignore[union-attr]
        return at is not None and (group_of[placed.order[at - 1]], group_of[placed.order[at]]) == (g, h)

    return meaning


def _groups(problem: Problem, names: list[str]) -> tuple[tuple[int, ...], ...]:
    """Return the devices by what their links say: two of a group have the same links to and from all others."""
    if not problem.links.pairs:
        return (tuple(range(len(names))),)
    table = [[problem.link(source, target) for target in names] for source in names]
    groups: list[list[int]] = []
    for d in range(len(names)):
        home = next((group for group in groups if _alike(table, group[0], d)), None)
        if home is None:
            groups.append([d])
        else:
            home.append(d)
    return tuple(tuple(group) for group in groups)


def _alike(table: list[list[Link]], one: int, other: int) -> bool:
    return table[one][other] == table[other][one] and all(
        table[one][third] == table[other][third] and table[third][one] == table[third][other]
        for third in range(len(table))
        if third not in (one, other)
    )
