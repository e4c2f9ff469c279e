r"""A plain interval model for CP-SAT: nodes as optional intervals on the line of blocks.

Sets n in N (nodes).   Given prefix sums of loads, weights, growth and times over the blocks; L blocks.
Decide start[n], end[n], used[n].

    (interval)  end[n] = start[n] + size[n],  size[n] >= 1 if used[n], else start[n] = end[n] = 0
    (cover)     no two used intervals overlap,  sum_n size[n] = L
    (memory)    load[n] = loads[end[n]] - loads[start[n]] <= budget[n],  sum_n load[n] = loads[L]
    (alike)     used[n] >= used[n+1]                        for nodes that nothing tells apart
    (circuit)   next[n,m] implies end[n] = start[m]         where hops count: one circuit through all used nodes

    nodes       minimise sum used
    balance     minimise t      with 10^6 load[n] <= t budget[n]   (the finest scale that fits 64 bits)
    load        minimise T      with load[n] <= T
    headroom    maximise H      with load[n] + H <= budget[n] if used[n]
    tokens      maximise U      with weight[n] + U growth[n] <= budget[n]
    context     the same, U = 256 k
    latency     minimise sum time[n] + sum hop next
    throughput  minimise the slowest of time[n] and transfer[n,m] next[n,m]

The sums over all nodes follow from the rest; they are there because propagation is far weaker without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, TypeAlias

from ortools.sat.python import cp_model

from benchmarks.rivals.plain import (
    Answer,
    answer_of,
    hops_of,
    most_tokens,
    require_plain,
    times_of,
    transfers_of,
)
from solver.objectives import CONTEXT_STEP_TOKENS
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solver.limits import Value
    from solver.problem import Problem

__all__ = ["solve_with_intervals"]

_NS = 10**9
_SCALE = 10**6


@dataclass(frozen=True, slots=True)
class _Variables:
    """One entry a node."""

    start: tuple[cp_model.IntVar, ...]
    end: tuple[cp_model.IntVar, ...]
    size: tuple[cp_model.IntVar, ...]
    used: tuple[cp_model.IntVar, ...]
    load: tuple[cp_model.IntVar, ...]


# Turns the bound of what CP-SAT minimised into a bound in the objective's unit.
_Unscale: TypeAlias = "Callable[[int], Value]"


def solve_with_intervals(problem: Problem, objective: str, seconds: float, workers: int, seed: int) -> Answer:
    """Return the answer of CP-SAT within so many seconds.

    Raises:
        InputError: the problem is not plain.
        AuditError: the rules reject what CP-SAT returned.
    """
    require_plain(problem)
    model = cp_model.CpModel()
    variables = declare(model, problem)
    cover(model, variables, problem)
    memory(model, variables, problem)
    alike(model, variables, problem)
    unscale = _OBJECTIVES[objective](model, variables, problem)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return answer_of(
        problem,
        objective,
        _placement(solver, variables, problem) if found else None,
        None if status == cp_model.INFEASIBLE else unscale(round(solver.best_objective_bound)),
        settled=status in (cp_model.OPTIMAL, cp_model.INFEASIBLE),
        proof="cp-sat intervals",
        deterministic_time=solver.response_proto.deterministic_time,
    )


def declare(model: cp_model.CpModel, problem: Problem) -> _Variables:
    """Add the variables that every objective needs, as optional intervals."""
    blocks, nodes = len(problem.items), problem.nodes
    variables = _Variables(
        tuple(model.new_int_var(0, blocks, f"start[{node.name}]") for node in nodes),
        tuple(model.new_int_var(0, blocks, f"end[{node.name}]") for node in nodes),
        tuple(model.new_int_var(0, blocks, f"size[{node.name}]") for node in nodes),
        tuple(model.new_bool_var(f"used[{node.name}]") for node in nodes),
        tuple(model.new_int_var(0, node.budget_bytes, f"load[{node.name}]") for node in nodes),
    )
    for start, end, size, used in zip(variables.start, variables.end, variables.size, variables.used, strict=True):
        model.add(end == start + size)
        model.add(size >= 1).only_enforce_if(used)
        model.add(end == 0).only_enforce_if(~used)
    return variables


def cover(model: cp_model.CpModel, variables: _Variables, problem: Problem) -> None:
    """Let used intervals cover all blocks without overlap."""
    parts = zip(variables.start, variables.size, variables.end, variables.used, strict=True)
    model.add_no_overlap(
        [model.new_optional_interval_var(start, size, end, used, "stage") for start, size, end, used in parts]
    )
    model.add(sum(variables.size) == len(problem.items))


def memory(model: cp_model.CpModel, variables: _Variables, problem: Problem) -> None:
    """Keep the load of every interval, looked up in prefix sums, within the node's budget."""
    for n, load in enumerate(variables.load):
        model.add(load == _between(model, variables, n, problem.prefix_bytes))
    model.add(sum(variables.load) == problem.prefix_bytes[-1])


def alike(model: cp_model.CpModel, variables: _Variables, problem: Problem) -> None:
    """Use nodes that nothing tells apart in the order listed."""
    number = {node.name: n for n, node in enumerate(problem.nodes)}
    for group in problem.classes:
        for earlier, later in pairwise(group.members):
            model.add_implication(variables.used[number[later.name]], variables.used[number[earlier.name]])


def _between(model: cp_model.CpModel, variables: _Variables, n: int, prefix: tuple[int, ...]) -> cp_model.LinearExpr:
    """Return what a prefix sum grows by over the interval of a node."""
    at_start, at_end = (model.new_int_var(0, prefix[-1], "prefix") for _ in range(2))
    model.add_element(variables.start[n], prefix, at_start)
    model.add_element(variables.end[n], prefix, at_end)
    return at_end - at_start


def _prefix(amounts: Iterable[int]) -> tuple[int, ...]:
    return tuple(accumulate(amounts, initial=0))


def _nodes(model: cp_model.CpModel, variables: _Variables, _problem: Problem) -> _Unscale:
    model.minimize(sum(variables.used))
    return lambda bound: bound


def _balance(model: cp_model.CpModel, variables: _Variables, problem: Problem) -> _Unscale:
    fill = model.new_int_var(0, _SCALE, "fill")
    for load, node in zip(variables.load, problem.nodes, strict=True):
        model.add(_SCALE * load <= fill * node.budget_bytes)
    model.minimize(fill)
    return lambda bound: Fraction(bound - 1, _SCALE)


def _load(model: cp_model.CpModel, variables: _Variables, problem: Problem) -> _Unscale:
    most = model.new_int_var(0, max(node.budget_bytes for node in problem.nodes), "most")
    model.add_max_equality(most, variables.load)
    model.minimize(most)
    return lambda bound: bound


def _headroom(model: cp_model.CpModel, variables: _Variables, problem: Problem) -> _Unscale:
    room = model.new_int_var(0, max(node.budget_bytes for node in problem.nodes), "room")
    for load, used, node in zip(variables.load, variables.used, problem.nodes, strict=True):
        model.add(load + room <= node.budget_bytes).only_enforce_if(used)
    model.maximize(room)
    return lambda bound: bound


def _tokens(model: cp_model.CpModel, variables: _Variables, problem: Problem) -> _Unscale:
    most = most_tokens(problem)
    tokens = model.new_int_var(0, most, "tokens")
    _rooms(model, variables, problem, tokens, most)
    model.maximize(tokens)
    return lambda bound: bound


def _context(model: cp_model.CpModel, variables: _Variables, problem: Problem) -> _Unscale:
    steps = model.new_int_var(0, most_tokens(problem) // CONTEXT_STEP_TOKENS, "steps")
    most = most_tokens(problem)
    tokens = model.new_int_var(0, most, "tokens")
    model.add(tokens == CONTEXT_STEP_TOKENS * steps)
    _rooms(model, variables, problem, tokens, most)
    model.maximize(steps)
    return lambda bound: bound * CONTEXT_STEP_TOKENS


def _rooms(
    model: cp_model.CpModel, variables: _Variables, problem: Problem, tokens: cp_model.IntVar, most: int
) -> None:
    """Make room on every node for the tokens' cache beside the weights."""
    weights = _prefix(item.weight_bytes + item.other_bytes for item in problem.items)
    growths = _prefix(block.cache_bytes_per_token or 0 for block in problem.blocks)
    caches = []
    for n, node in enumerate(problem.nodes):
        growth = model.new_int_var(0, growths[-1], "growth")
        model.add(growth == _between(model, variables, n, growths))
        cache = model.new_int_var(0, min(most * growths[-1], node.budget_bytes), "cache")
        model.add_multiplication_equality(cache, [tokens, growth])
        model.add(_between(model, variables, n, weights) + cache <= node.budget_bytes)
        caches.append(cache)
    model.add(sum(caches) == growths[-1] * tokens)


def _latency(model: cp_model.CpModel, variables: _Variables, problem: Problem) -> _Unscale:
    hops = hops_of(problem)
    times = _times(model, variables, problem)
    crossings = circuit(model, variables, problem) if any(hops.values()) else {}
    model.minimize(cp_model.LinearExpr.sum([*times, *(hops[pair] * crossing for pair, crossing in crossings.items())]))
    return lambda bound: bound


def _throughput(model: cp_model.CpModel, variables: _Variables, problem: Problem) -> _Unscale:
    transfers = transfers_of(problem)
    times = _times(model, variables, problem)
    slowest = model.new_int_var(
        0, max(*transfers.values(), *(sum(times_of(problem, n)) for n in range(len(times)))), "slowest"
    )
    for time in times:
        model.add(time <= slowest)
    if any(transfers.values()):
        for pair, crossing in circuit(model, variables, problem).items():
            model.add(slowest >= transfers[pair]).only_enforce_if(crossing)
    model.minimize(slowest)
    return lambda bound: Fraction(_NS, max(bound, 1))


def _times(model: cp_model.CpModel, variables: _Variables, problem: Problem) -> list[cp_model.LinearExpr]:
    return [_between(model, variables, n, _prefix(times_of(problem, n))) for n in range(len(problem.nodes))]


def circuit(model: cp_model.CpModel, variables: _Variables, problem: Problem) -> dict[tuple[int, int], cp_model.IntVar]:
    """Join used nodes into one path in the order of their intervals; return the literal of every crossing."""
    depot, nodes = len(problem.nodes), range(len(problem.nodes))
    arcs: list[tuple[int, int, cp_model.LiteralT]] = []
    crossings = {}
    for n in nodes:
        first, last = model.new_bool_var(f"first[{n}]"), model.new_bool_var(f"last[{n}]")
        arcs += [(depot, n, first), (n, depot, last), (n, n, ~variables.used[n])]
        model.add(variables.start[n] == 0).only_enforce_if(first)
        model.add(variables.end[n] == len(problem.items)).only_enforce_if(last)
        for m in nodes:
            if m != n:
                crossings[n, m] = model.new_bool_var(f"next[{n},{m}]")
                arcs.append((n, m, crossings[n, m]))
                model.add(variables.end[n] == variables.start[m]).only_enforce_if(crossings[n, m])
    model.add_circuit(arcs)
    return crossings


_OBJECTIVES: dict[str, Callable[[cp_model.CpModel, _Variables, Problem], _Unscale]] = {
    "nodes": _nodes,
    "balance": _balance,
    "load": _load,
    "headroom": _headroom,
    "tokens": _tokens,
    "context": _context,
    "latency": _latency,
    "throughput": _throughput,
}


def _placement(solver: cp_model.CpSolver, variables: _Variables, problem: Problem) -> Placement:
    stages = [
        Stage(solver.value(variables.start[n]), solver.value(variables.end[n]), node.name)
        for n, node in enumerate(problem.nodes)
        if solver.value(variables.used[n])
    ]
    return Placement(tuple(sorted(stages, key=lambda stage: stage.start)))
