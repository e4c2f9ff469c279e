"""What the search over machines answers: the least of a figure, a placement within limits, or how far it can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.question import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.exact.machines.search import Found, MachineSearch
    from solver.limits import Limits
    from solver.problem import Placement

__all__ = ["least", "within"]

_FIGURES = {"latency": "time", "offload": "offload"}


def least(search: MachineSearch, objective: str, limits: Limits, spent: Callable[[], bool]) -> Interval:
    """Return what the search shows of the least nodes, latency or offload within limits.

    Raises:
        TableError: the problem is not one for this search.
    """
    if objective == "nodes":
        return _fewest(search, limits, spent)
    figure = _FIGURES[objective]
    other = next(name for name in _FIGURES.values() if name != figure)
    aims = [(figure,)] if _limit(limits, other) is None else [(other, figure), (figure, other)]
    lower: int | None = None
    best: Placement | None = None
    for aim in aims:
        found = search.find(limits, aim, spent)
        levels = [level for level, figures in enumerate(found.figures) if _possible(figures, aim, limits)]
        if not levels:
            return Interval(None, None, impossible=True, interrupted=False)
        level = min(levels, key=lambda level: _figures(found, level)[figure])
        value = _figures(found, level)[figure]
        exact = aim[0] == figure or all(_figures(found, level)[other] == _limit(limits, other) for level in levels)
        if exact:
            lower = value if lower is None else max(lower, value)
        placement = found.placement(level)
        if search.keeps(placement, limits):
            best = placement
            if exact:
                break
    return Interval(lower, best, impossible=False, interrupted=False)


def within(search: MachineSearch, limits: Limits, spent: Callable[[], bool]) -> Interval:
    """Return a placement within limits on the fewest machines, that there is none, or neither.

    Raises:
        TableError: the problem is not one for this search.
    """
    found = _fewest(search, limits, spent)
    return Interval(None, found.placement, impossible=found.impossible, interrupted=False)


def _fewest(search: MachineSearch, limits: Limits, spent: Callable[[], bool]) -> Interval:
    """Return the fewest machines as far as the search can tell, with a placement where one passes."""
    counted = search.ready[0].counted
    lower: int | None = None
    refuted: set[int] = set()
    best: tuple[int, Placement] | None = None
    for aim in aims_of(limits):
        found = search.find(limits, aim, spent)
        for level, figures in enumerate(found.figures):
            if level in refuted or (best is not None and level >= best[0]):
                continue
            if not _possible(figures, aim, limits):
                refuted.add(level)
                continue
            if all(figures is not None and figures[name] <= (_limit(limits, name) or 0) for name in aim):
                placement = found.placement(level)
                if search.keeps(placement, limits):
                    best = level, placement
        open_levels = [level for level in range(len(found.figures)) if level not in refuted]
        if not open_levels:
            return Interval(None, None, impossible=True, interrupted=False)
        lower = open_levels[0]
        if best is not None and best[0] == lower:
            break
    if best is None:
        return Interval(lower if counted else None, None, impossible=False, interrupted=False)
    return Interval(lower if counted else None, best[1], impossible=False, interrupted=False)


def aims_of(limits: Limits) -> list[tuple[str, ...]]:
    """Return the aims under which figures that are limited become as small as they go, each of them first once."""
    limited = [name for name in ("offload", "time") if _limit(limits, name) is not None]
    return [tuple(limited), tuple(reversed(limited))] if len(limited) > 1 else [tuple(limited)]


def _limit(limits: Limits, figure: str) -> int | None:
    return limits.max_latency_ns if figure == "time" else limits.max_offload_bytes


def _possible(figures: dict[str, int] | None, aim: tuple[str, ...], limits: Limits) -> bool:
    """Return whether the least of the aim's first figure is within its limit: if not, nothing is."""
    if figures is None:
        return False
    limit = _limit(limits, aim[0]) if aim else None
    return limit is None or figures[aim[0]] <= limit


def _figures(found: Found, level: int) -> dict[str, int]:
    return found.figures[level] or {}
