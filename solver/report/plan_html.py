"""A plan as one page of HTML: no script, nothing loaded from anywhere, the plan's document inside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from solver.report.grid_html import element, grid_html, harmless
from solver.report.plan_html_style import STYLE
from solver.report.plan_view import plan_view
from solver.solution import Outcome
from solver.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solver.planning import Plan
    from solver.report.grid import Fact, Grid
    from solver.report.plan_view import PlanView

__all__ = ["plan_html"]

# Were some name to slip through as markup, the page would still run and load nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_MARKS = {
    Outcome.OPTIMAL: ("✓", "good"),
    Outcome.FEASIBLE: ("✓", "faint"),
    Outcome.INFEASIBLE: ("✗", "bad"),
    Outcome.UNKNOWN: ("?", "bad"),
}


def plan_html(plan: Plan, document: Mapping[str, Any]) -> str:
    """Return the page of a plan, which says what the text says; `document` is that of the plan, shown as it is.

    Times are left out where the document leaves them out, so that equal plans give equal pages.
    """
    view = plan_view(plan, timings="wall_ms" in document["solver"])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{element('title', view.headline)}\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"{_body(view)}{_footer(view, document)}</main>\n</body>\n</html>\n"
    )


def _body(view: PlanView) -> str:
    mark, look = _MARKS[view.outcome]
    parts = [
        f"<h1>{element('span', mark, 'mark', look)}{harmless(view.headline)}</h1>\n",
        *(f"{element('p', remark)}\n" for remark in view.remarks),
        _list("ol", view.reasons),
        _section("Objectives", view.objectives),
        _section("Stages", view.stages),
        _facts(view.unused),
        _section("Seams", view.seams),
        _section("Check against the closed forms", view.check),
        "" if view.verdict is None else f"{element('p', view.verdict)}\n",
        f"<section>\n<h2>Asked</h2>\n{_facts(view.request)}</section>\n",
        f"<section>\n<h2>Notes</h2>\n{_list('ul', view.notes)}</section>\n" if view.notes else "",
    ]
    return "".join(parts)


def _section(title: str, grid: Grid | None) -> str:
    if grid is None:
        return ""
    unit = f" {element('small', f'sizes in {grid.unit}')}" if grid.unit else ""
    name = title.split(maxsplit=1)[0].lower()
    return f'<section class="{name}">\n<h2>{harmless(title)}{unit}</h2>\n{grid_html(grid)}</section>\n'


def _facts(facts: Sequence[Fact]) -> str:
    rows = "".join(f"{element('dt', fact.word)}{element('dd', fact.sentence)}\n" for fact in facts)
    return f"<dl>\n{rows}</dl>\n" if rows else ""


def _list(tag: str, sentences: Sequence[str]) -> str:
    items = "".join(f"{element('li', sentence)}\n" for sentence in sentences)
    return f"<{tag}>\n{items}</{tag}>\n" if items else ""


def _footer(view: PlanView, document: Mapping[str, Any]) -> str:
    said = f"layerfit {VERSION}" if view.timing is None else f"layerfit {VERSION}: {view.timing}"
    text = json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)
    return (
        f"<footer>\n{element('p', said)}\n<details>\n<summary>The plan as JSON, exact to the byte</summary>\n"
        f"<pre>{_harmless_lines(text)}</pre>\n</details>\n</footer>\n"
    )


def _harmless_lines(text: str) -> str:
    """Return text of many lines as text of a page."""
    return "\n".join(harmless(line) for line in text.split("\n"))
