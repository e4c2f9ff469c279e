r"""Times in the model of shared memories: what a stage and a hop take, the slowest of them, and their sum.

Given     t[i,d] ns of item i on a device with a bandwidth;  f[q,d] ns more where its experts stay with the host;
          M[d,j] ns measured for a stage of j items;  h[g,k] ns of a hop from group g to group k, r[g,k] the transfer.
Decide    c[j,d] = 1 if d holds j items, where times were measured; slowest.

    (time)      time[d] = sum_i t[i,d] x[i,d] + sum_q f[q,d] n[q,d]   or   sum_j M[d,j] c[j,d]
    (hop)       hops = sum h[g,k] y[i,g,k],   h for every stage but the first where all links are alike
    (slowest)   slowest >= time[d],  slowest >= r[g,k] y[i,g,k]
    (latency)   sum_d time[d] + hops
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.measures import block_ns, hop_ns, offloaded_block_ns, slowest_ns, transfer_ns

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.model.pooled import Built
    from solver.model.pooled_sizes import Placed
    from solver.problem import Problem

__all__ = ["Times", "times_of"]

_Sum = cp_model.LinearExpr


@dataclass(frozen=True, eq=False)
class Times:
    """The sum of all times of a token; slowest is None unless it is asked for.

    `longest_ns` is the longest that any stage or hop can take.
    """

    latency: cp_model.LinearExpr
    slowest: cp_model.IntVar | None
    longest_ns: int


def times_of(built: Built, *, with_slowest: bool) -> Times:
    """Declare the times of stages and hops with their rules."""
    devices = range(len(built.sizes.devices))
    stages = [_stage(built, d) for d in devices]
    hops = _hops(built, hop_ns)
    transfers = _hops(built, transfer_ns)
    longest = max(1, *(most for _, most in stages), *(duration for duration, _ in transfers))
    slowest = None
    if with_slowest:
        slowest = built.draft.integer(longest, "slowest", lambda placed: slowest_ns(built.problem, placed.placement))
        built.draft.model.add(slowest >= 1)
        for amount, _ in stages:
            built.draft.model.add(slowest >= amount)
        for duration, literals in transfers:
            for literal in literals if duration else ():
                built.draft.model.add(slowest >= duration * literal)
    return Times(
        latency=_Sum.sum([*(amount for amount, _ in stages), *(t * sum(ys) for t, ys in hops if t)]),
        slowest=slowest,
        longest_ns=max(longest, *(duration for duration, _ in hops)),
    )


def _stage(built: Built, d: int) -> tuple[cp_model.LinearExpr, int]:
    """Return the time of the stage of device d and the longest that it can be."""
    node, v = built.sizes.devices[d].node, built.v
    if node.stage_ns is not None:
        return _measured(built, d, node.stage_ns)
    rate = node.bytes_per_second or 0
    blocks = built.problem.shape_of(node).blocks
    near = [block_ns(block.active_bytes, rate) for block in blocks]
    further = [offloaded_block_ns(blocks[i], node) - near[i] for i in (built.sizes.kinds[q][0] for q in v.n[d])]
    most = sum(near) + sum(max(more, 0) * len(built.sizes.kinds[q]) for more, q in zip(further, v.n[d], strict=True))
    return _Sum.weighted_sum([*v.x[d], *v.n[d].values()], [*near, *further]), most


def _measured(built: Built, d: int, times: tuple[int, ...]) -> tuple[cp_model.LinearExpr, int]:
    table = (0, *times)[: built.sizes.items + 1]
    counts = [built.draft.boolean(f"c[{j},{d}]", _counts(d, j)) for j in range(len(table))]
    built.draft.model.add_exactly_one(counts)
    built.draft.model.add(_Sum.weighted_sum(counts, list(range(len(table)))) == _Sum.sum(list(built.v.x[d])))
    return _Sum.weighted_sum(counts, list(table)), max(table)


def _counts(d: int, j: int) -> Callable[[Placed], bool]:
    def meaning(placed: Placed) -> bool:
        held = placed.held[d]
        return j == (0 if held is None else held.end - held.start)

    return meaning


def _hops(
    built: Built, of: Callable[[Problem, str, str], int]
) -> list[tuple[int, list[cp_model.IntVar | cp_model.LinearExpr]]]:
    """Return what hops take, each with the literals that say that it is made."""
    names = [device.node.name for device in built.sizes.devices]
    seams, v = built.seams, built.v
    if seams.y is not None:
        return [
            (
                of(built.problem, names[seams.groups[g][0]], names[seams.groups[h][g == h]]),
                list(row.values()),
            )
            for (g, h), row in seams.y.items()
        ] or [(0, [])]
    if len(names) == 1:
        return [(0, [])]
    return [(of(built.problem, names[0], names[1]), [begun[-1] - begun[0] for begun in v.s])]
