"""The one answer among equals: it depends on the problem and the limits alone, never on how a solver got there.

Fewest nodes; then the earliest-listed class at each stage from the front; then the longest stage from the front; then
the lowest-numbered node of a class. Which classes can still follow is asked of the longest-prefix search run from the
other end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solver.exact.line import farthest_ends
from solver.exact.prefix import PrefixSearch, mirrored, most_nodes, reach
from solver.objectives import Limits, cap_bytes
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from solver.exact.prefix import Chain
    from solver.problem import Problem

__all__ = ["canonical_placement", "placement_of"]


def placement_of(search: PrefixSearch, problem: Problem, chain: Chain) -> Placement:
    """Return a chain with the lowest-numbered free node of its group at every stage."""
    free = [
        [member.name for index in group.classes for member in problem.classes[index].members] for group in search.groups
    ]
    return Placement(tuple(Stage(start=start, end=end, node=free[group].pop(0)) for group, start, end in chain.stages))


def canonical_placement(search: PrefixSearch, problem: Problem, limits: Limits) -> Placement | None:
    """Return the canonical placement within the limits, or None if there is none."""
    caps = [cap_bytes(limits, group.budget_bytes) for group in search.groups]
    backwards = mirrored(search)
    covered, fewest = reach(
        backwards, farthest_ends(backwards.line, caps), most_nodes(problem, limits), stop_at_end=True
    )
    if fewest is None:
        return None
    return _walk(search, problem, farthest_ends(search.line, caps), covered, fewest)


def _walk(
    search: PrefixSearch, problem: Problem, ends: NDArray[np.int32], covered: NDArray[np.int32], fewest: int
) -> Placement:
    group_of_class = {index: number for number, group in enumerate(search.groups) for index in group.classes}
    unused = [list(group.members) for group in problem.classes]
    left = [group.count for group in search.groups]
    digits = _digits(search)
    boundary = 0
    top_rank: int | None = None
    stages: list[Stage] = []
    for remaining in range(fewest - 1, -1, -1):
        for index, members in enumerate(unused):
            group = group_of_class[index]
            end = int(ends[group, boundary])
            rank = search.line.ranks[group]
            if not members or end <= boundary or (rank is not None and top_rank is not None and rank < top_rank):
                continue
            left[group] -= 1
            highest = top_rank if rank is None else rank
            if _can_finish(search, digits, covered, _in_order(search, left, highest), remaining, end):
                stages.append(Stage(start=boundary, end=end, node=members.pop(0).name))
                boundary, top_rank = end, highest
                break
            left[group] += 1
    return Placement(tuple(stages))


def _in_order(search: PrefixSearch, left: list[int], rank: int | None) -> list[int]:
    """Return the counts left without the nodes whose turn in the order asked for has passed."""
    passed = (rank is not None and own is not None and own < rank for own in search.line.ranks)
    return [0 if gone else count for gone, count in zip(passed, left, strict=True)]


def _digits(search: PrefixSearch) -> NDArray[np.int32]:
    """Return how many nodes of each group a state uses, shape (groups, states)."""
    shape = tuple(group.count + 1 for group in search.groups)
    return np.indices(shape, dtype=np.int32).reshape(len(shape), -1)


def _can_finish(
    search: PrefixSearch,
    digits: NDArray[np.int32],
    covered: NDArray[np.int32],
    left: list[int],
    nodes: int,
    boundary: int,
) -> bool:
    """Return whether so many of the nodes left can hold all items from a boundary on."""
    level = search.levels[nodes]
    fits = covered[level] >= search.line.items - boundary
    for group, count in enumerate(left):
        fits &= digits[group, level] <= count
    return bool(fits.any())
