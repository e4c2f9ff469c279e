"""Places contiguous runs of a model's blocks on unlike nodes, with proofs.

What stands here is looked up on first use, so that importing the package costs nothing: `plan`, the records it takes
and returns, and the errors it raises.
"""

from __future__ import annotations

# As in `typing`, which is not imported either: what is imported here, every use of the command waits for.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from solver.cluster import Cluster as Cluster
    from solver.cluster_file import read_cluster as read_cluster
    from solver.effort import Effort as Effort
    from solver.errors import AuditError as AuditError
    from solver.errors import InputError as InputError
    from solver.errors import SolverError as SolverError
    from solver.errors import UsageError as UsageError
    from solver.planning import Plan as Plan
    from solver.planning import plan as plan
    from solver.problem import Placement as Placement
    from solver.problem import Problem as Problem
    from solver.problem_file import read_problem as read_problem
    from solver.solution import Outcome as Outcome

_HOMES = {
    "AuditError": "solver.errors",
    "Cluster": "solver.cluster",
    "Effort": "solver.effort",
    "InputError": "solver.errors",
    "Outcome": "solver.solution",
    "Placement": "solver.problem",
    "Plan": "solver.planning",
    "Problem": "solver.problem",
    "SolverError": "solver.errors",
    "UsageError": "solver.errors",
    "plan": "solver.planning",
    "read_cluster": "solver.cluster_file",
    "read_problem": "solver.problem_file",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    """Return a public name from the module that is its home."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'solver' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - the command needs none of it

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
