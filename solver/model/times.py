r"""Times in the CP-SAT model: what a stage and a hop take, the slowest of them, and their sum.

Given     T[c,j] ns of the first j blocks on a node of class c with a bandwidth;  M[c,j] ns measured for a stage of j
blocks;
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
from itertools import pairwise
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.exact.line import time_prefix
from solver.measures import hop_ns, slowest_ns, stage_ns, transfer_ns

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.limits import Limits
    from solver.model.chain import Chain, Frame
    from solver.model.stages import Sizes, Variables
    from solver.problem import Placement, Problem

__all__ = [
    "Clock",
    "Counts",
    "Times",
    "clock_of",
    "counts_of",
    "hint_times",
    "hop",
    "hops_of",
    "latency",
    "limit_times",
    "slowest",
    "times_of",
]


@dataclass(frozen=True, eq=False)
class Clock:
    """The times of the first blocks on classes with one bandwidth: a variable for each boundary, tied by a table."""

    table: tuple[int, ...]
    at: tuple[cp_model.IntVar, ...]


@dataclass(frozen=True, eq=False)
class Counts:
    """The number of blocks of every stage, for classes with one table of measured times: a literal for each number."""

    table: tuple[int, ...]
    literals: tuple[tuple[cp_model.IntVar, ...], ...]


@dataclass(frozen=True, eq=False)
class Times:
    """time by stage, hop by seam (one fewer); slowest is None unless it is asked for.

    `longest_ns` is the longest that any stage or hop can take.
    """

    time: tuple[cp_model.IntVar, ...]
    hop: tuple[cp_model.IntVar, ...]
    slowest: cp_model.IntVar | None
    longest_ns: int
    clocks: tuple[Clock, ...]
    counts: tuple[Counts, ...]


def times_of(model: cp_model.CpModel, v: Variables, problem: Problem, sizes: Sizes, *, with_slowest: bool) -> Times:
    """Declare the times of stages and hops with their rules."""
    alike: dict[tuple[bool, tuple[int, ...]], list[int]] = {}
    for c, index in enumerate(sizes.classes):
        is_measured = problem.classes[index].members[0].stage_ns is not None
        alike.setdefault((is_measured, _table(problem, sizes, c)), []).append(c)
    hops, transfers = hops_of(problem, sizes, hop_ns), hops_of(problem, sizes, transfer_ns)
    longest = max(*(max(table) for _, table in alike), *map(max, transfers), 1)
    stages = range(sizes.stages)
    clocks, counts = [], []
    time_of = tuple(model.new_int_var(0, longest, f"time[{k}]") for k in stages)
    for number, ((is_measured, table), classes) in enumerate(alike.items()):
        if not is_measured:
            clocks.append(clock_of(model, v, table, number))
            taken: list[cp_model.LinearExpr] = [after - before for before, after in pairwise(clocks[-1].at)]
        else:
            counts.append(counts_of(model, v, table, number))
            taken = [cp_model.LinearExpr.weighted_sum(row, list(table)) for row in counts[-1].literals]
        time(model, v, time_of, taken, classes)
    times = Times(
        time=time_of,
        hop=tuple(model.new_int_var(0, max(map(max, hops)), f"hop[{k}]") for k in stages[:-1]),
        slowest=model.new_int_var(1, longest, "slowest") if with_slowest else None,
        longest_ns=max(longest, *map(max, hops)),
        clocks=tuple(clocks),
        counts=tuple(counts),
    )
    hop(model, v, times, hops)
    slowest(model, v, times, transfers)
    return times


def time(
    model: cp_model.CpModel,
    v: Variables,
    time_of: tuple[cp_model.IntVar, ...],
    taken: list[cp_model.LinearExpr],
    classes: list[int],
) -> None:
    """A stage takes the time of its blocks on its class, or what was measured for so many."""
    for k, amount in enumerate(taken):
        for c in classes:
            model.add(time_of[k] >= amount).only_enforce_if(v.use[k][c])


def hop(model: cp_model.CpModel, v: Chain, times: Times, hops: list[list[int]]) -> None:
    """A hop takes what the link between the classes of its two stages takes."""
    for k, amount in enumerate(times.hop):
        for a, row in enumerate(hops):
            for b, duration in enumerate(row):
                if duration:
                    model.add(amount >= duration * (v.use[k][a] + v.use[k + 1][b] - 1))


def slowest(model: cp_model.CpModel, v: Chain, times: Times, transfers: list[list[int]]) -> None:
    """The slowest is at least every stage's time and every transfer's."""
    if times.slowest is None:
        return
    for amount in times.time:
        model.add(times.slowest >= amount)
    for k in range(len(times.hop)):
        for a, row in enumerate(transfers):
            for b, duration in enumerate(row):
                if duration:
                    model.add(times.slowest >= duration * (v.use[k][a] + v.use[k + 1][b] - 1))


def latency(times: Times) -> cp_model.LinearExpr:
    """Return the time of one token through all stages and hops."""
    return cp_model.LinearExpr.sum([*times.time, *times.hop])


def limit_times(model: cp_model.CpModel, times: Times, limits: Limits) -> None:
    """Times are within the limits on them."""
    if limits.max_latency_ns is not None:
        model.add(latency(times) <= limits.max_latency_ns)
    if limits.max_slowest_ns is not None and times.slowest is not None:
        model.add(times.slowest <= limits.max_slowest_ns)


def hint_times(model: cp_model.CpModel, times: Times, problem: Problem, start: Placement) -> None:
    """Hint every variable of times from a placement that has no more stages than the model."""
    stages = start.stages
    ends = [0, *(stage.end for stage in stages)]
    for k, amount in enumerate(times.time):
        model.add_hint(amount, stage_ns(problem, stages[k]) if k < len(stages) else 0)
    for k, amount in enumerate(times.hop):
        used = k + 1 < len(stages)
        model.add_hint(amount, hop_ns(problem, stages[k].node, stages[k + 1].node) if used else 0)
    if times.slowest is not None:
        model.add_hint(times.slowest, slowest_ns(problem, start))
    for clock in times.clocks:
        for k, variable in enumerate(clock.at):
            model.add_hint(variable, clock.table[ends[min(k, len(stages))]])
    for counts in times.counts:
        for k, row in enumerate(counts.literals):
            count = stages[k].end - stages[k].start if k < len(stages) else 0
            for number, literal in enumerate(row):
                model.add_hint(literal, int(number == count))


def _table(problem: Problem, sizes: Sizes, c: int) -> tuple[int, ...]:
    """Return T[c,·] or M[c,·] for 0 … items; what was not measured is barred elsewhere and stands as 0 here."""
    node = problem.classes[sizes.classes[c]].members[0]
    if node.stage_ns is None:
        return time_prefix(problem, node)
    measured = (0, *node.stage_ns)[: sizes.items + 1]
    return (*measured, *(0 for _ in range(sizes.items + 1 - len(measured))))


def clock_of(model: cp_model.CpModel, v: Chain, table: tuple[int, ...], number: int) -> Clock:
    """Declare the time of the blocks before every cut, tied to it by a table."""
    at = tuple(model.new_int_var(0, table[-1], f"clock[{k},{number}]") for k in range(len(v.cut)))
    for cut, variable in zip(v.cut, at, strict=True):
        model.add_allowed_assignments([cut, variable], list(enumerate(table)))
    return Clock(table, at)


def counts_of(model: cp_model.CpModel, v: Chain, table: tuple[int, ...], number: int) -> Counts:
    """Declare how many blocks every stage has, up to so many as were measured."""
    rows = []
    for k in range(len(v.used)):
        literals = tuple(model.new_bool_var(f"count[{k},{number},{n}]") for n in range(len(table)))
        model.add_exactly_one(literals)
        numbers = cp_model.LinearExpr.weighted_sum(literals, list(range(len(table))))
        model.add(numbers == v.cut[k + 1] - v.cut[k])
        rows.append(literals)
    return Counts(table, tuple(rows))


def hops_of(problem: Problem, sizes: Frame, of: Callable[[Problem, str, str], int]) -> list[list[int]]:
    """Return what a hop takes from a device of every class to one of every class."""
    names = [problem.classes[index].members[0].name for index in sizes.classes]
    return [[of(problem, source, target) for target in names] for source in names]
