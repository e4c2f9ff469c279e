"""`layerfit verify-log`: what was predicted beside what an engine's log says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from solver.cli.exit_code import ExitCode
from solver.cli.output import OutputOptions, paint, write_document, write_note, write_table, write_text
from solver.cli.values import each
from solver.engines.logs.compare import compare
from solver.engines.logs.predictions import read_expected
from solver.engines.logs.reading import LOG_BYTES, read_log
from solver.report.log_table import log_document, log_table, log_text
from solver.wording import quoted

__all__ = ["verify_log"]


def _pair(text: str) -> tuple[str, str]:
    logged, equals, device = text.partition("=")
    if not (equals and logged.strip() and device.strip()):
        raise ValueError(f"{quoted(text)} is no pair; expected LOGGED=DEVICE. Write it like RPC0=desk/gpu0.")
    return logged.strip(), device.strip()


def verify_log(
    log: Annotated[Path, Parameter(metavar="LOG", help="What llama.cpp or vLLM wrote while it started.")],
    /,
    *,
    plan: Annotated[
        Path,
        Parameter(metavar="PLAN.json", help="The plan that was run, or what `layerfit emulate --json` says of it."),
    ],
    device: Annotated[
        tuple[tuple[str, str], ...],
        Parameter(
            converter=each(_pair),
            n_tokens=1,
            accepts_keys=False,
            show_default=False,
            metavar="LOGGED=DEVICE",
            help="The plan's device of one in the log, such as RPC0=desk/gpu0; may be given again. "
            "[default: both in order]",
        ),
    ] = (),
    output: OutputOptions = OutputOptions(),
) -> ExitCode:
    """Show what was predicted beside what an engine's log says, per device and buffer, with the error."""
    output.check()
    expected = read_expected(plan)
    text, whole = read_log(log)
    comparison = compare(text, expected, dict(device), log.name)
    if output.json:
        write_document(log_document(comparison, log.name, plan.name))
    elif output.format is not None:
        write_table(log_table(comparison), output.format)
    else:
        write_text(log_text(comparison, paint()))
    if not whole:
        write_note(f"{log.name}: only its first {LOG_BYTES // 2**20} MiB were read.")
    return ExitCode.ANSWERED if comparison.holds else ExitCode.ANSWER_IS_NO
