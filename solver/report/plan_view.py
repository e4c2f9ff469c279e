"""What a report of a plan says, in order, before it is text or a page: said in one place, so that they agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.report.plan_memory import memory_facts
from solver.report.plan_sentences import headline, remarks, request_facts, unused_facts, verdict
from solver.report.plan_tables import check_grid, objectives_grid, seams_grid, stages_grid

if TYPE_CHECKING:
    from solver.planning import Plan
    from solver.report.grid import Fact, Grid
    from solver.solution import Outcome

__all__ = ["PlanView", "plan_view"]

_MS_PER_SECOND = 1000


@dataclass(frozen=True, slots=True)
class PlanView:
    """The parts of a report in the order they are shown; grids are None and tuples empty where there is nothing to say.

    Text in it is as files and people gave it: renderers make it harmless. `timing` is None where times are left out.
    """

    outcome: Outcome
    headline: str
    remarks: tuple[str, ...]
    reasons: tuple[str, ...]
    objectives: Grid | None
    stages: Grid | None
    unused: tuple[Fact, ...]
    seams: Grid | None
    check: Grid | None
    verdict: str | None
    request: tuple[Fact, ...]
    notes: tuple[str, ...]
    timing: str | None


def plan_view(plan: Plan, *, timings: bool) -> PlanView:
    """Return what is to be said about a plan. Without a placement that is its reasons, bounds, and what was asked."""
    placed = bool(plan.stages)
    check = plan.check
    return PlanView(
        outcome=plan.outcome,
        headline=headline(plan),
        remarks=remarks(plan),
        reasons=plan.reasons,
        objectives=objectives_grid(plan) if placed or _has_bound(plan) else None,
        stages=stages_grid(plan) if placed else None,
        unused=(*memory_facts(plan), *unused_facts(plan)) if placed else (),
        seams=seams_grid(plan),
        check=None if check is None else check_grid(plan, check),
        verdict=None if check is None else verdict(plan, check),
        request=request_facts(plan),
        notes=plan.notes,
        timing=f"{plan.outcome.value}, solved in {_time(plan.solution.wall_ms)}" if timings else None,
    )


def _has_bound(plan: Plan) -> bool:
    return any(level.bound is not None for level in plan.solution.unreached)


def _time(duration_ms: int) -> str:
    return f"{duration_ms} ms" if duration_ms < _MS_PER_SECOND else f"{duration_ms / _MS_PER_SECOND:,.2f} s"
