"""Runs of a real llama.cpp beside their emulation: slots, caches, states and bytes of every device, by family.

    python -m benchmarks.llamacpp_truth [FOLDER]

FOLDER holds `truth.jsonl.gz` (one object a run) and `headers.tar.xz` (the header-only files they ran on). Without it,
`llamacpp_truth` is taken from the folder that LAYERFIT_DATA names, else from ../shared/data beside the repository. Runs
that were fitted or drafted stand apart. Exit code 1 where a figure differs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

from benchmarks.llamacpp_check import Checked, Interval, check
from benchmarks.llamacpp_models import read_models, unpack_headers
from benchmarks.llamacpp_rows import Row, read_rows
from solver.engines.llamacpp.compute import compute_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tensors.inventory import Inventory

__all__ = ["main", "truth_folder"]

_REPOSITORY = Path(__file__).resolve().parents[1]
_SHOWN_ROWS, _SHOWN_DIFFERENCES = 20, 4


@dataclass(slots=True)
class _Tally:
    rows: int = 0
    exact: int = 0
    refused: int = 0
    apart: int = 0
    drafted: int = 0
    checks: int = 0
    intervals: list[Interval] = field(default_factory=list)

    def add(self, row: Row, outcome: Checked) -> None:
        exact = not outcome.differences and not outcome.refused
        self.checks += outcome.checks
        if row.counts:
            self.rows += 1
            self.exact += exact
            self.refused += outcome.refused
            self.intervals.extend(outcome.intervals)
        else:
            self.apart += 1
            self.drafted += row.drafts and exact


def main(arguments: list[str]) -> int:
    """Print a table by family, then every difference; return the exit code."""
    folder = Path(arguments[0]) if arguments else truth_folder()
    with tempfile.TemporaryDirectory() as headers:
        unpack_headers(folder, Path(headers))
        rows = read_rows(folder, Path(headers))
        models = read_models(rows)
    outcomes = [(row, _outcome(row, models)) for row in rows]
    families = {path: model.architecture.family for path, model in models.items()}
    _print_table([(families.get(str(row.path), "unreadable"), row, outcome) for row, outcome in outcomes])
    different = [(row, outcome) for row, outcome in outcomes if row.counts and outcome.differences]
    for row, outcome in different[:_SHOWN_ROWS]:
        print(f"\n{row.identity} {row.model} {row.options}")
        for difference in outcome.differences[:_SHOWN_DIFFERENCES]:
            print(f"    {difference}")
    return 1 if different else 0


def truth_folder() -> Path:
    """Return the folder that holds the runs where none is named."""
    named = os.environ.get("LAYERFIT_DATA")
    data = Path(named) if named else _REPOSITORY.parent / "shared" / "data"
    return data / "llamacpp_truth"


def _outcome(row: Row, models: Mapping[str, Inventory]) -> Checked:
    """Return what a comparison says; runs whose placement the engine chose are not compared."""
    return check(row, models, compute_interval) if row.counts or row.drafts else Checked(0, (), (), refused=False)


def _print_table(rows: Sequence[tuple[str, Row, Checked]]) -> None:
    tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
    for family, row, outcome in rows:
        tallies[family].add(row, outcome)
        tallies["all"].add(row, outcome)
    print(f"{'family':16} {'rows':>6} {'exact':>6} {'no rule':>8} {'figures':>8} {'apart':>6} {'drafted':>8}  compute")
    for family in (*sorted(set(tallies) - {"all"}), "all"):
        tally = tallies[family]
        counts = (
            f"{tally.rows:>6} {tally.exact:>6} {tally.refused:>8} {tally.checks:>8} {tally.apart:>6} {tally.drafted:>8}"
        )
        print(f"{family:16} {counts}  {_compute(tally.intervals)}")


def _compute(intervals: Sequence[Interval]) -> str:
    if not intervals:
        return "not predicted"
    inside = sum(interval.holds for interval in intervals) / len(intervals)
    widths = sorted((interval.high - interval.low) / interval.high if interval.high else 0.0 for interval in intervals)
    widest = quantiles(widths, n=10)[-1] if len(widths) > 1 else widths[0]
    return f"{inside:6.1%} inside, width {median(widths):.2f}, 90th centile {widest:.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
