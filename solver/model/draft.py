"""A model under construction, whose every variable says what it is in a placement: so that hints are complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.model.pooled_sizes import Placed

__all__ = ["Draft"]


class Draft:
    """A CP-SAT model and the meanings of its variables."""

    def __init__(self) -> None:
        self.model = cp_model.CpModel()
        self._meanings: list[tuple[cp_model.IntVar, Callable[[Placed], int]]] = []

    def boolean(self, name: str, meaning: Callable[[Placed], int]) -> cp_model.IntVar:
        """Declare a variable of 0 or 1 that has the value of `meaning` in a placement."""
        return self._remembered(self.model.new_bool_var(name), meaning)

    def integer(self, most: int, name: str, meaning: Callable[[Placed], int]) -> cp_model.IntVar:
        """Declare a variable of 0 … `most` that has the value of `meaning` in a placement."""
        return self._remembered(self.model.new_int_var(0, most, name), meaning)

    def hint(self, placed: Placed) -> None:
        """Hint every variable from a placement."""
        self.model.clear_hints()  # type: ignore[no-untyped-call]  # OR-Tools leaves it untyped
        for variable, meaning in self._meanings:
            self.model.add_hint(variable, int(meaning(placed)))

    def _remembered(self, variable: cp_model.IntVar, meaning: Callable[[Placed], int]) -> cp_model.IntVar:
        self._meanings.append((variable, meaning))
        return variable
