"""The best single chain by layerfit on Helix's clusters, judged in Helix's own program beside what was published.

    python -m benchmarks.public.helix_chain [--limit SECONDS] [INSTANCE…]

A chain puts each stage on one node; published layouts also let nodes share a stage. Values are tokens a second of the
stored program with the layout fixed in it; "proved" means that no chain carries more, "ceiling" that no layout does.
Their objective is a steady flow: a chain of 24 nodes has 24 hops of latency and needs as many requests under way.
"""

from __future__ import annotations

import sys
import time

from benchmarks.public.helix import ceiling, chain_problem, layout_of
from benchmarks.public.helix_referee import flow_in_program
from benchmarks.public.helix_rows import print_row, rows
from solver.effort import Effort
from solver.objectives import objectives_named
from solver.solution import Outcome
from solver.solve import solve

__all__ = ["main"]

_WORKERS = 2
_COLUMNS = ("chain", "proved", "seconds", "ceiling")


def main() -> int:
    """Print a row an instance and return the exit code."""
    for row in rows("helix_chain", "One chain each.", 20.0, _COLUMNS):
        began = time.perf_counter()
        effort = Effort(row.limit_seconds, None, _WORKERS, seed=0)
        found = solve(chain_problem(row.instance), objectives_named("throughput"), effort)
        seconds = time.perf_counter() - began
        layout = None if found.placement is None else layout_of(found.placement)
        carried = 0.0 if layout is None else flow_in_program(row.folder, row.name, layout)
        cells = (
            "–" if row.published is None else f"{row.published:.3f}",
            f"{carried:.3f}",
            "yes" if found.outcome is Outcome.OPTIMAL else "no",
            f"{seconds:.2f}",
            f"{float(ceiling(row.instance)):.3f}",
        )
        print_row(row.name, cells)
    return 0


if __name__ == "__main__":
    sys.exit(main())
