"""The benchmark core: run cases, compare two runs, show tables.

    python -m benchmarks run [--help]            one JSON line a case
    python -m benchmarks compare OLD NEW         what became worse; ends with 1 if anything did
    python -m benchmarks report FILE…            tables of what was run

Measurements with a form of their own, each with a --help or a docstring:

    first_plan        the main job as ratios to starting Python
    feasible          whether plans are found wherever there is one
    agreement         whether all that prove say the same
    replicated        how far apart value and bound are with replicas and chains
    baselines         how often engines' split rules fit, and what they cost
    helix_referee     published layouts in Helix's own program
    helix_chain       the best single chain there
    distilp_subset    distilp's objective over all devices and over the best choice
    llamacpp_export   exports started with the real program, and its logs beside their plans
    headers, fuzz_headers, llamacpp_truth, llamacpp_compute, config_table
"""

from __future__ import annotations

import runpy
import sys

from benchmarks import compare, report, run
from solver.errors import SolverError

__all__ = ["main"]

_COMMANDS = {"run": run.main, "compare": compare.main, "report": report.main}
_ALONE = (
    *("first_plan", "feasible", "agreement", "replicated", "baselines", "headers", "fuzz_headers"),
    *("llamacpp_truth", "llamacpp_compute", "llamacpp_export", "config_table"),
    *("public.helix_referee", "public.helix_chain", "public.distilp_subset"),
)
_MODULES = {name.rpartition(".")[2]: f"benchmarks.{name}" for name in _ALONE}


def main(arguments: list[str]) -> int:
    """Do what the first word says and return the exit code: 2 where it says nothing known, or an input is bad."""
    if arguments and arguments[0] in _MODULES:
        sys.argv = arguments
        runpy.run_module(_MODULES[arguments[0]], run_name="__main__", alter_sys=True)
        return 0
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
