"""Run a command: the one place where errors become a line on standard error and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

from cyclopts import CycloptsError

from solver.cli.application import application
from solver.cli.exit_code import INTERRUPTED_EARLY, ExitCode
from solver.cli.output import write_note
from solver.cli.usage import usage_sentence
from solver.errors import AuditError, SolverError, UsageError
from tensors.errors import TensorsError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_DEBUG = "--debug"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on these arguments (those of the process if None) and return the exit code."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    tokens, debug = _take_debug(tokens)
    _open_streams()
    try:
        return _answered(tokens, debug=debug)
    except (BrokenPipeError, SystemExit):
        # Help is written by rich, which turns the one into the other. The interpreter flushes once more at its end, and
        # would complain then.
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return ExitCode.NOBODY_READS


def _answered(tokens: list[str], *, debug: bool) -> int:
    try:
        code = _command(tokens)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - whatever it is, a person gets one line
        if debug:
            traceback.print_exception(error)
        code, sentence = _judge(error)
        write_note(sentence)
        if isinstance(error, UsageError) and error.example is not None:
            sys.stderr.write(f"\n{error.example}")
    return code


def _command(tokens: list[str]) -> int:
    result = application()(tokens)
    return ExitCode.ANSWERED if result is None else int(result)


def _take_debug(tokens: list[str]) -> tuple[list[str], bool]:
    """Take --debug out of the arguments, but not from behind --, where another program's flags stand."""
    end = tokens.index("--") if "--" in tokens else len(tokens)
    ours = [argument for argument in tokens[:end] if argument != _DEBUG]
    return [*ours, *tokens[end:]], len(ours) < end


def _open_streams() -> None:
    """Write what the terminal's encoding lacks as escapes rather than fail half way, and to nowhere what is closed."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        reconfigure = getattr(getattr(sys, name), "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _judge(error: BaseException) -> tuple[ExitCode, str]:
    match error:
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED, INTERRUPTED_EARLY
        case CycloptsError():
            return ExitCode.BAD_INPUT, usage_sentence(error)
        case AuditError():
            return ExitCode.BUG, f"{error}"
        case SolverError() | TensorsError():
            return ExitCode.BAD_INPUT, f"{error}"
        case OSError():
            return ExitCode.BAD_INPUT, _system_sentence(error)
        case _:
            return ExitCode.BUG, (
                f"layerfit: {type(error).__name__}: {error}; expected no such error: it is a bug. "
                "Run again with --debug and report what it shows."
            )


def _system_sentence(error: OSError) -> str:
    where = error.filename if isinstance(error.filename, str) else "layerfit"
    what = (error.strerror or str(error) or type(error).__name__).lower()
    return f"{where}: {what}; expected a path that can be used. Check it and its permissions."
