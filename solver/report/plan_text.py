"""A plan as text for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.grid_text import grid_lines
from solver.report.plan_view import plan_view
from solver.report.terminal import Style, Styled, escape, fold, text_width
from solver.solution import Outcome

if TYPE_CHECKING:
    from solver.planning import Plan
    from solver.report.grid import Fact
    from solver.report.plan_view import PlanView
    from solver.report.terminal import Paint

__all__ = ["LINE_WIDTH", "outcome_lines", "plan_text"]

LINE_WIDTH = 100

_MARKS = {
    Outcome.OPTIMAL: Styled("✓", Style.GOOD),
    Outcome.FEASIBLE: Styled("✓", Style.BAR),
    Outcome.INFEASIBLE: Styled("✗", Style.BAD),
    Outcome.UNKNOWN: Styled("?", Style.BAD),
}


def plan_text(plan: Plan, paint: Paint, *, timings: bool) -> str:
    """Return the report of a plan in lines of at most 100 columns, unless a name or a number needs more.

    Without timings, equal plans give equal text.
    """
    view = plan_view(plan, timings=timings)
    sections = [
        outcome_lines(view, paint),
        grid_lines(view.objectives, LINE_WIDTH, paint),
        grid_lines(view.stages, LINE_WIDTH, paint) + _facts(view.unused, paint),
        grid_lines(view.seams, LINE_WIDTH, paint),
        grid_lines(view.check, LINE_WIDTH, paint)
        + ([] if view.verdict is None else fold(escape(view.verdict), LINE_WIDTH, 0)),
        _facts(view.request, paint),
        [line for note in view.notes for line in fold(f"note: {escape(note)}", LINE_WIDTH, 6)],
        [] if view.timing is None else [paint(view.timing, Style.FAINT)],
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def outcome_lines(view: PlanView, paint: Paint) -> list[str]:
    """Return how a question ended: the headline under its mark, remarks and reasons."""
    mark = _MARKS[view.outcome]
    first, *rest = fold(escape(view.headline), LINE_WIDTH - 2, 0)
    lines = [f"{paint(mark.text, mark.style)} {paint(first, Style.TITLE)}"]
    lines += [f"  {paint(line, Style.TITLE)}" for line in rest]
    for remark in view.remarks:
        lines += [f"  {line}" for line in fold(escape(remark), LINE_WIDTH - 2, 0)]
    for number, reason in enumerate(view.reasons, start=1):
        lines += [f"  {line}" for line in fold(f"{number}. {escape(reason)}", LINE_WIDTH - 2, 3)]
    return lines


def _facts(facts: tuple[Fact, ...], paint: Paint) -> list[str]:
    width = max((text_width(fact.word) for fact in facts), default=0)
    return [line for fact in facts for line in _fact(fact, width, paint)]


def _fact(fact: Fact, width: int, paint: Paint) -> list[str]:
    first, *rest = fold(escape(fact.sentence), LINE_WIDTH - width - 2, 0)
    indent = " " * (width + 2)
    return [f"{paint(fact.word, Style.FAINT)}{indent[len(fact.word) :]}{first}", *(f"{indent}{line}" for line in rest)]
