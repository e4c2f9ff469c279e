"""Items on a line, and how far one stage can reach from each boundary: the tables that the exact searches share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from solver.problem import Problem

__all__ = ["NO_GROUP", "Group", "Line", "farthest_ends", "groups_of", "line_of"]

NO_GROUP = -1


@dataclass(frozen=True, slots=True)
class Group:
    """Classes of nodes that memory alone does not tell apart: equal budgets, and no rule that names one of them.

    `classes` are indices into `Problem.classes`, in the order listed.
    """

    budget_bytes: int
    count: int
    classes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Line:
    """The items in the direction of travel. `prefix` has shape (items + 1,), in bytes.

    `pins` are (item, group); `first` and `last` are groups, NO_GROUP where the node named may take nothing and None
    where no rule speaks; `ranks` hold a group's place in the order asked for, or None.
    """

    prefix: NDArray[np.int64]
    shared_bytes: int
    pins: tuple[tuple[int, int], ...]
    first: int | None
    last: int | None
    ranks: tuple[int | None, ...]

    @property
    def items(self) -> int:
        """Return how many items there are."""
        return len(self.prefix) - 1

    def mirrored(self) -> Line:
        """Return the same line seen from its other end."""
        return Line(
            prefix=self.prefix[-1] - self.prefix[::-1],
            shared_bytes=self.shared_bytes,
            pins=tuple((self.items - 1 - item, group) for item, group in self.pins),
            first=self.last,
            last=self.first,
            ranks=tuple(None if rank is None else -rank for rank in self.ranks),
        )


def groups_of(problem: Problem) -> tuple[Group, ...]:
    """Return the classes of a problem merged where memory does not tell them apart, in the order first listed."""
    named = problem.rules.named
    merged: dict[tuple[int, str | None], list[int]] = {}
    for index, group in enumerate(problem.classes):
        own = group.members[0].name if group.members[0].name in named else None
        merged.setdefault((group.budget_bytes, own), []).append(index)
    return tuple(
        Group(
            budget_bytes=budget,
            count=sum(problem.classes[index].count for index in indices),
            classes=tuple(indices),
        )
        for (budget, _), indices in merged.items()
    )


def line_of(problem: Problem, groups: Sequence[Group]) -> Line:
    """Return the items of a problem with its rules spoken of groups."""
    group_of_node = {
        member.name: number
        for number, group in enumerate(groups)
        for index in group.classes
        for member in problem.classes[index].members
    }
    rules = problem.rules
    rank_of_group = {group_of_node.get(node, NO_GROUP): rank for rank, node in enumerate(rules.order)}
    return Line(
        prefix=np.array(problem.prefix_bytes, dtype=np.int64),
        shared_bytes=problem.shared_bytes,
        pins=tuple((item, group_of_node.get(node, NO_GROUP)) for item, node in rules.pins),
        first=None if rules.first is None else group_of_node.get(rules.first, NO_GROUP),
        last=None if rules.last is None else group_of_node.get(rules.last, NO_GROUP),
        ranks=tuple(rank_of_group.get(number) for number in range(len(groups))),
    )


def farthest_ends(line: Line, caps: Sequence[int]) -> NDArray[np.int32]:
    """Return the farthest end of a stage by group and start, shape (groups, items + 2).

    It is the start itself where nothing fits. `caps` are the largest loads by group in bytes. The last column
    stands for a state that does not exist and leads to 0.
    """
    count = line.items
    total = int(line.prefix[-1])
    starts = np.arange(count + 1, dtype=np.int32)
    ends = np.zeros((len(caps), count + 2), dtype=np.int32)
    for group, cap in enumerate(caps):
        row = starts.copy()
        if cap >= 0:
            row = (np.searchsorted(line.prefix, line.prefix + min(cap, total), side="right") - 1).astype(np.int32)
        allowed = _within_rules(line, group, starts, row)
        if total - line.shared_bytes <= cap and _may_hold_all(line, group, starts):
            # Only a stage of every item saves what is shared: one that a rule cuts short must fit without the saving.
            allowed[0] = count
        ends[group, : count + 1] = allowed
    return ends


def _may_hold_all(line: Line, group: int, starts: NDArray[np.int32]) -> bool:
    """Return whether the rules let one stage of a group hold every item."""
    farthest = np.full_like(starts, line.items)
    return int(_within_rules(line, group, starts, farthest)[0]) == line.items


def _within_rules(line: Line, group: int, starts: NDArray[np.int32], row: NDArray[np.int32]) -> NDArray[np.int32]:
    """Shorten the ends of one group to what pins and the rules on first and last allow."""
    for item, pinned in line.pins:
        if pinned == group:
            row = np.where((starts <= item) & (row > item), row, starts)
        else:
            row = np.where(starts <= item, np.minimum(row, item), row)
    if line.first is not None:
        barred = (starts == 0) if group != line.first else (starts > 0)
        row = np.where(barred, starts, row)
    if line.last is not None:
        row = np.where(row == line.items, row, starts) if group == line.last else np.minimum(row, line.items - 1)
    return np.maximum(row, starts).astype(np.int32)
