"""A mixed-integer linear program put together by columns and rows, and handed to HiGHS in one piece."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import highspy

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LinearModel"]


@dataclass(slots=True)
class LinearModel:
    """Columns and rows as HiGHS wants them; a row is a mapping from column to coefficient."""

    costs: list[float] = field(default_factory=list)
    uppers: list[float] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    rows: list[tuple[float, Mapping[int, float], float]] = field(default_factory=list)

    def column(self, upper: float, *, integer: bool, cost: float = 0.0) -> int:
        """Add a variable from 0 to an upper bound and return its number."""
        self.costs.append(cost)
        self.uppers.append(upper)
        self.integer.append(integer)
        return len(self.costs) - 1

    def row(self, lower: float, terms: Mapping[int, float], upper: float) -> None:
        """Add lower <= terms <= upper."""
        self.rows.append((lower, terms, upper))

    def linear_program(self) -> highspy.HighsLp:
        """Return the model in HiGHS's own form, by rows."""
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = len(self.costs), len(self.rows)
        program.col_cost_ = self.costs
        program.col_lower_, program.col_upper_ = [0.0] * len(self.costs), self.uppers
        program.row_lower_, program.row_upper_ = [row[0] for row in self.rows], [row[2] for row in self.rows]
        kinds = highspy.HighsVarType
        program.integrality_ = [kinds.kInteger if integer else kinds.kContinuous for integer in self.integer]
        starts = [0]
        for _, terms, _ in self.rows:
            starts.append(starts[-1] + len(terms))
        matrix = program.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.start_ = starts
        matrix.index_ = [column for _, terms, _ in self.rows for column in terms]
        matrix.value_ = [value for _, terms, _ in self.rows for value in terms.values()]
        return program
