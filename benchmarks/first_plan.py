"""How long the main job takes, as ratios to starting Python on the same machine in the same run.

    python -m benchmarks.first_plan [MODEL]

Whole commands are run several times in processes of their own and the least time counts; the first row is the
yardstick. The plan alone is timed in this process after imports. MODEL defaults to the built-in example; the cluster is
the built-in one of ten unlike nodes.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from solver.cli.shared_flags import EngineName, WorkloadOptions
from solver.engines.generic import generic
from solver.example import EXAMPLE_CLUSTER_NAME, example_cluster, example_cluster_text
from solver.planning import plan
from solver.problem import Rules
from tensors import read
from tensors.synthetic import example_inventory

_NO_RULES = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)
_REPEATS = 7


def main() -> None:
    """Print the table."""
    model = sys.argv[1] if len(sys.argv) > 1 else None
    yardstick = least_seconds([sys.executable, "-c", "pass"])
    print(f"{'what':<44}{'seconds':>9}{'x python':>10}")
    _row("python -c pass", yardstick, yardstick)
    _row("layerfit --help", least_seconds([sys.executable, "-m", "solver", "--help"]), yardstick)
    with tempfile.TemporaryDirectory() as folder:
        cluster = Path(folder) / EXAMPLE_CLUSTER_NAME
        cluster.write_text(example_cluster_text(), encoding="utf-8")
        named = [] if model is None else [model, "--cluster", str(cluster)]
        _row("layerfit plan", least_seconds([sys.executable, "-m", "solver", "plan", "--json", *named]), yardstick)
    for what, seconds in in_process(model).items():
        _row(what, seconds, yardstick)
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"largest memory of a command: {children:.0f} MiB")


def least_seconds(command: list[str]) -> float:
    """Return the least wall time of some runs of a command."""
    times = []
    for _ in range(_REPEATS):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own commands
        times.append(time.perf_counter() - started)
    return min(times)


def in_process(model: str | None) -> dict[str, float]:
    """Return the least time of reading, of building the problem and of planning, after imports."""
    times: dict[str, list[float]] = {"reading headers": [], "building the problem": [], "planning, proved": []}
    for _ in range(_REPEATS):
        started = time.perf_counter()
        inventory = example_inventory() if model is None else read(model)
        read_at = time.perf_counter()
        workload = WorkloadOptions().workload(EngineName.GENERIC, inventory.architecture.context_tokens)
        problem = generic(inventory, example_cluster(), workload, _NO_RULES).problem
        built_at = time.perf_counter()
        answer = plan(problem)
        done = time.perf_counter()
        assert answer.outcome.value == "optimal"
        times["reading headers"].append(read_at - started)
        times["building the problem"].append(built_at - read_at)
        times["planning, proved"].append(done - built_at)
    return {what: min(found) for what, found in times.items()}


def _row(what: str, seconds: float, yardstick: float) -> None:
    print(f"{what:<44}{seconds:>9.3f}{seconds / yardstick:>10.1f}")


if __name__ == "__main__":
    main()
