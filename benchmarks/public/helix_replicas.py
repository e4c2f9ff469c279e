"""Replicas and chains by layerfit on Helix's clusters, judged in Helix's own program beside what was published.

    python -m benchmarks.public.helix_replicas [--limit SECONDS] [INSTANCE…]

Several nodes may hold one stage and share its tokens, as in published layouts, and several chains may run side by side.
Values are tokens a second of the stored program with the layout fixed in it, solved by HiGHS; "bound" is what no
placement of this kind exceeds, at layerfit's whole nanoseconds, and "arithmetic" what no layout of any kind does.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

from benchmarks.public.folder import instances_folder
from benchmarks.public.helix import CLUSTERS, PUBLISHED, chain_problem, layout_of, read_instance, read_layout
from benchmarks.public.helix_referee import flow_in_program
from solver.effort import Effort
from solver.flow.ceiling import least_pace_ns
from solver.objectives import objectives_named
from solver.solution import Outcome
from solver.solve import solve

__all__ = ["main"]

_NS = 10**9
_COLUMNS = ("published", "replicas", "bound", "proved", "by", "seconds", "arithmetic")


def main() -> int:
    """Print a row an instance and return the exit code."""
    complete = [name for name in CLUSTERS if not name.endswith("_pruned")]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.public.helix_replicas", description="Replicas each.")
    parser.add_argument("instance", nargs="*", help=f"of {', '.join(complete)}; all unless named")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of an instance")
    chosen = parser.parse_args()
    folder = instances_folder()
    if folder is None:
        print("No public instances: name the folder that holds `instances` in LAYERFIT_DATA.", file=sys.stderr)
        return 0
    folder /= "helix"
    print(f"{'instance':<30}" + "".join(f"{column:>13}" for column in _COLUMNS))
    for name in chosen.instance or complete:
        layouts = [read_layout(folder / "solutions" / f"{e.solution}.ini") for e in PUBLISHED if e.instance == name]
        published = max((flow_in_program(folder, name, layout) for layout in layouts), default=None)
        single = chain_problem(read_instance(folder, name))
        problem = replace(single, rules=replace(single.rules, replicas=True))
        began = time.perf_counter()
        found = solve(problem, objectives_named("throughput"), Effort(chosen.limit, None, 1, seed=0))
        seconds = time.perf_counter() - began
        carried = 0.0 if found.placement is None else flow_in_program(folder, name, layout_of(found.placement))
        level = found.levels[0] if found.levels else None
        bound = "–" if level is None or level.bound is None else f"{float(level.bound):.3f}"
        least = least_pace_ns(problem)
        cells = (
            "–" if published is None else f"{published:.3f}",
            f"{carried:.3f}",
            bound,
            "yes" if found.outcome is Outcome.OPTIMAL else "no",
            "–" if level is None else level.proof,
            f"{seconds:.2f}",
            "–" if least is None else f"{float(_NS / least):.3f}",
        )
        print(f"{name:<30}" + "".join(f"{cell:>13}" for cell in cells), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
