"""The command line. Only this package prints, reads arguments or chooses an exit code."""

from __future__ import annotations

# As in `typing`, whose import alone is time enough for an interrupt that nothing answers.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on these arguments (those of the process if None) and return the exit code.

    Importing it takes a tenth of a second, in which a person may have thought better of it.
    """
    try:
        from solver.cli.run import main as run  # noqa: PLC0415 - an interrupt is answered from here on

        return run(arguments)
    except KeyboardInterrupt:
        import sys  # noqa: PLC0415 - few runs end here

        from solver.cli.exit_code import INTERRUPTED_EARLY, ExitCode  # noqa: PLC0415

        sys.stderr.write(f"{INTERRUPTED_EARLY}\n")
        return ExitCode.INTERRUPTED
