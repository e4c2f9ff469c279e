"""Runs of the model of shared memories: is there a placement within limits, the least value, and the canonical one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.model.answer import LONGEST_PRESOLVED_NS, NONE_EXISTS, NOT_TRIED, Answer, answer_of
from solver.model.pooled import Built, build
from solver.model.pooled_costs import cost_of, offloaded
from solver.model.pooled_sizes import placed_in, sizes_of
from solver.model.pooled_times import Times, times_of
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Clock
    from solver.limits import Limits
    from solver.model.pooled_sizes import Placed, Sizes
    from solver.problem import Problem

__all__ = ["MINIMISED", "canonical_placement", "find", "minimise"]

# Objectives that are minimised by the solver itself; others are closed by descent.
MINIMISED = ("nodes", "load", "latency", "throughput", "offload")

# A variable costs about a kilobyte while a model is built and presolved.
_MOST_VARIABLES = 300_000

_Sum = cp_model.LinearExpr


@dataclass(frozen=True, eq=False)
class _Timed:
    """A model with its times; None where no time matters."""

    built: Built
    times: Times | None


def find(problem: Problem, limits: Limits, clock: Clock, start: Placement | None, *, presolve: bool = True) -> Answer:
    """Return a placement within the limits, or that there is none; `presolve=False` searches the model as it stands."""
    sizes = sizes_of(problem, limits)
    if (known := _without_search(sizes)) is not None:
        return known
    return _solve(_timed(problem, sizes, limits, objective=None), clock, start, None, presolve=presolve)


def minimise(
    name: str,
    problem: Problem,
    limits: Limits,
    clock: Clock,
    start: Placement | None,
    report: Callable[[int, int], None],
    *,
    at_least: int,
) -> Answer:
    """Return a placement with the least cost of an objective within the limits, and a proven lower bound of it.

    `at_least` is a cost that is known to be needed, 0 where nothing is known.
    """
    sizes = sizes_of(problem, limits)
    if (known := _without_search(sizes)) is not None:
        return known
    timed = _timed(problem, sizes, limits, objective=name)
    cost = cost_of(name, timed.built, timed.times)
    model = timed.built.draft.model
    model.add(cost.total >= -(-at_least // cost.unit))
    model.minimize(cost.total)

    def in_full(value: int, bound: int) -> None:
        report(value * cost.unit, bound * cost.unit)

    answer = _solve(timed, clock, start, in_full)
    lower = None if answer.lower is None else answer.lower * cost.unit
    return Answer(answer.placement, lower, answer.settled, answer.interrupted)


def canonical_placement(problem: Problem, limits: Limits, clock: Clock, start: Placement) -> Answer:
    """Return the canonical placement within the limits by a chain of runs that each fix one more choice.

    Least left with hosts, fewest stages, the classes of the stages from the front, their ends from the front, and then
    the earliest blocks left with hosts.
    """
    # Which of two equal machines comes first is for the classes to say.
    sizes = replace(sizes_of(problem, limits), twins=())
    if (known := _without_search(sizes)) is not None:
        return known
    timed = _timed(problem, sizes, limits, objective=None)
    best = Answer(start, None, settled=True, interrupted=False)
    for choice in (offloaded(timed.built).total, _Sum.sum(timed.built.v.used)):
        best = _settled(timed, clock, best, choice)
        if not best.settled:
            return best
    for choice in _stages(timed.built, len(_stages_of(best))):
        best = _settled(timed, clock, best, choice)
        if not best.settled:
            return best
    return _earliest_left(timed, clock, best)


def _stages_of(answer: Answer) -> tuple[Stage, ...]:
    return () if answer.placement is None else answer.placement.stages


def _settled(timed: _Timed, clock: Clock, best: Answer, choice: cp_model.LinearExprT) -> Answer:
    """Return a placement with the least of a choice, which is then fixed; not settled where that is not proved.

    A choice has no constant: the solver's own bound leaves it out.
    """
    model = timed.built.draft.model
    model.minimize(choice)
    answer = _solve(timed, clock, best.placement, None)
    if answer.placement is None or not answer.settled or answer.lower is None or answer.interrupted:
        return Answer(best.placement, None, settled=False, interrupted=answer.interrupted)
    model.clear_objective()  # type: ignore[no-untyped-call]  # OR-Tools leaves it untyped
    model.add(choice == answer.lower)
    return answer


def _stages(built: Built, count: int) -> list[cp_model.LinearExpr]:
    """Declare which device has the stage of each number, and where it starts.

    Return what is least in the canonical placement: the classes of the stages from the front, then the cuts between
    them, the later the better.
    """
    draft, v = built.draft, built.v
    stages, devices = range(count), range(len(v.x))
    at = [[draft.boolean(f"at[{d},{k}]", _is_at(d, k)) for k in stages] for d in devices]
    cut = [draft.integer(built.sizes.items, f"cut[{k}]", _starts(k)) for k in stages]
    for k in stages:
        draft.model.add_exactly_one(at[d][k] for d in devices)
        if k:
            draft.model.add(cut[k] > cut[k - 1])
    for d in devices:
        draft.model.add(_Sum.sum(at[d]) == v.used[d])
        # An item is on a device from its start on: what s leaves out is in front of it.
        start = built.sizes.items - _Sum.sum(list(v.s[d]))
        for k in stages:
            draft.model.add(cut[k] == start).only_enforce_if(at[d][k])
    groups = [device.group for device in built.sizes.devices]
    classes = [_Sum.weighted_sum([at[d][k] for d in devices], groups) for k in stages]
    return [*classes, *(-cut[k] for k in stages[1:])]


def _is_at(d: int, k: int) -> Callable[[Placed], bool]:
    return lambda placed: k < len(placed.order) and placed.order[k] == d


def _starts(k: int) -> Callable[[Placed], int]:
    return lambda placed: placed.placement.stages[k].start if k < len(placed.order) else 0


def _earliest_left(timed: _Timed, clock: Clock, best: Answer) -> Answer:
    """Return the placement whose blocks left with hosts are the earliest; stages are fixed.

    Of a stage's items of one kind the earliest are left: an item is where enough of its kind are.
    """
    built = timed.built
    device_of = {device.node.name: d for d, device in enumerate(built.sizes.devices)}
    for stage in _stages_of(best):
        d = device_of[stage.node]
        seen = dict.fromkeys(built.v.n[d], 0)
        for i in range(stage.start, stage.end):
            q = next((kind for kind in seen if i in built.sizes.kinds[kind]), None)
            if q is None:
                continue
            best = _left_where_possible(timed, clock, best, i, built.v.n[d][q], seen[q] + 1)
            if not best.settled:
                return best
            if _is_left(best, i):
                seen[q] += 1
            else:
                del seen[q]
    return best


def _left_where_possible(
    timed: _Timed, clock: Clock, best: Answer, item: int, amount: cp_model.IntVar, least: int
) -> Answer:
    """Return a placement that leaves an item's experts with the host if one can; what it does is then fixed."""
    draft = timed.built.draft
    is_left = draft.boolean(
        f"left[{item}]", lambda placed: any(item in stage.offloaded for stage in placed.placement.stages)
    )
    draft.model.add(amount >= least).only_enforce_if(is_left)
    draft.model.add(amount < least).only_enforce_if(is_left.negated())
    if _is_left(best, item):
        draft.model.add(is_left == 1)
        return best
    return _settled(timed, clock, best, -is_left)


def _is_left(answer: Answer, item: int) -> bool:
    return any(item in stage.offloaded for stage in _stages_of(answer))


def _without_search(sizes: Sizes) -> Answer | None:
    """Return the answer where no model is built: there is no device, or the model would be too large for CP-SAT."""
    if not sizes.devices:
        return NONE_EXISTS
    return NOT_TRIED if 2 * len(sizes.devices) * sizes.items > _MOST_VARIABLES else None


def _timed(problem: Problem, sizes: Sizes, limits: Limits, *, objective: str | None) -> _Timed:
    """Return the model with the limits that are no caps: on what is left with hosts and on times."""
    built = build(problem, sizes)
    model = built.draft.model
    if limits.max_offload_bytes is not None:
        cost = offloaded(built)
        model.add(cost.total <= limits.max_offload_bytes // cost.unit)
    with_slowest = objective == "throughput" or limits.max_slowest_ns is not None
    if not with_slowest and objective != "latency" and limits.max_latency_ns is None:
        return _Timed(built, None)
    times = times_of(built, with_slowest=with_slowest)
    if limits.max_latency_ns is not None:
        model.add(times.latency <= limits.max_latency_ns)
    if limits.max_slowest_ns is not None and times.slowest is not None:
        model.add(times.slowest <= limits.max_slowest_ns)
    return _Timed(built, times)


def _solve(
    timed: _Timed,
    clock: Clock,
    start: Placement | None,
    report: Callable[[int, int], None] | None,
    *,
    presolve: bool = True,
) -> Answer:
    built = timed.built
    placed = None if start is None else placed_in(built.problem, built.sizes, start)
    if placed is not None:
        built.draft.hint(placed)
    is_long = timed.times is not None and timed.times.longest_ns >= LONGEST_PRESOLVED_NS
    return answer_of(
        built.draft.model,
        clock,
        lambda solver: _extract(solver, built),
        report,
        presolve=presolve and not is_long,
    )


def _extract(solver: cp_model.CpSolver, built: Built) -> Placement:
    """Return the placement of a solved model: earlier members of a class in front, the earliest of each kind left."""
    sizes, v = built.sizes, built.v
    free: dict[int, list[str]] = {}
    for device in sizes.devices:
        free.setdefault(device.group, []).append(device.node.name)
    stages = []
    for d, x in enumerate(v.x):
        held = [i for i, variable in enumerate(x) if solver.value(variable)]
        if held:
            offloaded_items = [
                i
                for q, amount in v.n[d].items()
                for i in [i for i in sizes.kinds[q] if i in held][: solver.value(amount)]
            ]
            stages.append((held[0], held[-1] + 1, sizes.devices[d].group, tuple(sorted(offloaded_items))))
    return Placement(tuple(Stage(start, end, free[group].pop(0), away) for start, end, group, away in sorted(stages)))
