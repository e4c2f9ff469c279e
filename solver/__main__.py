"""Run the command line as `python -m solver`."""

from __future__ import annotations

import sys

from solver.cli import main

if __name__ == "__main__":
    sys.exit(main())
