"""What a run is asked, and what it says: one JSON line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Case", "Key", "Record", "best_of", "read_records", "to_line"]

PROVED = frozenset({"optimal", "infeasible"})


@dataclass(frozen=True, slots=True)
class Case:
    """One question to one strategy."""

    smoke: bool
    family: str
    instance: str
    objective: str
    strategy: str
    seed: int
    workers: int
    limit_seconds: float


@dataclass(frozen=True, slots=True)
class Key:
    """What strategies are compared on."""

    family: str
    instance: str
    objective: str


@dataclass(frozen=True, slots=True)
class Record:
    """How a case ended.

    `exact` is the value as an integer or a fraction in full; `value`, `bound` and `gap` are for reading. Seconds count
    from the problem in memory to the answer: wall, and processor over all threads. `peak_mib` is that of the whole
    process, interpreter and libraries included. `wall_of_repeats` has the wall seconds of every repeat; the rest is
    from the best of them. `failure` says what went wrong, None where nothing did.
    """

    case: Case
    blocks: int
    nodes: int
    outcome: str
    exact: str | None
    value: float | None
    bound: float | None
    gap: float | None
    proof: str
    wall_seconds: float
    processor_seconds: float
    deterministic_time: float | None
    peak_mib: int
    wall_of_repeats: tuple[float, ...]
    failure: str | None
    load_average: float
    cores: int
    versions: dict[str, str]
    commit: str | None

    @property
    def key(self) -> Key:
        """Return what this run can be compared on."""
        return Key(self.case.family, self.case.instance, self.case.objective)

    @property
    def proved(self) -> bool:
        """Return whether the run closed the question."""
        return self.outcome in PROVED


def to_line(record: Record) -> str:
    """Return a record as one line of JSON."""
    return msgspec.json.encode(record).decode()


def read_records(lines: Iterable[str]) -> tuple[Record, ...]:
    """Return the records of lines of JSON."""
    return tuple(msgspec.json.decode(line, type=Record) for line in lines if line.strip())


def best_of(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return one record a case: proved before open, then the smaller gap, then the least wall time."""
    best: dict[Case, Record] = {}
    for record in records:
        other = best.get(record.case)
        if other is None or _rank(record) < _rank(other):
            best[record.case] = record
    return tuple(best.values())


def _rank(record: Record) -> tuple[bool, float, float]:
    return (not record.proved, float("inf") if record.gap is None else record.gap, record.wall_seconds)
