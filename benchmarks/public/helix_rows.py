"""What every table over Helix's clusters asks and shows of an instance: its name, and what was published for it."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.public.folder import AbsentDataError, instances_folder
from benchmarks.public.helix import CLUSTERS, PUBLISHED, read_instance, read_layout
from benchmarks.public.helix_referee import flow_in_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks.public.helix import HelixInstance

__all__ = ["Row", "print_row", "rows"]


@dataclass(frozen=True, slots=True)
class Row:
    """One instance. `published` is the best published layout's tokens a second in their program; None without one."""

    folder: Path
    name: str
    instance: HelixInstance
    published: float | None
    limit_seconds: float


def rows(program: str, description: str, limit_seconds: float, columns: Sequence[str]) -> Iterator[Row]:
    """Read the command line of a table, print its head, and yield its instances; none, said so, without their data."""
    complete = [name for name in CLUSTERS if not name.endswith("_pruned")]
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.public.{program}", description=description)
    parser.add_argument("instance", nargs="*", help=f"of {', '.join(complete)}; all unless named")
    parser.add_argument("--limit", type=float, default=limit_seconds, help="seconds of an instance")
    chosen = parser.parse_args()
    folder = instances_folder()
    if folder is None:
        print("No public instances: name the folder that holds `instances` in LAYERFIT_DATA.", file=sys.stderr)
        return
    folder /= "helix"
    print_row("instance", ["published", *columns])
    for name in chosen.instance or complete:
        try:
            row = _read(folder, name, chosen.limit)
        except AbsentDataError as absent:
            print(f"{name} is left out: {absent}", file=sys.stderr)
            continue
        yield row


def _read(folder: Path, name: str, limit_seconds: float) -> Row:
    instance = read_instance(folder, name)
    layouts = [read_layout(folder / "solutions" / f"{e.solution}.ini") for e in PUBLISHED if e.instance == name]
    published = max((flow_in_program(folder, name, layout) for layout in layouts), default=None)
    return Row(folder, name, instance, published, limit_seconds)


def print_row(name: str, cells: Sequence[str]) -> None:
    """Print one line of a table."""
    print(f"{name:<30}" + "".join(f"{cell:>13}" for cell in cells), flush=True)
