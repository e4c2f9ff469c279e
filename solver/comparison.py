"""A plan beside the split rules of engines, all measured on the same problem."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from solver.baselines import STRATEGIES, NoPlacement
from solver.errors import InputError
from solver.flow.chains import chains_of
from solver.flow.measure import pace_ns
from solver.measures import (
    imbalance,
    largest_fill,
    latency_ns,
    nodes_used,
    stage_load,
    weighted_imbalance,
)
from solver.problem import Placement
from solver.rules import Violation, hops, violations

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.limits import Value
    from solver.objectives import Objective
    from solver.problem import Problem
    from solver.solution import Solution

__all__ = ["PLAN", "Entry", "Figures", "Overfull", "compare", "measured"]

PLAN = "layerfit"
"""The name of the plan among the strategies."""

_NS = 10**9
# Objectives about tokens on their way.
_TIMES = ("latency", "throughput")

_Time = TypeVar("_Time", int, "int | Fraction")


@dataclass(frozen=True, slots=True)
class Overfull:
    """A node that would hold more than its budget, and by how much."""

    node: str
    over_bytes: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What a placement amounts to, whether it fits or not. Times are None where a speed is not known.

    A latency is None too where replicas or chains share the tokens, which then differ in it; latency and throughput are
    where a forbidden link stands in the way, since no token gets through.

    `fill` is the largest load/budget; `values` are those of the objectives asked for, None where a fact lacks.
    """

    nodes: int
    imbalance: Fraction
    weighted_imbalance: Fraction
    fill: Fraction
    latency_ns: int | None
    tokens_per_second: Fraction | None
    values: tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One strategy. Without a placement `reason` says why.

    `overfull` begins with the node that is most over its budget; `broken` are all rules but that on memory.
    """

    name: str
    title: str
    source: str
    placement: Placement | None
    reason: str | None
    overfull: tuple[Overfull, ...]
    broken: tuple[Violation, ...]
    figures: Figures | None

    @property
    def fits(self) -> bool | None:
        """Return whether the placement is one that the problem allows; None where there is none."""
        return None if self.placement is None else not self.overfull and not self.broken


def compare(problem: Problem, solution: Solution, objectives: tuple[Objective, ...]) -> tuple[Entry, ...]:
    """Return the plan and then every split rule in the order of the registry."""
    plan = solution.placement
    why = None if plan is not None else f"There is no plan: {solution.outcome.value}."
    entries = [_entry(problem, objectives, (PLAN, "the plan", "this solver"), plan, why)]
    for strategy in STRATEGIES.values():
        answer = strategy.place(problem)
        named = (strategy.name, strategy.title, strategy.source)
        if isinstance(answer, NoPlacement):
            entries.append(_entry(problem, objectives, named, None, answer.reason))
        else:
            entries.append(_entry(problem, objectives, named, Placement(answer), None))
    return tuple(entries)


def _entry(
    problem: Problem,
    objectives: tuple[Objective, ...],
    named: tuple[str, str, str],
    placement: Placement | None,
    reason: str | None,
) -> Entry:
    if placement is None:
        return Entry(*named, None, reason, (), (), None)
    loads = ((stage.node, stage_load(problem, stage)) for stage in placement.stages)
    over = [Overfull(node, load.load_bytes - load.budget_bytes) for node, load in loads]
    return Entry(
        *named,
        placement,
        reason,
        tuple(sorted((one for one in over if one.over_bytes > 0), key=lambda one: -one.over_bytes)),
        tuple(broken for broken in violations(problem, placement) if broken.rule != "memory"),
        measured(problem, placement, objectives),
    )


def measured(problem: Problem, placement: Placement, objectives: tuple[Objective, ...]) -> Figures:
    """Return what a placement amounts to."""
    cut_off = any(True for _ in hops(problem, placement))
    pace = None if cut_off else _known(lambda: pace_ns(problem, placement))
    shared = cut_off or (problem.rules.replicas and not _is_one_chain(placement))
    return Figures(
        nodes=nodes_used(problem, placement),
        imbalance=imbalance(problem, placement),
        weighted_imbalance=weighted_imbalance(problem, placement),
        fill=largest_fill(problem, placement),
        latency_ns=None if shared else _known(lambda: latency_ns(problem, placement)),
        tokens_per_second=None if pace is None else _NS / Fraction(pace),
        values=tuple(
            None if cut_off and objective.name in _TIMES else _value(problem, placement, objective)
            for objective in objectives
        ),
    )


def _value(problem: Problem, placement: Placement, objective: Objective) -> Value | None:
    try:
        return objective.value(objective.cost(problem, placement))
    except (InputError, ZeroDivisionError):
        return None


def _is_one_chain(placement: Placement) -> bool:
    """Return whether every token takes the same nodes; else they differ in latency."""
    chains = chains_of(placement)
    return len(chains) == 1 and all(len(step.nodes) == 1 for step in chains[0])


def _known(time_ns: Callable[[], _Time]) -> _Time | None:
    """Return a time, or None where a speed lacks or no token gets through."""
    try:
        return time_ns()
    except (InputError, ZeroDivisionError):
        return None
