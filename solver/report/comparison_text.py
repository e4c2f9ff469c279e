"""A plan beside the split rules of engines as text for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.amounts import ratio, shown_value, size
from solver.report.grid import Grid
from solver.report.grid_text import grid_lines
from solver.report.plan_tables import objectives_grid
from solver.report.plan_text import outcome_lines
from solver.report.plan_view import plan_view
from solver.report.terminal import Cell, Paint, Style, Styled, sentence_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.comparison import Entry, Figures
    from solver.limits import Value
    from solver.objectives import Objective
    from solver.planning import Plan

__all__ = ["comparison_text"]

_NS_PER_US, _NS_PER_MS = 10**3, 10**6
_UNKNOWN = "—"

# Which column shows an objective, where one does.
_COLUMNS = {"nodes": 0, "balance": 1, "latency": 4, "throughput": 5}
_TITLES = ("nodes", "fullest", "imbalance", "weighted", "latency", "tokens/s")


def comparison_text(plan: Plan, objectives: Sequence[Objective], entries: Sequence[Entry], paint: Paint) -> str:
    """Return how the plan ended, its objectives with their proofs, a row a strategy, and why some have no placement."""
    sections = [
        outcome_lines(plan_view(plan, timings=False), paint),
        grid_lines(objectives_grid(plan), paint) if plan.stages else [],
        grid_lines(_grid(plan, objectives, entries), paint),
        [line for entry in entries for line in _reason(entry, paint)],
        sentence_lines(_legend(objectives), paint, indent=0),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _grid(plan: Plan, objectives: Sequence[Objective], entries: Sequence[Entry]) -> Grid:
    further = [number for number, objective in enumerate(objectives) if objective.name not in _COLUMNS]
    titles = ("strategy", *_TITLES, *(objectives[number].name for number in further), "fits")
    rows = [_row(entry, objectives, further) for entry in entries]
    if plan.stages:
        rows.insert(1, _bounds(plan, objectives, further))
    return Grid(titles, tuple(rows), right=frozenset(range(1, len(titles) - 1)), unit="", names=None, bars=None)


def _row(entry: Entry, objectives: Sequence[Objective], further: Sequence[int]) -> tuple[Cell, ...]:
    figures = entry.figures
    if figures is None:
        return (entry.name, *[_UNKNOWN] * (len(_TITLES) + len(further)), Styled("no placement", Style.FAINT))
    values = (_value(figures.values[number], objectives[number]) for number in further)
    return (entry.name, *_figures(figures), *values, _fits(entry))


def _figures(figures: Figures) -> tuple[str, ...]:
    rate = figures.tokens_per_second
    return (
        f"{figures.nodes:,}",
        ratio(figures.fill),
        ratio(figures.imbalance),
        ratio(figures.weighted_imbalance),
        _UNKNOWN if figures.latency_ns is None else _time(figures.latency_ns),
        _UNKNOWN if rate is None else ratio(rate, 2),
    )


def _bounds(plan: Plan, objectives: Sequence[Objective], further: Sequence[int]) -> tuple[Cell, ...]:
    """Return the row of what no placement betters, for the objectives that the plan was made for."""
    cells = [""] * (len(_TITLES) + len(further))
    for number, (objective, level) in enumerate(zip(objectives, plan.solution.levels, strict=True)):
        place = _COLUMNS.get(objective.name)
        if level.bound is None:
            continue
        if place is None:
            cells[len(_TITLES) + further.index(number)] = _value(level.bound, objective)
        elif objective.name == "latency":
            cells[place] = _time(int(level.bound))
        elif objective.name == "throughput":
            cells[place] = f"{float(level.bound):,.2f}"
        else:
            cells[place] = _value(level.bound, objective)
    return tuple(Styled(cell, Style.FAINT) for cell in ("  its bound", *cells, ""))


def _value(value: Value | None, objective: Objective) -> str:
    return _UNKNOWN if value is None else shown_value(value, objective.unit).removesuffix(f" {objective.unit}")


def _time(time_ns: int) -> str:
    return f"{time_ns / _NS_PER_MS:,.3f} ms" if time_ns >= _NS_PER_US else f"{time_ns} ns"


def _fits(entry: Entry) -> Cell:
    if entry.fits:
        return Styled("yes", Style.GOOD)
    if any(broken.rule == "hops" for broken in entry.broken):
        return Styled("no, a forbidden link", Style.BAD)
    if not entry.overfull:
        return Styled(f"no, breaks the rule on {entry.broken[0].rule}", Style.BAD)
    worst, *others = entry.overfull
    more = f" and {len(others):,} more" if others else ""
    return Styled(f"no, {size(worst.over_bytes)} over on {worst.node}{more}", Style.BAD)


def _reason(entry: Entry, paint: Paint) -> list[str]:
    reason = entry.reason
    if reason is None:
        barred = [broken.witness for broken in entry.broken if broken.rule == "hops"]
        reason = f"It does not run: {barred[0]}." if barred else None
    if reason is None:
        return []
    return sentence_lines(f"{entry.name}: {reason}", paint, indent=4, style=Style.FAINT)


def _legend(objectives: Sequence[Objective]) -> str:
    wanted = ", then ".join(objective.name for objective in objectives)
    return (
        f"The plan is made for {wanted}; other columns are what that costs. fullest: largest load/budget; "
        "imbalance: largest load over the mean; weighted: by budget. Where a rule does not fit, its figures are of "
        "what it would place."
    )
