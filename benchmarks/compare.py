"""What became worse, and what better, from one run to another.

    python -m benchmarks compare OLD NEW [--slack FRACTION]

Cases are matched by size, family, instance, objective, strategy, seed and workers; where a file has a case several
times, its best counts. Worse is: a run that fails, a worse value, a plan or a proof lost, two runs that contradict
each other, a case that is not there any more, and more deterministic time by more than the slack. Deterministic time is
judged where both runs had one worker, since with more it does not repeat. Wall time is shown and judged by nobody;
versions that differ are named.

Ends with 1 if anything became worse.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.records import best_by, read_file
from solver.errors import InputError
from solver.objectives import OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.records import Record

__all__ = ["Change", "Verdict", "changes", "main"]

# Below this many units a fraction says nothing.
_LEAST_UNITS = 0.05
_Match: TypeAlias = tuple[bool, str, str, str, str, int, int]


class Verdict(StrEnum):
    """Which way a case went."""

    WORSE = "worse"
    BETTER = "better"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Change:
    """A case that went one way, and how."""

    verdict: Verdict
    case: str
    what: str


def main(arguments: list[str]) -> int:
    """Print every change and a line of counts, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description="What became worse.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--slack", type=_fraction, default=0.1, help="of deterministic time, as a fraction")
    chosen = parser.parse_args(arguments)
    old, new = read_file(chosen.old), read_file(chosen.new)
    if not old:
        raise InputError(chosen.old.name, "no record is there; expected a line each case. Run first.")
    found = changes(old, new, slack=chosen.slack)
    for change in found:
        print(f"{change.verdict}: {change.case}: {change.what}")
    print(_summary(old, new, found))
    return 1 if any(change.verdict is Verdict.WORSE for change in found) else 0


def _fraction(text: str) -> float:
    """Return a number from 0 up."""
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError(text)
    return number


def changes(old: Iterable[Record], new: Iterable[Record], *, slack: float) -> tuple[Change, ...]:
    """Return what changed, case by case in the order of the old run, then what is new."""
    before, after = _matched(old), _matched(new)
    found: list[Change] = []
    for match, record in before.items():
        if match not in after:
            found.append(Change(Verdict.WORSE, _named(match), "asked before and not now"))
            continue
        found += (Change(verdict, _named(match), what) for verdict, what in _judged(record, after[match], slack))
    found += (Change(Verdict.NEW, _named(match), after[match].outcome) for match in after if match not in before)
    return tuple(found)


def _judged(old: Record, new: Record, slack: float) -> Iterator[tuple[Verdict, str]]:
    """Yield each way in which a case changed."""
    if new.failure is not None:
        yield Verdict.WORSE, f"failed: {new.failure}"
        return
    if old.failure is not None:
        yield Verdict.BETTER, f"{new.outcome}, where it failed"
        return
    contradiction = _contradiction(old, new)
    if contradiction is not None:
        yield Verdict.WORSE, contradiction
    else:
        yield from _of_value(old, new)
        if old.proved != new.proved:
            yield (Verdict.BETTER if new.proved else Verdict.WORSE), f"{new.outcome}, was {old.outcome}"
    yield from _of_work(old, new, slack)


def _contradiction(old: Record, new: Record) -> str | None:
    """Return how two runs contradict each other: one of them is wrong, whichever it is."""
    if old.exact is not None and new.exact is not None:
        differ = old.proved and new.proved and Fraction(old.exact) != Fraction(new.exact)
        return f"two proofs differ: {new.exact}, was {old.exact}" if differ else None
    if old.proved and new.proved and old.outcome != new.outcome:
        return f"two proofs differ: {new.outcome}, was {old.outcome}"
    if "infeasible" in {old.outcome, new.outcome} and old.exact != new.exact:
        return f"a plan and a proof that there is none: {new.outcome}, was {old.outcome}"
    return None


def _of_value(old: Record, new: Record) -> Iterator[tuple[Verdict, str]]:
    if old.exact is None or new.exact is None:
        if old.exact != new.exact and old.proved == new.proved:
            yield (Verdict.WORSE if new.exact is None else Verdict.BETTER), f"{new.outcome}, was {old.outcome}"
        return
    was, now = Fraction(old.exact), Fraction(new.exact)
    if was == now:
        return
    better = OBJECTIVES[old.case.objective].better(now, was)
    yield (Verdict.BETTER if better else Verdict.WORSE), f"value {new.exact}, was {old.exact}"


def _of_work(old: Record, new: Record, slack: float) -> Iterator[tuple[Verdict, str]]:
    was, now = old.deterministic_time, new.deterministic_time
    if was is None or now is None or old.case.workers != 1 or old.outcome != new.outcome:
        return
    said = f"{now:.3f} units of deterministic time, was {was:.3f}"
    if now > was * (1 + slack) and now - was > _LEAST_UNITS:
        yield Verdict.WORSE, said
    elif was > now * (1 + slack) and was - now > _LEAST_UNITS:
        yield Verdict.BETTER, said


def _matched(records: Iterable[Record]) -> dict[_Match, Record]:
    return best_by(records, _match)


def _match(record: Record) -> _Match:
    case = record.case
    return case.small, case.family, case.instance, case.objective, case.strategy, case.seed, case.workers


def _named(match: _Match) -> str:
    small, family, instance, objective, strategy, seed, workers = match
    size = " (small)" if small else ""
    return f"{family}{size}, {instance}, {objective}, {strategy}, seed {seed}, {workers} workers"


def _summary(old: Sequence[Record], new: Sequence[Record], found: Sequence[Change]) -> str:
    counts = ", ".join(f"{sum(change.verdict is verdict for change in found)} {verdict}" for verdict in Verdict)
    walls = " and ".join(f"{sum(record.wall_seconds for record in records):.2f}" for records in (old, new))
    commits = " and ".join(", ".join(sorted({str(record.commit) for record in records})) for records in (old, new))
    said = f"{len(_matched(old))} cases at {commits}: {counts}; {walls} s of wall time, which decides nothing"
    return "".join((said, *(f"; {change}" for change in _other_versions(old, new))))


def _other_versions(old: Sequence[Record], new: Sequence[Record]) -> Iterator[str]:
    """Yield what ran in other versions: deterministic times of two versions of OR-Tools are of different units."""
    before, after = ({name: value for one in records for name, value in one.versions.items()} for records in (old, new))
    for name in sorted(before.keys() | after.keys()):
        if old and new and before.get(name) != after.get(name):
            yield f"{name} {after.get(name, 'none')}, was {before.get(name, 'none')}"
