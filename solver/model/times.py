r"""Times in the CP-SAT model: what a stage and a hop take, the slowest of them, and their sum.

Given     T[c,j] ns of the first j blocks on a node of class c with a bandwidth;  M[c,j] ns measured for a stage of j blocks;
          h[a,b] ns of a hop from class a to class b, t[a,b] the part of it that is transfer.
Decide    time[k] of stage k, hop[k] of the hop behind it, both at least what the rules say; slowest.

    (time)      time[k] >= T[c,cut[k+1]] - T[c,cut[k]]  or  M[c,cut[k+1] - cut[k]]     if use[k,c]
    (hop)       hop[k] >= h[a,b]                                                       if use[k,a] and use[k+1,b]
    (slowest)   slowest >= time[k], and slowest >= t[a,b] if use[k,a] and use[k+1,b]
    (latency)   sum_k time[k] + hop[k]

Times only ever need to be small, so "at least" is enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.exact.line import time_prefix
from solver.measures import hop_ns, transfer_ns

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.model.stages import Sizes, Variables
    from solver.problem import Problem

__all__ = ["Times", "latency", "slowest", "times_of"]


@dataclass(frozen=True, eq=False)
class Times:
    """time by stage, hop by seam (one fewer), each within its longest possible value."""

    time: tuple[cp_model.IntVar, ...]
    hop: tuple[cp_model.IntVar, ...]


def times_of(model: cp_model.CpModel, v: Variables, problem: Problem, sizes: Sizes) -> Times:
    """Declare the times of stages and hops with their rules."""
    tables = [_table(problem, sizes, c) for c in range(len(sizes.classes))]
    longest = max(max(table) for table in tables)
    stages = range(sizes.stages)
    hops = _hops(problem, sizes, hop_ns)
    times = Times(
        time=tuple(model.new_int_var(0, longest, f"time[{k}]") for k in stages),
        hop=tuple(model.new_int_var(0, max(map(max, hops)), f"hop[{k}]") for k in stages[:-1]),
    )
    time(model, v, times, problem, sizes)
    hop(model, v, times, hops)
    return times


def time(model: cp_model.CpModel, v: Variables, times: Times, problem: Problem, sizes: Sizes) -> None:
    """A stage takes the time of its blocks on its class, or what was measured for so many."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for c in range(len(sizes.classes)):
        alike.setdefault(_table(problem, sizes, c), []).append(c)
    for number, (table, classes) in enumerate(alike.items()):
        is_measured = problem.classes[sizes.classes[classes[0]]].members[0].stage_ns is not None
        taken = (_measured if is_measured else _clocked)(model, v, table, number)
        for k, amount in enumerate(taken):
            for c in classes:
                model.add(times.time[k] >= amount).only_enforce_if(v.use[k][c])


def hop(model: cp_model.CpModel, v: Variables, times: Times, hops: list[list[int]]) -> None:
    """A hop takes what the link between the classes of its two stages takes."""
    for k, amount in enumerate(times.hop):
        for a, row in enumerate(hops):
            for b, duration in enumerate(row):
                if duration:
                    model.add(amount >= duration * (v.use[k][a] + v.use[k + 1][b] - 1))


def slowest(
    model: cp_model.CpModel, v: Variables, times: Times, problem: Problem, sizes: Sizes
) -> cp_model.IntVar:
    """Declare the time of the slowest stage or transfer."""
    transfers = _hops(problem, sizes, transfer_ns)
    longest = max(max(max(_table(problem, sizes, c)) for c in range(len(sizes.classes))), *map(max, transfers), 1)
    most = model.new_int_var(1, longest, "slowest")
    for amount in times.time:
        model.add(most >= amount)
    for k in range(len(times.hop)):
        for a, row in enumerate(transfers):
            for b, duration in enumerate(row):
                if duration:
                    model.add(most >= duration * (v.use[k][a] + v.use[k + 1][b] - 1))
    return most


def latency(times: Times) -> cp_model.LinearExpr:
    """Return the time of one token through all stages and hops."""
    return cp_model.LinearExpr.sum([*times.time, *times.hop])


def _table(problem: Problem, sizes: Sizes, c: int) -> tuple[int, ...]:
    """Return T[c,·] or M[c,·] for 0 … items; what was not measured is barred elsewhere and stands as 0 here."""
    node = problem.classes[sizes.classes[c]].members[0]
    if node.stage_ns is None:
        return time_prefix(problem, node)
    measured = (0, *node.stage_ns)[: sizes.items + 1]
    return (*measured, *(0 for _ in range(sizes.items + 1 - len(measured))))


def _clocked(
    model: cp_model.CpModel, v: Variables, table: tuple[int, ...], number: int
) -> list[cp_model.LinearExpr]:
    clocks = []
    for k, cut in enumerate(v.cut):
        clock = model.new_int_var(0, table[-1], f"clock[{k},{number}]")
        model.add_allowed_assignments([cut, clock], list(enumerate(table)))
        clocks.append(clock)
    return [after - before for before, after in zip(clocks, clocks[1:], strict=False)]


def _measured(
    model: cp_model.CpModel, v: Variables, table: tuple[int, ...], number: int
) -> list[cp_model.LinearExpr]:
    taken: list[cp_model.LinearExpr] = []
    for k in range(len(v.used)):
        counts = [model.new_bool_var(f"count[{k},{number},{n}]") for n in range(len(table))]
        model.add_exactly_one(counts)
        numbers = cp_model.LinearExpr.weighted_sum(counts, list(range(len(table))))
        model.add(numbers == v.cut[k + 1] - v.cut[k])
        taken.append(cp_model.LinearExpr.weighted_sum(counts, list(table)))
    return taken


def _hops(problem: Problem, sizes: Sizes, of: Callable[[Problem, str, str], int]) -> list[list[int]]:
    names = [problem.classes[index].members[0].name for index in sizes.classes]
    return [[of(problem, source, target) for target in names] for source in names]
