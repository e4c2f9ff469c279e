"""A plan as text for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.columns import fact_lines
from solver.report.grid_text import grid_lines
from solver.report.plan_view import plan_view
from solver.report.terminal import Style, Styled, escape, fold, sentence_lines
from solver.solution import Outcome

if TYPE_CHECKING:
    from solver.planning import Plan
    from solver.report.grid import Fact
    from solver.report.plan_view import PlanView
    from solver.report.terminal import Paint

__all__ = ["outcome_lines", "plan_text"]

_MARKS = {
    Outcome.OPTIMAL: Styled("✓", Style.GOOD),
    Outcome.FEASIBLE: Styled("✓", Style.BAR),
    Outcome.INFEASIBLE: Styled("✗", Style.BAD),
    Outcome.UNKNOWN: Styled("?", Style.BAD),
}


def plan_text(plan: Plan, paint: Paint, *, timings: bool) -> str:
    """Return the report of a plan in lines that are no wider than what they are written on, unless a word needs more.

    Without timings, equal plans give equal text.
    """
    view = plan_view(plan, timings=timings)
    sections = [
        outcome_lines(view, paint),
        grid_lines(view.objectives, paint),
        grid_lines(view.stages, paint) + _facts(view.unused, paint),
        grid_lines(view.seams, paint),
        grid_lines(view.check, paint) + ([] if view.verdict is None else sentence_lines(view.verdict, paint, indent=0)),
        _facts(view.request, paint),
        [line for note in view.notes for line in sentence_lines(f"note: {note}", paint, indent=6)],
        [] if view.timing is None else [paint(view.timing, Style.FAINT)],
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def outcome_lines(view: PlanView, paint: Paint) -> list[str]:
    """Return how a question ended: the headline under its mark, remarks and reasons."""
    mark = _MARKS[view.outcome]
    width = paint.sentence_width
    first, *rest = fold(escape(view.headline), width - 2, 0)
    lines = [f"{paint(mark.text, mark.style)} {paint(first, Style.TITLE)}"]
    lines += [f"  {paint(line, Style.TITLE)}" for line in rest]
    for remark in view.remarks:
        lines += [f"  {line}" for line in fold(escape(remark), width - 2, 0)]
    for number, reason in enumerate(view.reasons, start=1):
        lines += [f"  {line}" for line in fold(f"{number}. {escape(reason)}", width - 2, 3)]
    return lines


def _facts(facts: tuple[Fact, ...], paint: Paint) -> list[str]:
    return fact_lines([(fact.word, fact.sentence) for fact in facts], paint)
