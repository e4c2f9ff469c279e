"""Who is asked: the solver, the solver's CP-SAT model without its exact searches, rivals, and engines' split rules."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.rivals.plain import Answer
from solver.baselines import STRATEGIES as SPLIT_RULES
from solver.baselines import NoPlacement
from solver.objectives import OBJECTIVES, objectives_named
from solver.problem import Placement
from solver.provers import provers_for
from solver.rules import violations
from solver.solution import Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Effort
    from solver.problem import Problem

__all__ = ["PROVING", "STRATEGIES", "SUBJECT", "Strategy", "missing_library"]

# Called with the problem and the objective, and how hard to try.
Strategy: TypeAlias = "Callable[[Problem, str, Effort], Answer]"
SUBJECT = "layerfit"
_LIBRARIES = {"highs": "highspy"}


def missing_library(strategy: str) -> str | None:
    """Return the library that a strategy needs and that is not installed, or None."""
    library = _LIBRARIES.get(strategy)
    return library if library is not None and find_spec(library) is None else None


def _all_provers(problem: Problem, objective: str, effort: Effort) -> Answer:
    return _solved(problem, objective, effort, exact=True)


def _stages_alone(problem: Problem, objective: str, effort: Effort) -> Answer:
    return _solved(problem, objective, effort, exact=False)


def _solved(problem: Problem, objective: str, effort: Effort, *, exact: bool) -> Answer:
    found = solve(problem, objectives_named(objective), effort, provers=provers_for(problem, exact=exact))
    if not found.levels:
        return Answer(found.outcome, None, None, found.refuted_by or "none", found.deterministic_time)
    level = found.levels[-1]
    return Answer(found.outcome, level.value, level.bound, level.proof, found.deterministic_time)


def _highs(problem: Problem, objective: str, effort: Effort) -> Answer:
    from benchmarks.rivals.highs import solve_with_highs  # noqa: PLC0415 - an extra that may be missing

    return solve_with_highs(problem, objective, effort.time_limit_seconds, effort.workers, effort.seed)


def _intervals(problem: Problem, objective: str, effort: Effort) -> Answer:
    from benchmarks.rivals.intervals import solve_with_intervals  # noqa: PLC0415 - loads OR-Tools

    return solve_with_intervals(problem, objective, effort.time_limit_seconds, effort.workers, effort.seed)


def _by_rule(name: str, problem: Problem, objective: str, _effort: Effort) -> Answer:
    """Answer with what an engine's rule places, where that fits; a rule proves nothing."""
    stages = SPLIT_RULES[name].place(problem)
    entry = OBJECTIVES[objective]
    entry.needs(problem, objective)
    if isinstance(stages, NoPlacement) or violations(problem, Placement(stages)):
        return Answer(Outcome.UNKNOWN, None, None, "none", None)
    return Answer(Outcome.FEASIBLE, entry.value(entry.cost(problem, Placement(stages))), None, "none", None)


# Those that prove, and the split rules, which do not.
PROVING: dict[str, Strategy] = {
    SUBJECT: _all_provers,
    "stages": _stages_alone,
    "highs": _highs,
    "intervals": _intervals,
}
STRATEGIES: dict[str, Strategy] = PROVING | {name: partial(_by_rule, name) for name in SPLIT_RULES}
