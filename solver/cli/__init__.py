"""The command line. Only this package prints, reads arguments or chooses an exit code."""

from __future__ import annotations

from solver.cli.run import main

__all__ = ["main"]
