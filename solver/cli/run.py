"""Run a command: the one place where errors become a line on standard error and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from enum import IntEnum
from typing import TYPE_CHECKING

from cyclopts import CycloptsError

from solver.cli.application import application
from solver.cli.output import write_note
from solver.cli.usage import usage_sentence
from solver.errors import AuditError, SolverError, UsageError
from tensors.errors import TensorsError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ExitCode", "main"]


_DEBUG = "--debug"


class ExitCode(IntEnum):
    """What a command says to the shell."""

    ANSWERED = 0
    ANSWER_IS_NO = 1
    BAD_INPUT = 2
    NO_ANSWER = 3
    BUG = 70
    INTERRUPTED = 130
    NOBODY_READS = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on these arguments (those of the process if None) and return the exit code."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    tokens, debug = _take_debug(tokens)
    _carry_every_character()
    try:
        code = _command(tokens)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at its end, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.NOBODY_READS
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


def _carry_every_character() -> None:
    """Write what the terminal's encoding lacks as escapes rather than fail half way."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _judge(error: BaseException) -> tuple[ExitCode, str]:
    match error:
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED, "layerfit: interrupted before there was an answer."
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
