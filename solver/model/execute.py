"""One call of CP-SAT: its settings, a stop on interrupt, and a listener to better answers.

The search runs in a thread so that an interrupt reaches Python at once; the run is then stopped and its best answer
kept.
"""

from __future__ import annotations

import threading
from math import ceil
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Clock

__all__ = ["Reporter", "configured", "interruptible"]


def configured(clock: Clock, *, presolve: bool) -> cp_model.CpSolver:
    """Return a solver with the limits, workers and seed of an effort."""
    solver = cp_model.CpSolver()
    effort = clock.effort
    solver.parameters.num_workers = effort.workers
    solver.parameters.random_seed = effort.seed
    solver.parameters.max_time_in_seconds = max(clock.seconds_left, 0.01)
    solver.parameters.cp_model_presolve = presolve
    # Three steps of OR-Tools 9.15's presolve prove wrong bounds on models like this one (docs/decisions.md): probing,
    # the search for included constraints, and symmetry detection. The classes leave no symmetry to find.
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.presolve_inclusion_work_limit = 0
    solver.parameters.symmetry_level = 0
    # With presolve, this step of its search loses placements where sums of several tables meet (docs/decisions.md).
    solver.parameters.auto_detect_greater_than_at_least_one_of = False
    solver.parameters.catch_sigint_signal = False
    if clock.deterministic_left is not None:
        solver.parameters.max_deterministic_time = max(clock.deterministic_left, 1e-6)
    return solver


def interruptible(solver: cp_model.CpSolver, model: cp_model.CpModel, callback: Reporter | None) -> tuple[int, bool]:
    """Solve in a thread, so that Ctrl-C stops the search and not the program.

    Raises:
        Exception: whatever the solver or the callback raised.
    """
    statuses: list[int] = []
    failures: list[Exception] = []
    # Not the thread's own `join`: one that is interrupted takes a running thread for a finished one (bpo-45274).
    finished = threading.Event()

    def target() -> None:
        try:
            statuses.append(int(solver.solve(model, callback)))
        except Exception as error:  # noqa: BLE001 - handed to the caller's thread, whatever it is
            failures.append(error)
        finally:
            finished.set()

    threading.Thread(target=target, daemon=True).start()
    interrupted = False
    while not finished.is_set():
        try:
            finished.wait(timeout=0.2)
        except KeyboardInterrupt:
            interrupted = True
        if interrupted:
            # Again each time: a search that has not begun yet cannot be stopped.
            solver.stop_search()
    if failures:
        raise failures[0]
    if callback is not None and callback.failure is not None:
        if not isinstance(callback.failure, KeyboardInterrupt):
            raise callback.failure
        interrupted = True
    return statuses[0], interrupted


class Reporter(cp_model.CpSolverSolutionCallback):
    """Hands on the value and bound of every better answer; what the listener raises stops the search."""

    def __init__(self, report: Callable[[int, int], None]) -> None:
        super().__init__()
        self._report = report
        self.failure: BaseException | None = None

    def on_solution_callback(self) -> None:
        """Report the value and the bound that the search has just reached."""
        try:
            self._report(round(self.objective_value), ceil(self.best_objective_bound - 1e-6))
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread; nothing may cross the solver's
            self.failure = error
            self.stop_search()
