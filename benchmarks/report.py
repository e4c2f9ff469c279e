"""Tables of a benchmark's records: the solver beside its targets, and rivals beside the solver.

    python -m benchmarks report FILE…

Ratios are of wall seconds in one run on one machine: a rival's time to proof over the solver's, with the rival's limit
in place of its time, and "at least" before the ratio, where it proved nothing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import pairwise
from math import exp, inf, log
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.families import FAMILIES
from benchmarks.family import RIVALS, Target
from benchmarks.records import best_of, read_file
from benchmarks.strategies import PROVING, SUBJECT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.records import Key, Record

__all__ = ["disagreements", "main", "near", "tables"]

# Rivals compute in floats, and one in millionths of a budget.
_TOLERANCE = 2e-6
_NO_TARGET = Target(None, None)
_SUBJECT_COLUMNS = (
    *("family", "strategy", "objective", "proved", "wall s, worst", "processor s"),
    *("gap, worst", "peak MiB", "target", "met"),
)
_RULE_COLUMNS = ("family", "objective", "split rule", "fits", "value over ours, middle", "worst")
_RIVAL_COLUMNS = ("family", "objective", "rival", "proved", "gap, worst", "least ratio", "geometric mean")


@dataclass(frozen=True, slots=True)
class _Ratio:
    """How many times longer a rival took; `at_least` where it hit its limit."""

    times: float
    at_least: bool

    def __str__(self) -> str:
        return f"{'≥ ' if self.at_least else ''}{self.times:,.0f}" if self.times >= 10 else f"{self.times:.1f}"  # noqa: PLR2004 - digits


def main(arguments: list[str]) -> int:
    """Print the tables of the files named and return the exit code."""
    records = [record for name in arguments for record in read_file(Path(name))]
    print(tables(records))
    return 0


def tables(records: Iterable[Record]) -> str:
    """Return the tables of records as Markdown, and what strategies disagree on."""
    best = best_of(records)
    parts = [_table(_SUBJECT_COLUMNS, _own_rows(best))]
    rivals = tuple(_rival_rows(best))
    if rivals:
        parts.append(_table(_RIVAL_COLUMNS, rivals))
    rules = tuple(_rule_rows(best))
    if rules:
        parts.append(_table(_RULE_COLUMNS, rules))
    parts += [f"Failed: {record.case}: {record.failure}" for record in best if record.failure is not None]
    parts += [f"Disagreement: {sentence}" for sentence in disagreements(best)]
    return "\n\n".join(parts)


def disagreements(records: Iterable[Record]) -> tuple[str, ...]:
    """Return a sentence for every question on which two proofs differ by more than tolerances allow."""
    found = []
    for key, group in _grouped(records).items():
        proved = [record for record in group if record.proved]
        for one, other in pairwise(proved):
            if not _agree(one, other):
                said = f"{one.case.strategy} says {one.exact}, {other.case.strategy} says {other.exact}"
                found.append(f"{key.family}, {key.instance}, {key.objective}: {said}")
    return tuple(found)


def _agree(one: Record, other: Record) -> bool:
    if one.value is None or other.value is None:
        return one.outcome == other.outcome
    return near(one.value, other.value)


def near(one: float, other: float) -> bool:
    """Return whether two proven values are the same but for what rivals round."""
    return abs(one - other) <= _TOLERANCE * max(abs(one), abs(other))


def _grouped(records: Iterable[Record]) -> dict[Key, list[Record]]:
    groups: dict[Key, list[Record]] = {}
    for record in records:
        groups.setdefault(record.key, []).append(record)
    return groups


def _own_rows(records: Sequence[Record]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each family, strategy of this project and objective; rivals have a table of their own."""
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        if record.case.strategy in (SUBJECT, "stages"):
            groups.setdefault((record.case.family, record.case.strategy, record.case.objective), []).append(record)
    for (family, strategy, objective), group in groups.items():
        slowest = max(group, key=lambda record: record.wall_seconds)
        known = FAMILIES.get(family) if not group[0].case.small and strategy == SUBJECT else None
        target = _NO_TARGET if known is None else known.targets.get(objective, _NO_TARGET)
        most_mib = None if known is None else known.most_mib
        yield (
            family,
            strategy,
            objective,
            _proved(group),
            f"{slowest.wall_seconds:.2f}",
            f"{max(record.processor_seconds for record in group):.2f}",
            _worst_gap(group),
            str(max((record.peak_mib for record in group if record.peak_mib is not None), default="–")),
            _said(target, most_mib),
            _met(group, target, most_mib),
        )


def _proved(group: Sequence[Record]) -> str:
    return f"{sum(record.proved for record in group)}/{len(group)}"


def _worst_gap(group: Sequence[Record]) -> str:
    gaps = [record.gap for record in group if record.outcome != "infeasible"]
    if any(gap is None for gap in gaps):
        return "no plan or bound"
    worst = max((gap for gap in gaps if gap is not None), default=0.0)
    return f"{worst:.4%}" if worst else "0"


def _said(target: Target, most_mib: int | None) -> str:
    parts = []
    if target.seconds is not None:
        parts.append(f"≤ {target.seconds:g} s")
    if target.gap is not None:
        parts.append(f"gap ≤ {target.gap:.0%}")
    if most_mib is not None:
        parts.append(f"≤ {most_mib} MiB")
    return ", ".join(parts) or "–"


def _met(group: Sequence[Record], target: Target, most_mib: int | None) -> str:
    if target == _NO_TARGET and most_mib is None:
        return "–"
    return "yes" if all(_meets(record, target, most_mib) for record in group) else "**no**"


def _meets(record: Record, target: Target, most_mib: int | None) -> bool:
    in_time = target.seconds is None or (record.proved and record.wall_seconds <= target.seconds)
    near = target.gap is None or (record.gap is not None and record.gap <= target.gap)
    small = most_mib is None or (record.peak_mib is not None and record.peak_mib <= most_mib)
    return in_time and near and small


def _rival_rows(records: Sequence[Record]) -> Iterator[tuple[str, ...]]:
    subject = {record.key: record for record in records if record.case.strategy == SUBJECT and record.proved}
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        if record.case.strategy in RIVALS and record.key in subject:
            groups.setdefault((record.case.family, record.case.objective, record.case.strategy), []).append(record)
    for (family, objective, rival), group in groups.items():
        ratios = [_ratio(record, subject[record.key]) for record in group]
        least = min(ratios, key=lambda ratio: ratio.times)
        mean = exp(sum(log(ratio.times) for ratio in ratios) / len(ratios))
        middle = _Ratio(mean, at_least=any(ratio.at_least for ratio in ratios))
        yield family, objective, rival, _proved(group), _worst_gap(group), str(least), str(middle)


def _rule_rows(records: Sequence[Record]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each split rule: how often it fits, and how much worse it then is than what was proved."""
    subject = {record.key: record for record in records if record.case.strategy == SUBJECT and record.proved}
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        if record.case.strategy not in PROVING and record.key in subject:
            groups.setdefault((record.case.family, record.case.objective, record.case.strategy), []).append(record)
    for (family, objective, rule), group in groups.items():
        ratios = [_worse(record.value, subject[record.key].value) for record in group if record.value is not None]
        middle, worst = (f"{median(ratios):.3f}", f"{max(ratios):.3f}") if ratios else ("–", "–")
        yield family, objective, rule, f"{len(ratios)}/{len(group)}", middle, worst


def _worse(value: float, best: float | None) -> float:
    """Return how many times worse a value is than the best, whichever way is better."""
    assert best is not None
    return max(value / best, best / value) if value and best else 1.0 if value == best else inf


def _ratio(rival: Record, subject: Record) -> _Ratio:
    # Times are kept to a tenth of a millisecond.
    own = max(subject.wall_seconds, 1e-4)
    taken = rival.wall_seconds if rival.proved else rival.case.limit_seconds
    return _Ratio(taken / own, at_least=not rival.proved)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = [tuple(columns), *(tuple(row) for row in rows)]
    widths = [max(len(row[position]) for row in body) for position in range(len(columns))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in body
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
