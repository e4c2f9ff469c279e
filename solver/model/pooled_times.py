r"""Times in the model of shared memories: as in `solver.model.times`, with what is read from hosts.

Given     T[c,j] ns of the first j blocks on a device of class c with a bandwidth;  f[q,c] ns more where experts of
          kind q stay with the host;  T[j] those of one class, r[c] the least of T[c] over it by block, in 1024ths.
Decide    time[k], hop[k], slowest as before;  near[k,c] = T of stage k where it is on class c, else 0.

    (time)      time[k] >= T[c,cut[k+1]] - T[c,cut[k]] + sum_q f[q,c] n[k,q,c]  or what was measured,  if use[k,c]
    (least)     1024 time[k] >= sum_c r[c] near[k,c] + 1024 sum_{q,c} f[q,c] n[k,q,c]

The first is exact and says little before a class is chosen; the second shares a stage out among classes.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.measures import block_ns, hop_ns, offloaded_block_ns, transfer_ns
from solver.model.pooled_variables import share
from solver.model.times import Times, clock_of, counts_of, hop, hops_of, slowest

if TYPE_CHECKING:
    from solver.model.pooled_variables import Built

__all__ = ["times_of"]

_Sum = cp_model.LinearExpr
_PARTS = 1024
# Times beyond this would leave 64 bits in parts: more than a week.
_LONGEST_SHARED_NS = 2**50


def times_of(built: Built, *, with_slowest: bool) -> Times:
    """Declare the times of stages and hops with their rules."""
    model, v, sizes = built.draft.model, built.v, built.sizes
    stages, classes = range(sizes.stages), range(len(sizes.groups))
    blocks = {c: _blocks(built, c) for c in classes if sizes.groups[c].node.stage_ns is None}
    further = [_further(built, blocks[c], c) if c in blocks else {} for c in classes]
    clocks = {
        table: clock_of(model, v, table, number)
        for number, table in enumerate(dict.fromkeys(_prefix(times) for times in blocks.values()))
    }
    counts = {
        table: counts_of(model, v, table, len(clocks) + number)
        for number, table in enumerate(dict.fromkeys(_measured(built, c) for c in classes if c not in blocks))
    }
    more = sum(max(0, *(f.get(q, 0) for f in further)) * len(kind) for q, kind in enumerate(sizes.kinds))
    hop_times, transfers = (hops_of(built.problem, sizes, of) for of in (hop_ns, transfer_ns))
    longest = max(1, *(max(table) + more for table in (*clocks, *counts)), *map(max, transfers))
    times = Times(
        time=tuple(model.new_int_var(0, longest, f"time[{k}]") for k in stages),
        hop=tuple(model.new_int_var(0, max(map(max, hop_times)), f"hop[{k}]") for k in stages[:-1]),
        slowest=model.new_int_var(1, longest, "slowest") if with_slowest else None,
        longest_ns=max(longest, *map(max, hop_times)),
        clocks=tuple(clocks.values()),
        counts=tuple(counts.values()),
    )
    for c in classes:
        if c in blocks:
            taken = [after - before for before, after in pairwise(clocks[_prefix(blocks[c])].at)]
        else:
            table = _measured(built, c)
            taken = [_Sum.weighted_sum(row, list(table)) for row in counts[table].literals]
        for k in stages:
            model.add(times.time[k] >= taken[k] + _away(built, further, k, c)).only_enforce_if(v.use[k][c])
    least(built, times, blocks, further)
    hop(model, v, times, hop_times)
    slowest(model, v, times, transfers)
    return times


def least(built: Built, times: Times, blocks: dict[int, list[int]], further: list[dict[int, int]]) -> None:
    """A stage takes at least its share of the time of one class, at the least ratio of each class to it."""
    if not blocks or times.longest_ns > _LONGEST_SHARED_NS:
        return
    reference = next(iter(blocks.values()))
    table = _prefix(reference)
    rows = share(built, [table] * len(further), "near")
    ratios = [_ratio(blocks[c], reference) if c in blocks else 0 for c in range(len(further))]
    for k, row in enumerate(rows):
        away = _Sum.sum([_away(built, further, k, c) for c in range(len(further))])
        built.draft.model.add(_PARTS * times.time[k] >= _Sum.weighted_sum(list(row), ratios) + _PARTS * away)


def _ratio(times: list[int], reference: list[int]) -> int:
    """Return the least ratio of times to others, block by block, in parts, rounded down."""
    return min((_PARTS * one // other for one, other in zip(times, reference, strict=True) if other), default=0)


def _away(built: Built, further: list[dict[int, int]], k: int, c: int) -> cp_model.LinearExpr:
    n = built.v.n[k][c]
    return _Sum.weighted_sum(list(n.values()), [further[c][q] for q in n])


def _blocks(built: Built, c: int) -> list[int]:
    """Return the time of every block on a device of class c, all of it there."""
    node = built.sizes.groups[c].node
    return [block_ns(block.active_bytes, node.bytes_per_second or 1) for block in built.problem.shape_of(node).blocks]


def _further(built: Built, times: list[int], c: int) -> dict[int, int]:
    """Return by kind how much longer a block takes whose experts stay with the host; less where that is quicker."""
    node = built.sizes.groups[c].node
    blocks = built.problem.shape_of(node).blocks
    return {
        q: offloaded_block_ns(blocks[kind[0]], node) - times[kind[0]]
        for q, kind in enumerate(built.sizes.kinds)
        if built.sizes.memory.loads[c].experts[q]
    }


def _prefix(times: list[int]) -> tuple[int, ...]:
    return tuple(accumulate(times, initial=0))


def _measured(built: Built, c: int) -> tuple[int, ...]:
    """Return what was measured for 0 … items; what was not is barred elsewhere and stands as 0 here."""
    measured = (0, *(built.sizes.groups[c].node.stage_ns or ()))[: built.sizes.items + 1]
    return (*measured, *(0 for _ in range(built.sizes.items + 1 - len(measured))))
