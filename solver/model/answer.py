"""What one run of CP-SAT on a model showed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.errors import AuditError
from solver.model.execute import Reporter, configured, interruptible

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Clock
    from solver.problem import Placement

__all__ = ["LONGEST_PRESOLVED_NS", "NONE_EXISTS", "NOT_TRIED", "Answer", "answer_of", "least", "settled"]

_FOUND = (cp_model.OPTIMAL, cp_model.FEASIBLE)
# Beyond this presolve of OR-Tools 9.15 loses placements (docs/decisions.md): a stage or hop of a second and more.
LONGEST_PRESOLVED_NS = 2**30
# What CP-SAT says of a model whose sums could leave 64 bits.
_OVERFLOW = "overflow"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one run showed. `lower` is a proven bound of what was minimised, None where nothing was or nothing is known.

    `settled` says that the run ended by itself: without a placement there is then none.
    """

    placement: Placement | None
    lower: int | None
    settled: bool
    interrupted: bool


NONE_EXISTS = Answer(placement=None, lower=None, settled=True, interrupted=False)
NOT_TRIED = Answer(placement=None, lower=None, settled=False, interrupted=False)


def answer_of(
    model: cp_model.CpModel,
    clock: Clock,
    extract: Callable[[cp_model.CpSolver], Placement],
    report: Callable[[int, int], None] | None,
    *,
    presolve: bool,
) -> Answer:
    """Run CP-SAT on a model in the time left; `extract` turns a solution into a placement.

    Raises:
        AuditError: CP-SAT refuses the model, other than for sums that could leave 64 bits.
    """
    solver = configured(clock, presolve=presolve)
    status, interrupted = interruptible(solver, model, None if report is None else Reporter(report))
    if status == cp_model.MODEL_INVALID:
        problem = model.validate().strip()
        if _OVERFLOW in problem:
            return NOT_TRIED
        raise AuditError(f"CP-SAT refuses the model of the problem: {problem}")
    response = solver.response_proto
    clock.deterministic_time += response.deterministic_time
    found = status in _FOUND
    return Answer(
        placement=extract(solver) if found else None,
        # The bound as an integer: `best_objective_bound` is a float, and wrong by bytes beyond 2^53.
        lower=int(response.inner_objective_lower_bound) if found and model.has_objective() else None,
        settled=status in (cp_model.OPTIMAL, cp_model.INFEASIBLE),
        interrupted=interrupted,
    )


def least(
    model: cp_model.CpModel,
    cost: cp_model.LinearExprT,
    unit: int,
    at_least: int,
    report: Callable[[int, int], None],
    run: Callable[[Callable[[int, int], None]], Answer],
) -> Answer:
    """Return what a run shows that makes a cost small; `cost` is in so many units, all else in full.

    `at_least` is a cost that is known to be needed, 0 where nothing is known.
    """
    model.add(cost >= -(-at_least // unit))
    model.minimize(cost)
    answer = run(lambda value, bound: report(value * unit, bound * unit))
    return replace(answer, lower=None if answer.lower is None else answer.lower * unit)


def settled(
    model: cp_model.CpModel, choice: cp_model.LinearExprT, best: Answer, run: Callable[[Placement | None], Answer]
) -> Answer:
    """Return a placement with the least of a choice, which is then fixed; not settled where that is not proved.

    A choice has no constant: the solver's own bound leaves it out.
    """
    model.minimize(choice)
    answer = run(best.placement)
    if answer.placement is None or not answer.settled or answer.lower is None or answer.interrupted:
        return Answer(best.placement, None, settled=False, interrupted=answer.interrupted)
    model.clear_objective()  # type: ignore[no-untyped-call]  # OR-Tools leaves it untyped
    model.add(choice == answer.lower)
    return answer
