"""What a run is asked, and what it says: one JSON line each, as docs/schemas/benchmark-1.json has it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import msgspec

from solver.errors import InputError
from solver.objectives import OBJECTIVES, Sense
from tensors.text import decoder_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = ["PROVED", "SCHEMA", "Case", "Key", "Record", "best_by", "best_of", "read_file", "read_records", "to_line"]

_Group = TypeVar("_Group")
SCHEMA = "layerfit/benchmark/1"
# As `str` writes integers and fractions; no more digits than Python reads at once.
_EXACT = re.compile(r"-?[0-9]{1,4000}(/[1-9][0-9]{0,3999})?")
PROVED = frozenset({"optimal", "infeasible"})


@dataclass(frozen=True, slots=True)
class Case:
    """One question to one strategy. `small` is the family at the size that takes seconds.

    `deterministic_limit` is in the solver's own units; None where only seconds limit.
    """

    small: bool
    family: str
    instance: str
    objective: str
    strategy: str
    seed: int
    workers: int
    limit_seconds: float
    deterministic_limit: float | None


@dataclass(frozen=True, slots=True)
class Key:
    """What strategies are compared on."""

    small: bool
    family: str
    instance: str
    objective: str


@dataclass(frozen=True, slots=True)
class Record:
    """How a case ended.

    `exact` is the value as an integer or a fraction in full; `value`, `bound` and `gap` are for reading. Seconds count
    from the problem in memory to the answer: wall, and processor over all threads. `peak_mib` is that of the whole
    process, interpreter and libraries included; None where it was ended from outside or broke down. `wall_of_repeats`
    has the wall seconds of every repeat; the rest is from the best of them. `failure` says what went wrong, None where
    nothing did.
    """

    schema: str
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
    peak_mib: int | None
    wall_of_repeats: tuple[float, ...]
    failure: str | None
    load_average: float
    cores: int
    versions: dict[str, str]
    commit: str | None

    @property
    def key(self) -> Key:
        """Return what this run can be compared on."""
        return Key(self.case.small, self.case.family, self.case.instance, self.case.objective)

    @property
    def proved(self) -> bool:
        """Return whether the run closed the question."""
        return self.outcome in PROVED


def to_line(record: Record) -> str:
    """Return a record as one line of JSON."""
    return msgspec.json.encode(record).decode()


def read_records(lines: Iterable[str], where: str = "records") -> tuple[Record, ...]:
    """Return the records of lines of JSON; `where` names their file in errors.

    Raises:
        InputError: a line is no record.
    """
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = msgspec.json.decode(line, type=Record)
        except msgspec.DecodeError as error:
            raise InputError(
                f"{where}, line {number}", f"{decoder_problem(error)}; expected a record. Run again."
            ) from error
        if record.schema != SCHEMA:
            raise InputError(f"{where}, line {number}", f"schema {record.schema!r:.40}; expected {SCHEMA}. Run again.")
        if (wrong := _unreadable(record)) is not None:
            raise InputError(f"{where}, line {number}", f"{wrong}. Run again.")
        found.append(record)
    return tuple(found)


def read_file(path: Path) -> tuple[Record, ...]:
    """Return the records of a file.

    Raises:
        InputError: it is no text, or a line is no record.
        OSError: it cannot be read.
    """
    try:
        return read_records(path.read_text(encoding="utf-8").splitlines(), path.name)
    except UnicodeDecodeError as error:
        raise InputError(path.name, f"no UTF-8 at byte {error.start}; expected a line of JSON each case.") from error


def _unreadable(record: Record) -> str | None:
    """Return what of a record of the right form says nothing, and what was expected."""
    if record.case.objective not in OBJECTIVES:
        return f"objective {record.case.objective!r:.40}; expected one of {', '.join(OBJECTIVES)}"
    if record.exact is not None and not _EXACT.fullmatch(record.exact):
        return f"exact {record.exact!r:.40}; expected an integer or a fraction"
    return None


def best_of(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return the best record of each case."""
    return tuple(best_by(records, lambda record: record.case).values())


def best_by(records: Iterable[Record], group: Callable[[Record], _Group]) -> dict[_Group, Record]:
    """Return one record a group.

    Those that failed come last; proved before open, those with a plan first, the smaller gap, the better value, and of
    equals the least wall time.
    """
    best: dict[_Group, Record] = {}
    for record in records:
        other = best.get(group(record))
        if other is None or _rank(record) < _rank(other):
            best[group(record)] = record
    return best


def _rank(record: Record) -> tuple[bool, bool, bool, float, Fraction, float]:
    exact = Fraction(record.exact or 0)
    return (
        record.failure is not None,
        not record.proved,
        record.exact is None,
        float("inf") if record.gap is None else record.gap,
        exact if OBJECTIVES[record.case.objective].sense is Sense.MIN else -exact,
        record.wall_seconds,
    )
