"""How often measured compute buffers lie inside their intervals, and how wide those are: by family and by setting.

    python -m benchmarks.llamacpp_compute [FOLDER] [--unseen] [--every N]

FOLDER is that of `benchmarks.llamacpp_truth`. A row holds when every buffer of it lies inside. With --unseen every
family is one that was never seen, taken from its tensors alone: nothing was fitted, so each family is left out in turn.
Exit code 1 where a target is missed.
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

from benchmarks.llamacpp_check import Interval, check
from benchmarks.llamacpp_models import read_models, unpack_headers
from benchmarks.llamacpp_rows import Row, read_rows
from solver.engines.llamacpp.compute import compute_interval, unseen_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from solver.engines.llamacpp.facts import ComputeInterval
    from tensors.inventory import Inventory

__all__ = ["Tally", "main", "tallies"]

LEAST_INSIDE = 0.95
MEDIAN_WIDTH = 0.25
WIDTH_90 = 0.6
_CENTILES = 10


@dataclass(slots=True)
class Tally:
    """Rows, those whose every buffer lies inside, and the width of every interval: (high - low) / high."""

    rows: int = 0
    inside: int = 0
    widths: list[float] = field(default_factory=list)

    def add(self, intervals: tuple[Interval, ...]) -> None:
        """Count one row."""
        self.rows += 1
        self.inside += all(interval.holds for interval in intervals)
        self.widths.extend(
            (interval.high - interval.low) / interval.high if interval.high else 0.0 for interval in intervals
        )

    @property
    def share_inside(self) -> float:
        """Return the share of rows that hold."""
        return self.inside / self.rows

    @property
    def median_width(self) -> float:
        """Return the median width."""
        return median(self.widths)

    @property
    def width_90(self) -> float:
        """Return the 90th centile of the widths."""
        return quantiles(self.widths, n=_CENTILES)[-1] if len(self.widths) > 1 else self.widths[0]

    @property
    def meets_targets(self) -> bool:
        """Return whether enough rows hold, by intervals that are narrow enough."""
        narrow = self.median_width <= MEDIAN_WIDTH and self.width_90 <= WIDTH_90
        return self.share_inside >= LEAST_INSIDE and narrow


def tallies(rows: list[Row], models: Mapping[str, Inventory], compute: ComputeInterval) -> dict[str, Tally]:
    """Return tallies by family and by setting, and of "all" rows that count and have compute buffers."""
    found: defaultdict[str, Tally] = defaultdict(Tally)
    for row in rows:
        model = models.get(str(row.path))
        if model is None or not row.counts or not (row.is_estimate or row.log.get("compute_bytes")):
            continue
        intervals = check(row, models, compute).intervals
        for label in ("all", *_labels(row), model.architecture.family):
            found[label].add(intervals)
    return dict(found)


def _labels(row: Row) -> Iterator[str]:
    yield "dry runs" if row.is_estimate else "runs"
    if not row.is_estimate:
        yield "pipelined" if row.log.get("pipeline") == "enabled" else "not pipelined"
    yield "attention not fused" if "-fa off" in row.options else "attention fused or automatic"
    yield "quantised cache" if "-ctk" in row.options else "f16 cache"
    yield "several sequences" if "-np" in row.options else "sequences by default"


def _folder() -> Path:
    named = os.environ.get("LAYERFIT_DATA")
    data = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    return data / "llamacpp_truth"


def main(arguments: list[str]) -> int:
    """Print a table, and return the exit code."""
    words = [word for word in arguments if not word.startswith("--")]
    every = int(words.pop()) if "--every" in arguments else 1
    folder = Path(words[0]) if words else _folder()
    compute = unseen_interval if "--unseen" in arguments else compute_interval
    with tempfile.TemporaryDirectory() as headers:
        unpack_headers(folder, Path(headers))
        rows = read_rows(folder, Path(headers))
        models = read_models(rows)
    found = tallies(rows[::every], models, compute)
    print(f"{'rows of':30} {'rows':>6} {'inside':>8} {'median width':>13} {'90th centile':>13}")
    for label, tally in found.items():
        print(
            f"{label:30} {tally.rows:>6} {tally.share_inside:>8.2%} {tally.median_width:>13.3f} {tally.width_90:>13.3f}"
        )
    return 0 if found["all"].meets_targets else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
