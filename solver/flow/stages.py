"""Every stage that a node could hold, and its time: the table that the bound and the searches of replicas share."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING

from solver.measures import block_ns

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from solver.problem import Node, Problem, Rules

__all__ = ["most_devices", "stage_times"]


def stage_times(problem: Problem, node: Node) -> NDArray[np.int64]:
    """Return the time in ns, at least 1, of every stage [a, b) at row a and column b; 0 where the node may not hold it.

    Shape (items + 1, items + 1). A stage must fit into the node's memory and hold the least number of blocks; a node
    with measured times holds no more blocks than were measured. Pins and nodes named for the ends leave a stage to one
    node alone, and leave that node no other.
    """
    import numpy as np  # noqa: PLC0415 - a tenth of a second that plans without replicas need not wait for

    count = len(problem.items)
    items = problem.items_of_shapes[0 if node.draws is None else node.draws.shape]
    on_host = node.host_pool is not None
    loads = _sums(item.load_bytes - (item.other_bytes if on_host else 0) for item in items)
    held = np.array(loads, dtype=np.int64)
    load = held[None, :] - held[:, None]
    load[0, count] -= problem.shape_of(node).ends.tied_bytes
    boundaries = np.arange(count + 1)
    lengths = boundaries[None, :] - boundaries[:, None]
    allowed = (load <= _room_bytes(problem, node)) & (lengths >= max(problem.rules.min_blocks, 1))
    if on_host and problem.shape_of(node).ends.host_bytes > problem.pools_by_name[str(node.host_pool)].room_bytes:
        allowed[0] = False
    if node.stage_ns is not None:
        table = np.zeros(count + 1, dtype=np.int64)
        table[1 : len(node.stage_ns) + 1] = [max(time, 1) for time in node.stage_ns[:count]]
        times = table[np.maximum(lengths, 0)]
    else:
        blocks, rate = problem.shape_of(node).blocks, node.bytes_per_second or 1
        read = np.array(_sums(block_ns(block.active_bytes, rate) for block in blocks), dtype=np.int64)
        times = np.maximum(read[None, :] - read[:, None], 1)
    return np.where(allowed & _placed(problem.rules, node.name, count), times, 0)


def _placed(rules: Rules, name: str, count: int) -> NDArray[np.bool_]:
    """Return which stages pins and nodes named for the ends allow a node."""
    import numpy as np  # noqa: PLC0415 - as in `stage_times`

    boundaries = np.arange(count + 1)
    starts, ends = boundaries[:, None], boundaries[None, :]
    placed = np.ones((count + 1, count + 1), dtype=bool)
    for item, owner in rules.pins:
        placed &= ((starts <= item) & (item < ends)) == (name == owner)
    if rules.first is not None:
        placed &= (starts == 0) == (name == rules.first)
    if rules.last is not None:
        placed &= (ends == count) == (name == rules.last)
    return placed


def most_devices(problem: Problem) -> int | None:
    """Return the most nodes that stages may stand on, where devices of one machine are one to the rule; None if any."""
    machines = problem.rules.max_nodes
    if machines is None or problem.is_plain:
        return machines
    devices = Counter(member.machine or member.name for group in problem.classes for member in group.members)
    return sum(count for _, count in devices.most_common(machines))


def _sums(amounts: Iterable[int]) -> list[int]:
    return list(accumulate(amounts, initial=0))


def _room_bytes(problem: Problem, node: Node) -> int:
    """Return what a stage may put on a node: within its budget, and no more than any memory of its own has room for."""
    most = min(node.budget_bytes, *(problem.pools_by_name[pool].room_bytes for pool in node.pools))
    return most - node.held_bytes
