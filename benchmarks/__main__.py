"""The benchmark core: run cases, compare two runs, show tables.

    python -m benchmarks run [--help]            one JSON line a case
    python -m benchmarks compare OLD NEW         what became worse; ends with 1 if anything did
    python -m benchmarks report FILE…            tables of what was run

Measurements with a form of their own are modules: benchmarks.first_plan, feasible, agreement, headers, fuzz_headers,
llamacpp_truth, llamacpp_compute, and benchmarks.public.helix_referee, helix_chain and distilp_subset.
"""

from __future__ import annotations

import sys

from benchmarks import compare, report, run
from solver.errors import SolverError

__all__ = ["main"]

_COMMANDS = {"run": run.main, "compare": compare.main, "report": report.main}


def main(arguments: list[str]) -> int:
    """Do what the first word says and return the exit code: 2 where it says nothing known, or an input is bad."""
    command = _COMMANDS.get(arguments[0]) if arguments else None
    if command is None:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        return command(arguments[1:])
    except (OSError, SolverError) as error:
        print(f"benchmarks {arguments[0]}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
