"""The best single chain by layerfit on Helix's clusters, judged in Helix's own program beside what was published.

    python -m benchmarks.public.helix_chain [--limit SECONDS] [INSTANCE…]

A chain puts each stage on one node; published layouts also let nodes share a stage. Values are tokens a second of the
stored program with the layout fixed in it; "proved" means that no chain carries more, "ceiling" that no layout does.
Their objective is a steady flow: a chain of 24 nodes has 24 hops of latency and needs as many requests under way.
"""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks.public.folder import instances_folder
from benchmarks.public.helix import CLUSTERS, PUBLISHED, ceiling, chain_problem, layout_of, read_instance, read_layout
from benchmarks.public.helix_referee import flow_in_program
from solver.effort import Effort
from solver.objectives import objectives_named
from solver.solution import Outcome
from solver.solve import solve

__all__ = ["main"]

_WORKERS = 2
_COLUMNS = ("published", "chain", "proved", "seconds", "ceiling")


def main() -> int:
    """Print a row an instance and return the exit code."""
    complete = [name for name in CLUSTERS if not name.endswith("_pruned")]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.public.helix_chain", description="One chain each.")
    parser.add_argument("instance", nargs="*", help=f"of {', '.join(complete)}; all unless named")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of an instance")
    chosen = parser.parse_args()
    folder = instances_folder()
    if folder is None:
        print("No public instances: name the folder that holds `instances` in LAYERFIT_DATA.", file=sys.stderr)
        return 0
    folder /= "helix"
    print(f"{'instance':<30}" + "".join(f"{column:>11}" for column in _COLUMNS))
    for name in chosen.instance or complete:
        instance = read_instance(folder, name)
        layouts = [read_layout(folder / "solutions" / f"{e.solution}.ini") for e in PUBLISHED if e.instance == name]
        published = max((flow_in_program(folder, name, layout) for layout in layouts), default=None)
        began = time.perf_counter()
        found = solve(
            chain_problem(instance), objectives_named("throughput"), Effort(chosen.limit, None, _WORKERS, seed=0)
        )
        seconds = time.perf_counter() - began
        carried = 0.0 if found.placement is None else flow_in_program(folder, name, layout_of(found.placement))
        said = "–" if published is None else f"{published:.3f}"
        proved = "yes" if found.outcome is Outcome.OPTIMAL else "no"
        limit = float(ceiling(instance))
        print(f"{name:<30}{said:>11}{carried:>11.3f}{proved:>11}{seconds:>11.2f}{limit:>11.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
