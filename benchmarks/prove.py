"""How long proofs take, beside targets and rivals.

    python -m benchmarks.prove [--family NAME]… [--objective NAME]… [--strategy NAME]… [--limit SECONDS]
                               [--instances N] [--repeats N] [--seed N] [--workers N] [--smoke]

Every run has a process of its own; one JSON line each goes to standard output, and the table to standard error at the
end. A run that proves its value is repeated and the least time counts, since other work on the machine only adds; one
that meets its limit is not. `--smoke` asks each family once at a small size, and the rivals too; it takes seconds.

Ends with 1 if a run failed or two proofs disagree. Times decide nothing: a missed target is shown and no error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from benchmarks.families import FAMILIES, SMOKE
from benchmarks.one import unfinished
from benchmarks.records import Case, Record, best_of, read_records, to_line
from benchmarks.report import disagreements, tables
from benchmarks.strategies import STRATEGIES, SUBJECT, missing_library

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.families import Family

__all__ = ["main"]

_REPOSITORY = Path(__file__).resolve().parents[1]
# A run may overstep its limit by what cannot be interrupted; after so much more it is ended.
_GRACE_SECONDS = 120


def main() -> int:
    """Run what the command line asks for and return the exit code."""
    chosen = _arguments()
    os.environ.setdefault("BENCHMARK_COMMIT", _commit())
    records = []
    for case in _cases(chosen):
        record = _repeated(case, chosen.repeats)
        records.append(record)
        print(to_line(record), flush=True)
    print(tables(records), file=sys.stderr)
    failed = any(record.failure is not None for record in records)
    return 1 if failed or disagreements(records) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prove", description="How long proofs take.")
    parser.add_argument("--family", action="append", choices=sorted(FAMILIES), help="all unless named")
    parser.add_argument("--objective", action="append", help="all of a family unless named")
    parser.add_argument("--strategy", action="append", choices=sorted(STRATEGIES), help="the solver and its rivals")
    parser.add_argument("--limit", type=float, help="seconds of a run; the family's own unless named")
    parser.add_argument("--instances", type=int, help="only the first so many of a family")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the least time counts")
    parser.add_argument("--seed", type=int, default=0, help="of solvers, not of instances")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--smoke", action="store_true", help="each family once at a small size")
    chosen = parser.parse_args()
    if chosen.smoke:
        chosen.repeats = 1
    return chosen


def _cases(chosen: argparse.Namespace) -> Iterator[Case]:
    families = SMOKE if chosen.smoke else FAMILIES
    for library in {missing_library(strategy) for strategy in STRATEGIES} - {None}:
        print(f"{library} is not installed: its rival is left out. Install the extra bench.", file=sys.stderr)
    for name in chosen.family or families:
        yield from _cases_of(families[name], chosen)


def _cases_of(family: Family, chosen: argparse.Namespace) -> Iterator[Case]:
    """Yield the cases of a family: the rivals of an instance follow the solver, so that they meet the same machine."""
    for place, instance in enumerate(family.instances[: chosen.instances]):
        rivals = family.rivals if place < family.compared else ()
        alone = ("stages",) if chosen.smoke and rivals else ()
        strategies = chosen.strategy or (SUBJECT, *alone, *rivals)
        for objective in family.targets:
            if chosen.objective and objective not in chosen.objective:
                continue
            for strategy in strategies:
                if missing_library(strategy) is None:
                    limit = family.limit_seconds if chosen.limit is None else chosen.limit
                    yield Case(
                        chosen.smoke,
                        family.name,
                        instance.name,
                        objective,
                        strategy,
                        chosen.seed,
                        chosen.workers,
                        limit,
                    )


def _repeated(case: Case, repeats: int) -> Record:
    """Return the best of some runs, with the wall times of all."""
    records = [_run(case)]
    while records[-1].proved and len(records) < repeats:
        records.append(_run(case))
    (best,) = best_of(records)
    return replace(best, wall_of_repeats=tuple(record.wall_seconds for record in records))


def _run(case: Case) -> Record:
    command = [sys.executable, "-m", "benchmarks.one", msgspec.json.encode(case).decode()]
    began = time.perf_counter()
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            command,
            cwd=_REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
            timeout=case.limit_seconds + _GRACE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return unfinished(case, "still running long after its limit; ended", time.perf_counter() - began)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return unfinished(case, said[-1] if said else f"exit {done.returncode}", time.perf_counter() - began)
    # A library may greet before.
    return read_records(done.stdout.splitlines()[-1:])[0]


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
