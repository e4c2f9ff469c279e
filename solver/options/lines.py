"""Both answers side by side: one line for every place of every artifact, in the order of the better known answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.options.option import Method, Option
from solver.options.ranking import CRITERIA, first_difference, rank, rank_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Line", "best_line", "lines_of", "reason_of"]


@dataclass(frozen=True, slots=True)
class Line:
    """One place of one artifact: what the arithmetic and what the solver say of it; not both are None."""

    rank: int
    simple: Option | None
    exact: Option | None

    @property
    def leading(self) -> Option:
        """Return the answer that places the line: the solver's where there is one."""
        option = self.simple if self.exact is None else self.exact
        if option is None:
            raise AssertionError("a line holds an option")
        return option

    @property
    def refuted(self) -> bool:
        """Return whether the solver shows that the arithmetic is wrong here."""
        return self.exact is None and self.leading.refuted

    @property
    def options(self) -> tuple[Option, ...]:
        """Return the answers that there are, the arithmetic first."""
        return tuple(option for option in (self.simple, self.exact) if option is not None)


def lines_of(options: Iterable[Option]) -> tuple[Line, ...]:
    """Return the options as lines, best first and numbered from 1."""
    found: dict[tuple[int, str, str], Line] = {}
    for option in options:
        key = (option.order, option.engine, option.place.label)
        line = found.get(key, Line(0, None, None))
        is_simple = option.method is Method.SIMPLE
        found[key] = replace(line, simple=option) if is_simple else replace(line, exact=option)
    by_leading = {id(line.leading): line for line in found.values()}
    ranked = rank(line.leading for line in found.values())
    return tuple(replace(by_leading[id(option)], rank=number) for number, option in enumerate(ranked, start=1))


def best_line(lines: Sequence[Line]) -> Line | None:
    """Return the first line that nobody refutes, None where there is none."""
    return next((line for line in lines if not line.refuted), None)


def reason_of(lines: Sequence[Line], number: int) -> str:
    """Return why the line of a number (from 1) stands behind the one before it."""
    if number == 1:
        return "first of all"
    before, here = lines[number - 2].leading, lines[number - 1].leading
    position = first_difference(before, here)
    if position is None:
        return f"equal to #{number - 1}; the order of artifacts and classes decides"
    return f"behind #{number - 1}, which has {CRITERIA[position]}{_figures(before, here, position)}"


def _figures(before: Option, here: Option, position: int) -> str:
    """Return the two figures of a criterion, where figures say more than its name."""
    if CRITERIA[position] == "more room":
        rooms = [(option.have_bytes - option.need_bytes) / 10**9 for option in (before, here)]
        return f" ({rooms[0]:,.3f} against {rooms[1]:,.3f} GB)"
    if CRITERIA[position] in ("fewer cards", "fewer nodes"):
        return f" ({rank_key(before)[position]} against {rank_key(here)[position]})"
    if CRITERIA[position] == "higher quality":
        figures = [float(-rank_key(option)[position]) for option in (before, here)]
        return f" ({figures[0]:.3f} against {figures[1]:.3f})"
    return ""
