"""Replicas and chains by layerfit on Helix's clusters, judged in Helix's own program beside what was published.

    python -m benchmarks.public.helix_replicas [--limit SECONDS] [INSTANCE…]

Several nodes may hold one stage and share its tokens, as in published layouts, and several chains may run side by side.
Values are tokens a second of the stored program with the layout fixed in it, solved by HiGHS; "bound" is what no
placement of this kind exceeds, at layerfit's whole nanoseconds, and "arithmetic" what no layout of any kind does.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from benchmarks.public.helix import chain_problem, layout_of
from benchmarks.public.helix_referee import flow_in_program
from benchmarks.public.helix_rows import print_row, rows
from solver.effort import Effort
from solver.flow.ceiling import least_pace_ns
from solver.objectives import objectives_named
from solver.solution import Outcome
from solver.solve import solve

__all__ = ["main"]

_NS = 10**9
_COLUMNS = ("replicas", "bound", "proved", "by", "seconds", "arithmetic")


def main() -> int:
    """Print a row an instance and return the exit code."""
    for row in rows("helix_replicas", "Replicas each.", 60.0, _COLUMNS):
        single = chain_problem(row.instance)
        problem = replace(single, rules=replace(single.rules, replicas=True))
        began = time.perf_counter()
        found = solve(problem, objectives_named("throughput"), Effort(row.limit_seconds, None, 1, seed=0))
        seconds = time.perf_counter() - began
        carried = 0.0 if found.placement is None else flow_in_program(row.folder, row.name, layout_of(found.placement))
        level = found.levels[0] if found.levels else None
        bound = "–" if level is None or level.bound is None else f"{float(level.bound):.3f}"
        least = least_pace_ns(problem)
        cells = (
            "–" if row.published is None else f"{row.published:.3f}",
            f"{carried:.3f}",
            bound,
            "yes" if found.outcome is Outcome.OPTIMAL else "no",
            "–" if level is None else level.proof,
            f"{seconds:.2f}",
            "–" if least is None else f"{float(_NS / least):.3f}",
        )
        print_row(row.name, cells)
    return 0


if __name__ == "__main__":
    sys.exit(main())
