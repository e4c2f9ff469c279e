"""How long proofs take at full size, beside targets and rivals: `python -m benchmarks.prove …`.

The same as `python -m benchmarks run --full --rivals --repeats 3 --workers 8 …`; with `--smoke` each family once at a
small size, rivals included.
"""

from __future__ import annotations

import sys

from benchmarks.run import main as run

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """Run with the defaults of a measurement and return the exit code."""
    if "--smoke" in arguments:
        return run(["--rivals", "--workers", "8", *(word for word in arguments if word != "--smoke")])
    return run(["--full", "--rivals", "--repeats", "3", "--workers", "8", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
