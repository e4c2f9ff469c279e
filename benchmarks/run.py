"""Run cases: families × instances × objectives × strategies × seeds, one JSON line each.

    python -m benchmarks run [--family NAME]… [--objective NAME]… [--strategy NAME]… [--seed N]… [--rivals] [--full]
                             [--limit SECONDS] [--deterministic-limit UNITS] [--instances N] [--repeats N]
                             [--workers N] [--known FILE] [--list]

Every run has a process of its own; lines go to standard output, and tables to standard error at the end. Without flags
each family is asked once at a small size, by the solver alone with one worker, so that deterministic times repeat. A
run that proves its value may be repeated, and the least time counts, since other work on the machine only adds; one
that meets its limit is not. Public instances are left out where their folder or a file of theirs is not there.

A run that was ended goes on with `--known FILE >> FILE`: what the file answers at this commit is not asked again.

Lines are written as they come. Ends with 130 if it was interrupted, with 1 if a run failed or two proofs disagree.
Times decide nothing: a missed target is shown and no error.
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

from benchmarks.families import families_of
from benchmarks.one import unfinished
from benchmarks.public.families import absence
from benchmarks.public.folder import instances_folder
from benchmarks.records import Case, Record, best_of, read_file, read_records, to_line
from benchmarks.report import disagreements, tables
from benchmarks.strategies import STRATEGIES, SUBJECT, missing_library
from solver.objectives import OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.family import Family

__all__ = ["main"]

_REPOSITORY = Path(__file__).resolve().parents[1]
# A run may overstep its limit by what cannot be interrupted; after so much more it is ended.
_GRACE_SECONDS = 120
_INTERRUPTED = 130


def main(arguments: list[str]) -> int:
    """Run what the command line asks for and return the exit code."""
    chosen = _parsed(arguments)
    families = families_of(small=not chosen.full)
    if chosen.list:
        for family in families.values():
            print(f"{family.name}: {len(family.instances)} instances; {', '.join(family.targets)}")
        return 0
    os.environ.setdefault("BENCHMARK_COMMIT", _commit())
    known = {record.case: record for record in _known(chosen.known)}
    records: list[Record] = []
    interrupted = False
    try:
        for case in _cases(families, chosen):
            record = known.get(case)
            if record is None:
                record = _repeated(case, chosen.repeats)
                print(to_line(record), flush=True)
            records.append(record)
    except KeyboardInterrupt:
        interrupted = True
    print(tables(records), file=sys.stderr)
    if interrupted:
        return _INTERRUPTED
    failed = any(record.failure is not None for record in records)
    return 1 if failed or disagreements(records) else 0


def _known(path: Path | None) -> tuple[Record, ...]:
    """Return what a run that was ended had answered at this commit."""
    if path is None:
        return ()
    return tuple(
        record
        for record in read_file(path)
        if record.failure is None and record.commit == os.environ["BENCHMARK_COMMIT"]
    )


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks run", description="Run cases, one JSON line each.")
    parser.add_argument("--family", action="append", choices=sorted(families_of(small=True)), help="all unless named")
    parser.add_argument("--objective", action="append", choices=[*OBJECTIVES], help="all of a family unless named")
    parser.add_argument("--strategy", action="append", choices=sorted(STRATEGIES), help="the solver unless named")
    parser.add_argument("--rivals", action="store_true", help="the rivals of a family too, where no strategy is named")
    parser.add_argument("--full", action="store_true", help="full sizes: minutes to hours")
    parser.add_argument("--limit", type=float, help="seconds of a run; the family's own unless named")
    parser.add_argument("--deterministic-limit", type=float, help="the solver's own units, about a second each")
    parser.add_argument("--instances", type=int, help="only the first so many of a family")
    parser.add_argument("--repeats", type=int, default=1, help="runs of which the least time counts")
    parser.add_argument("--seed", type=int, action="append", help="of solvers, not of instances; 0 unless named")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--known", type=Path, help="records of a run that was ended; what they answer is not asked")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    return parser.parse_args(arguments)


def _cases(families: dict[str, Family], chosen: argparse.Namespace) -> Iterator[Case]:
    for strategy in chosen.strategy or (STRATEGIES if chosen.rivals else ()):
        library = missing_library(strategy)
        if library is not None:
            print(f"{library} is not installed: {strategy} is left out. Install the extra bench.", file=sys.stderr)
    for name in chosen.family or families:
        family = families[name]
        if family.public and instances_folder() is None:
            print(f"{name} is left out: no public instances. LAYERFIT_DATA may name their folder.", file=sys.stderr)
            continue
        for seed in chosen.seed or [0]:
            yield from _cases_of(family, seed, chosen)


def _cases_of(family: Family, seed: int, chosen: argparse.Namespace) -> Iterator[Case]:
    """Yield the cases of a family: the rivals of an instance follow the solver, so that they meet the same machine."""
    for place, instance in enumerate(family.instances[: chosen.instances]):
        absent = absence(instance) if family.public else None
        if absent is not None:
            print(f"{family.name}, {instance.name} is left out: {absent}", file=sys.stderr)
            continue
        rivals = family.rivals if chosen.rivals and place < family.compared else ()
        alone = ("stages",) if rivals and not chosen.full else ()
        strategies = chosen.strategy or (SUBJECT, *alone, *rivals)
        for objective in family.targets:
            if chosen.objective and objective not in chosen.objective:
                continue
            for strategy in strategies:
                if missing_library(strategy) is None:
                    yield Case(
                        small=not chosen.full,
                        family=family.name,
                        instance=instance.name,
                        objective=objective,
                        strategy=strategy,
                        seed=seed,
                        workers=chosen.workers,
                        limit_seconds=family.limit_seconds if chosen.limit is None else chosen.limit,
                        deterministic_limit=chosen.deterministic_limit,
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
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    return done.stdout.strip() or "unknown"
