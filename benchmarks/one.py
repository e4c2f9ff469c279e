"""One case, here or in a process of its own so that memory is its own: `python -m benchmarks.one CASE`, CASE in JSON.

The last line printed is the record.
"""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
from dataclasses import replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from benchmarks.families import families_of
from benchmarks.family import RIVALS
from benchmarks.public.folder import PublicDataError
from benchmarks.records import SCHEMA, Case, Record, to_line
from benchmarks.strategies import STRATEGIES
from solver.effort import Effort
from solver.errors import SolverError
from solver.version import VERSION

if TYPE_CHECKING:
    from benchmarks.rivals.plain import Answer
    from solver.limits import Value
    from solver.problem import Problem

__all__ = ["answered", "main", "problem_of", "unfinished"]

_STATUS = Path("/proc/self/status")


def main() -> None:
    """Run the case of the command line and print its record."""
    print(to_line(answered(msgspec.json.decode(sys.argv[1], type=Case))))


def answered(case: Case) -> Record:
    """Put a case to its strategy and return how it ended."""
    problem = problem_of(case)
    effort = Effort(case.limit_seconds, case.deterministic_limit, case.workers, case.seed)
    _load_libraries(case.strategy)
    began, used = time.perf_counter(), _processor_seconds()
    try:
        answer: Answer | None = STRATEGIES[case.strategy](problem, case.objective, effort)
        failure = None
    except SolverError as error:
        answer, failure = None, str(error)
    wall, processor = time.perf_counter() - began, _processor_seconds() - used
    return _record(case, problem, answer, failure, wall, processor)


def problem_of(case: Case) -> Problem:
    """Draw or read the problem of a case."""
    family = families_of(small=case.small)[case.family]
    return next(instance for instance in family.instances if instance.name == case.instance).make()


def unfinished(case: Case, failure: str, wall: float) -> Record:
    """Return the record of a run that was ended from outside or broke down; without its files a problem has no size."""
    try:
        problem = problem_of(case)
    except PublicDataError:
        problem = None
    return replace(_record(case, problem, None, failure, wall, 0.0), peak_mib=None)


def _load_libraries(strategy: str) -> None:
    """Import what a rival needs before the clock starts; the solver's own late imports count against it."""
    if strategy in RIVALS:
        import_module(f"benchmarks.rivals.{strategy}")


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _peak_mib() -> int:
    """Return the most memory of this program: the kernel's own figure where it has one; rusage may count a parent's."""
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) // 1024
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit


def _versions() -> dict[str, str]:
    found = {"layerfit": VERSION, "python": platform.python_version()}
    for library in ("numpy", "ortools", "highspy"):
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def _gap(value: Value | None, bound: Value | float | None) -> float | None:
    if value is None or bound is None or not value:
        return None
    return abs(float((value - bound) / value))


def _record(
    case: Case, problem: Problem | None, answer: Answer | None, failure: str | None, wall: float, processor: float
) -> Record:
    value, bound = (None, None) if answer is None else (answer.value, answer.bound)
    return Record(
        schema=SCHEMA,
        case=case,
        blocks=0 if problem is None else len(problem.blocks),
        nodes=0 if problem is None else len(problem.nodes),
        outcome="failed" if answer is None else answer.outcome.value,
        exact=None if value is None else str(value),
        value=None if value is None else float(value),
        bound=None if bound is None else float(bound),
        gap=_gap(value, bound),
        proof="none" if answer is None else answer.proof,
        wall_seconds=round(wall, 4),
        processor_seconds=round(processor, 4),
        deterministic_time=None if answer is None else answer.deterministic_time,
        peak_mib=_peak_mib(),
        wall_of_repeats=(round(wall, 4),),
        failure=failure,
        load_average=round(os.getloadavg()[0], 2),
        cores=os.cpu_count() or 1,
        versions=_versions(),
        commit=os.environ.get("BENCHMARK_COMMIT"),
    )


if __name__ == "__main__":
    main()
