r"""An assignment MILP for HiGHS.

Sets b in B (blocks, in order), n in N (nodes).   Given load[b], budget[n], time[b,n], hop[n,m], weights and growth.
Decide x[b,n] = 1 if block b is on node n;  s[b,n] = 1 if a stage of n starts at b;  y[n] = 1 if n is used;  and where
hops count, h[b,n,m] = 1 if block b-1 is on n and block b on m (continuous: x makes them integer).

    (once)        sum_n x[b,n] = 1                                   for b in B
    (contiguity)  x[b,n] - x[b-1,n] <= s[b,n],  sum_b s[b,n] = y[n]  for b in B, n in N
    (memory)      sum_b load[b]/budget[n] x[b,n] <= y[n]             for n in N
    (alike)       y[n] >= y[n+1]                                     for nodes that nothing tells apart
    (flow)        sum_m h[b,n,m] = x[b-1,n],  sum_n h[b,n,m] = x[b,m],  s[b,m] >= sum_{n /= m} h[b,n,m]

    nodes       minimise sum y
    balance     minimise t    with sum_b load[b]/budget[n] x[b,n] <= t
    load        minimise T    with sum_b load[b] x[b,n] <= T
    headroom    maximise H    with sum_b load[b] x[b,n] + H <= budget[n] + (B - budget[n]) (1 - y[n]),  B = max budget
    tokens      maximise U    with z[b,n] = U x[b,n] (z <= most x, sum_n z[b,n] = U) and weights + growth z in budgets
    context     the same, U = 256 k
    latency     minimise sum time x + sum hop h
    throughput  minimise the slowest of sum_b time[b,n] x[b,n] and transfer[n,m] sum_b h[b,n,m]

HiGHS computes in floats: coefficients are divided so that they and the objective are near 1 (by budgets, by the largest
budget, by the most tokens, by a millisecond). It may call a value optimal that is off by its tolerances, a millionth:
that still counts as its proof here. The value reported is recomputed exactly from the placement.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor, inf
from typing import TYPE_CHECKING, TypeAlias

import highspy

from benchmarks.rivals.linear import LinearModel
from benchmarks.rivals.plain import (
    Answer,
    answer_of,
    hops_of,
    most_tokens,
    require_plain,
    stages_from,
    times_of,
    transfers_of,
)
from solver.objectives import CONTEXT_STEP_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.limits import Value
    from solver.problem import Placement, Problem

__all__ = ["solve_with_highs"]

_MS = 10**6
_TOLERANCE = 1e-6
_FEASIBLE_POINT = 2


@dataclass(frozen=True, slots=True)
class _Columns:
    """Numbers of the variables: x[b][n], s[b][n], y[n]."""

    x: tuple[tuple[int, ...], ...]
    s: tuple[tuple[int, ...], ...]
    y: tuple[int, ...]


# Turns HiGHS's bound, in the scaled unit it minimises, into a bound in the objective's unit.
_Unscale: TypeAlias = "Callable[[float], Value | float]"


def solve_with_highs(problem: Problem, objective: str, seconds: float, workers: int, seed: int) -> Answer:
    """Return the answer of HiGHS within so many seconds, building the model included.

    Raises:
        InputError: the problem is not plain.
        AuditError: the rules reject what HiGHS returned.
    """
    require_plain(problem)
    model = LinearModel()
    columns = declare(model, problem)
    for rule in (once, contiguity, memory, alike):
        rule(model, columns, problem)
    unscale = _OBJECTIVES[objective](model, columns, problem)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("time_limit", float(seconds))
    highs.setOptionValue("threads", workers)
    highs.setOptionValue("random_seed", seed)
    highs.setOptionValue("mip_rel_gap", _TOLERANCE)
    highs.passModel(model.linear_program())
    highs.run()
    return _answer(highs, problem, objective, columns, unscale)


def declare(model: LinearModel, problem: Problem) -> _Columns:
    """Add the variables that every objective needs."""
    nodes = range(len(problem.nodes))
    x = tuple(tuple(model.column(1.0, integer=True) for _ in nodes) for _ in problem.items)
    s = tuple(tuple(model.column(1.0, integer=True) for _ in nodes) for _ in problem.items)
    return _Columns(x, s, tuple(model.column(1.0, integer=True) for _ in nodes))


def once(model: LinearModel, columns: _Columns, _problem: Problem) -> None:
    """Put every block on one node."""
    for row in columns.x:
        model.row(1.0, dict.fromkeys(row, 1.0), 1.0)


def contiguity(model: LinearModel, columns: _Columns, _problem: Problem) -> None:
    """Start a stage where a block is on a node that its predecessor is not on, and one stage at most a node."""
    for n, used in enumerate(columns.y):
        model.row(-inf, {columns.x[0][n]: 1.0, columns.s[0][n]: -1.0}, 0.0)
        for b in range(1, len(columns.x)):
            model.row(-inf, {columns.x[b][n]: 1.0, columns.x[b - 1][n]: -1.0, columns.s[b][n]: -1.0}, 0.0)
        model.row(0.0, {used: -1.0} | {row[n]: 1.0 for row in columns.s}, 0.0)


def memory(model: LinearModel, columns: _Columns, problem: Problem) -> None:
    """Keep every node within its budget, and put nothing on a node that is not used."""
    for n, used in enumerate(columns.y):
        model.row(-inf, _loads(columns, problem, n, problem.nodes[n].budget_bytes) | {used: -1.0}, 0.0)


def alike(model: LinearModel, columns: _Columns, problem: Problem) -> None:
    """Use nodes that nothing tells apart in the order listed."""
    number = {node.name: n for n, node in enumerate(problem.nodes)}
    for group in problem.classes:
        for earlier, later in pairwise(group.members):
            model.row(0.0, {columns.y[number[earlier.name]]: 1.0, columns.y[number[later.name]]: -1.0}, inf)


def _loads(columns: _Columns, problem: Problem, n: int, unit: int) -> dict[int, float]:
    return {row[n]: item.load_bytes / unit for row, item in zip(columns.x, problem.items, strict=True)}


def _nodes(model: LinearModel, columns: _Columns, _problem: Problem) -> _Unscale:
    for used in columns.y:
        model.costs[used] = 1.0
    return lambda bound: -floor(_TOLERANCE - bound)


def _balance(model: LinearModel, columns: _Columns, problem: Problem) -> _Unscale:
    fill = model.column(1.0, integer=False, cost=1.0)
    for n, node in enumerate(problem.nodes):
        model.row(-inf, _loads(columns, problem, n, node.budget_bytes) | {fill: -1.0}, 0.0)
    return lambda bound: bound


def _load(model: LinearModel, columns: _Columns, problem: Problem) -> _Unscale:
    unit = _largest_budget(problem)
    most = model.column(1.0, integer=False, cost=1.0)
    for n in range(len(problem.nodes)):
        model.row(-inf, _loads(columns, problem, n, unit) | {most: -1.0}, 0.0)
    return lambda bound: bound * unit


def _headroom(model: LinearModel, columns: _Columns, problem: Problem) -> _Unscale:
    unit = _largest_budget(problem)
    room = model.column(1.0, integer=False, cost=-1.0)
    for n, used in enumerate(columns.y):
        slack = 1.0 - problem.nodes[n].budget_bytes / unit
        model.row(-inf, _loads(columns, problem, n, unit) | {room: 1.0, used: slack}, 1.0)
    return lambda bound: -bound * unit


def _largest_budget(problem: Problem) -> int:
    return max(node.budget_bytes for node in problem.nodes)


def _tokens(model: LinearModel, columns: _Columns, problem: Problem) -> _Unscale:
    most = most_tokens(problem)
    _rooms(model, columns, problem, most, model.column(1.0, integer=False, cost=-1.0))
    return lambda bound: floor(-bound * most + _TOLERANCE)


def _context(model: LinearModel, columns: _Columns, problem: Problem) -> _Unscale:
    most = most_tokens(problem)
    share = model.column(1.0, integer=False)
    steps = model.column(float(most // CONTEXT_STEP_TOKENS), integer=True, cost=-CONTEXT_STEP_TOKENS / most)
    model.row(0.0, {share: 1.0, steps: -CONTEXT_STEP_TOKENS / most}, 0.0)
    _rooms(model, columns, problem, most, share)
    return lambda bound: floor(-bound * most / CONTEXT_STEP_TOKENS + _TOLERANCE) * CONTEXT_STEP_TOKENS


def _rooms(model: LinearModel, columns: _Columns, problem: Problem, most: int, share: int) -> None:
    """Make room for tokens, counted as a share of the most, on the node of every block."""
    z = [[model.column(1.0, integer=False) for _ in row] for row in columns.x]
    for x_row, z_row in zip(columns.x, z, strict=True):
        for placed, taken in zip(x_row, z_row, strict=True):
            model.row(-inf, {taken: 1.0, placed: -1.0}, 0.0)
        model.row(0.0, dict.fromkeys(z_row, 1.0) | {share: -1.0}, 0.0)
    for n, node in enumerate(problem.nodes):
        terms = {columns.y[n]: -1.0}
        for b, (item, block) in enumerate(zip(problem.items, problem.blocks, strict=True)):
            terms[columns.x[b][n]] = (item.weight_bytes + item.other_bytes) / node.budget_bytes
            terms[z[b][n]] = (block.cache_bytes_per_token or 0) * most / node.budget_bytes
        model.row(-inf, terms, 0.0)


def _latency(model: LinearModel, columns: _Columns, problem: Problem) -> _Unscale:
    for n in range(len(problem.nodes)):
        for row, time in zip(columns.x, times_of(problem, n), strict=True):
            model.costs[row[n]] = time / _MS
    hops = hops_of(problem)
    if any(hops.values()):
        for (n, m), crossings in flow(model, columns, problem).items():
            for crossing in crossings:
                model.costs[crossing] = hops[n, m] / _MS
    return lambda bound: bound * _MS


def _throughput(model: LinearModel, columns: _Columns, problem: Problem) -> _Unscale:
    slowest = model.column(inf, integer=False, cost=1.0)
    for n in range(len(problem.nodes)):
        times = zip(columns.x, times_of(problem, n), strict=True)
        model.row(-inf, {row[n]: time / _MS for row, time in times} | {slowest: -1.0}, 0.0)
    transfers = transfers_of(problem)
    if any(transfers.values()):
        for pair, crossings in flow(model, columns, problem).items():
            model.row(-inf, dict.fromkeys(crossings, transfers[pair] / _MS) | {slowest: -1.0}, 0.0)
    return lambda bound: inf if bound <= 0 else Fraction(10**9) / Fraction(bound * _MS)


def flow(model: LinearModel, columns: _Columns, problem: Problem) -> dict[tuple[int, int], list[int]]:
    """Follow the token from block to block: one unit of flow, in at the first and out at the last.

    Returns the crossings from one node to another under (source, target).
    """
    nodes = range(len(problem.nodes))
    crossings: dict[tuple[int, int], list[int]] = {(n, m): [] for n in nodes for m in nodes if n != m}
    for b in range(1, len(columns.x)):
        h = [[model.column(1.0, integer=False) for _ in nodes] for _ in nodes]
        for n in nodes:
            model.row(0.0, dict.fromkeys(h[n], 1.0) | {columns.x[b - 1][n]: -1.0}, 0.0)
            model.row(0.0, {h[m][n]: 1.0 for m in nodes} | {columns.x[b][n]: -1.0}, 0.0)
            model.row(-inf, {h[m][n]: 1.0 for m in nodes if m != n} | {columns.s[b][n]: -1.0}, 0.0)
        for (n, m), crossing in crossings.items():
            crossing.append(h[n][m])
    return crossings


_OBJECTIVES: dict[str, Callable[[LinearModel, _Columns, Problem], _Unscale]] = {
    "nodes": _nodes,
    "balance": _balance,
    "load": _load,
    "headroom": _headroom,
    "tokens": _tokens,
    "context": _context,
    "latency": _latency,
    "throughput": _throughput,
}


def _answer(highs: highspy.Highs, problem: Problem, objective: str, columns: _Columns, unscale: _Unscale) -> Answer:
    status, info = highs.getModelStatus(), highs.getInfo()
    statuses = highspy.HighsModelStatus
    placement = _placement(highs, problem, columns) if info.primal_solution_status == _FEASIBLE_POINT else None
    bounded = abs(info.mip_dual_bound) < highspy.kHighsInf and status != statuses.kInfeasible
    return answer_of(
        problem,
        objective,
        placement,
        unscale(info.mip_dual_bound) if bounded else None,
        settled=status in (statuses.kOptimal, statuses.kInfeasible),
        proof="highs",
        deterministic_time=None,
    )


def _placement(highs: highspy.Highs, problem: Problem, columns: _Columns) -> Placement:
    values = highs.getSolution().col_value
    return stages_from([max(range(len(row)), key=lambda n: values[row[n]]) for row in columns.x], problem)
