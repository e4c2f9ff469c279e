"""Items on a line, and where a stage that starts at a boundary may end: the tables that the exact searches share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from solver.limits import cap_bytes, token_prefix
from solver.measures import block_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from solver.limits import Limits
    from solver.problem import Node, Problem

__all__ = ["NO_GROUP", "Group", "Line", "Windows", "groups_of", "line_of", "time_prefix", "windows_of"]

NO_GROUP = -1


@dataclass(frozen=True, slots=True)
class Group:
    """Classes of nodes that a question does not tell apart, with one node that stands for all of them.

    `classes` are indices into `Problem.classes`, in the order listed; `named` says that a rule speaks of the node.
    """

    node: Node
    count: int
    classes: tuple[int, ...]
    named: bool


@dataclass(frozen=True, eq=False)
class Line:
    """The items in the direction of travel, and the rules spoken of groups.

    `pins` are (item, group); `first` and `last` are groups, NO_GROUP where the node named may take nothing and None
    where no rule speaks; `ranks` hold a group's place in the order asked for, or None. `backwards` says that the last
    item comes first.
    """

    items: int
    pins: tuple[tuple[int, int], ...]
    first: int | None
    last: int | None
    ranks: tuple[int | None, ...]
    backwards: bool

    def mirrored(self) -> Line:
        """Return the same line seen from its other end."""
        return Line(
            items=self.items,
            pins=tuple((self.items - 1 - item, group) for item, group in self.pins),
            first=self.last,
            last=self.first,
            ranks=tuple(None if rank is None else -rank for rank in self.ranks),
            backwards=not self.backwards,
        )


@dataclass(frozen=True, eq=False)
class Windows:
    """The ends that a stage may have by group and start.

    Low … high, both shape (groups, items + 1); none if high < low.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]

    def farthest(self) -> NDArray[np.int32]:
        """Return the farthest end, the start itself where there is none, with a last column that leads to 0.

        The last column, for the boundary items + 1, stands for a state that does not exist.
        """
        groups, boundaries = self.high.shape
        starts = np.arange(boundaries, dtype=np.int32)
        ends = np.zeros((groups, boundaries + 1), dtype=np.int32)
        ends[:, :-1] = np.where(self.high >= self.low, self.high, starts)
        return ends


def groups_of(problem: Problem, *, by_time: bool) -> tuple[Group, ...]:
    """Return the classes of a problem merged where nothing tells them apart, in the order first listed.

    Without `by_time` only budgets, the number of blocks measured, and rules tell nodes apart; with it speeds do too.
    """
    named = problem.rules.named
    merged: dict[tuple[object, ...], list[int]] = {}
    for index, group in enumerate(problem.classes):
        node = group.members[0]
        most = None if node.stage_ns is None else len(node.stage_ns)
        speed = (node.bytes_per_second, node.stage_ns) if by_time else None
        own = node.name if node.name in named else None
        merged.setdefault((node.budget_bytes, node.held_bytes, most, speed, own), []).append(index)
    return tuple(_group(problem, tuple(indices)) for indices in merged.values())


def classes_as_groups(problem: Problem) -> tuple[Group, ...]:
    """Return every class as a group of its own."""
    return tuple(_group(problem, (index,)) for index in range(len(problem.classes)))


def _group(problem: Problem, indices: tuple[int, ...]) -> Group:
    node = problem.classes[indices[0]].members[0]
    count = sum(problem.classes[index].count for index in indices)
    return Group(node=node, count=count, classes=indices, named=node.name in problem.rules.named)


def line_of(problem: Problem, groups: Sequence[Group]) -> Line:
    """Return the line of a problem with its rules spoken of groups."""
    group_of_node = {
        member.name: number
        for number, group in enumerate(groups)
        for index in group.classes
        for member in problem.classes[index].members
    }
    rules = problem.rules
    rank_of_group = {group_of_node.get(node, NO_GROUP): rank for rank, node in enumerate(rules.order)}
    return Line(
        items=len(problem.items),
        pins=tuple((item, group_of_node.get(node, NO_GROUP)) for item, node in rules.pins),
        first=None if rules.first is None else group_of_node.get(rules.first, NO_GROUP),
        last=None if rules.last is None else group_of_node.get(rules.last, NO_GROUP),
        ranks=tuple(rank_of_group.get(number) for number in range(len(groups))),
        backwards=False,
    )


def time_prefix(problem: Problem, node: Node) -> tuple[int, ...]:
    """Return the time in ns of the first j blocks on a node with a bandwidth, for j = 0 … items."""
    sums = [0]
    for block in problem.blocks:
        sums.append(sums[-1] + block_ns(block.active_bytes, node.bytes_per_second or 1))
    return tuple(sums)


def windows_of(problem: Problem, groups: Sequence[Group], line: Line, limits: Limits) -> Windows:
    """Return where stages may end under the limits and the rules.

    Where measured times are limited and fall with more blocks, some ends inside a window are still too slow.
    """
    loads = _directed(problem.prefix_bytes, line)
    filled = None if limits.min_tokens is None else _directed(token_prefix(problem, limits.min_tokens), line)
    starts = np.arange(line.items + 1, dtype=np.int32)
    least = starts + max(problem.rules.min_blocks, 1)
    low, high = np.empty((2, len(groups), line.items + 1), dtype=np.int32)
    for number, group in enumerate(groups):
        node, cap = group.node, cap_bytes(limits, group.node.budget_bytes, group.node.held_bytes)
        timed = _timed_ends(problem, line, node, limits)
        ends = np.minimum(timed, _reach(loads, cap))
        whole = int(timed[0]) == line.items and loads[-1] - problem.shared_bytes <= cap
        if filled is not None:
            ends = np.minimum(ends, _reach(filled, node.room_bytes))
            whole = whole and filled[-1] - problem.shared_bytes <= node.room_bytes
        low[number], high[number] = _within_rules(line, number, least, ends)
        if whole and _may_hold_all(line, number, least):
            # Only a stage of every item saves what is shared: one that a rule cuts short must fit without the saving.
            high[number, 0] = line.items
    return Windows(low=low, high=high)


def _may_hold_all(line: Line, group: int, least: NDArray[np.int32]) -> bool:
    """Return whether the rules let one stage of a group hold every item."""
    low, high = _within_rules(line, group, least, np.full_like(least, line.items))
    return int(low[0]) <= line.items == int(high[0])


def _timed_ends(problem: Problem, line: Line, node: Node, limits: Limits) -> NDArray[np.int32]:
    """Return the farthest ends that measured times and a limit on times allow; the last item where neither speaks."""
    starts = np.arange(line.items + 1, dtype=np.int32)
    if node.stage_ns is not None:
        return np.minimum(starts + _measured(node.stage_ns, limits), np.int32(line.items)).astype(np.int32)
    if limits.max_slowest_ns is not None:
        return _reach(_directed(time_prefix(problem, node), line), limits.max_slowest_ns)
    return np.full_like(starts, line.items)


def _measured(times: tuple[int, ...], limits: Limits) -> int:
    """Return the most blocks whose measured time is within the limit; fewer blocks may yet take longer."""
    if limits.max_slowest_ns is None:
        return len(times)
    return max((count for count, time in enumerate(times, start=1) if time <= limits.max_slowest_ns), default=0)


def _directed(prefix: tuple[int, ...], line: Line) -> NDArray[np.int64]:
    forward = np.array(prefix, dtype=np.int64)
    return forward[-1] - forward[::-1] if line.backwards else forward


def _reach(prefix: NDArray[np.int64], cap: int) -> NDArray[np.int32]:
    """Return the farthest end of a run whose sum is within the cap, by start; -1 where none is."""
    if cap < 0:
        return np.full(len(prefix), -1, dtype=np.int32)
    return (np.searchsorted(prefix, prefix + min(cap, int(prefix[-1])), side="right") - 1).astype(np.int32)


def _within_rules(
    line: Line, group: int, low: NDArray[np.int32], high: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Narrow the window of one group to what pins and the rules on first and last allow."""
    starts = np.arange(line.items + 1, dtype=np.int32)
    none = np.int32(-1)
    for item, pinned in line.pins:
        if pinned == group:
            low = np.maximum(low, item + 1)
            high = np.where(starts <= item, high, none)
        else:
            high = np.where(starts <= item, np.minimum(high, item), high)
    if line.first is not None:
        barred = (starts == 0) if group != line.first else (starts > 0)
        high = np.where(barred, none, high)
    if line.last is not None:
        if group == line.last:
            low = np.maximum(low, line.items)
        else:
            high = np.minimum(high, line.items - 1)
    return low.astype(np.int32), high.astype(np.int32)
