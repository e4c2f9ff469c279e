"""`layerfit emulate`: where a pasted llama.cpp command would put every tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from solver.cli.exit_code import ExitCode
from solver.cli.output import OutputOptions, paint, write_document, write_table, write_text
from solver.cli.reading import ReadOptions
from solver.cli.values import one
from solver.errors import UsageError
from solver.report.emulation_json import emulation_document
from solver.report.emulation_tables import emulation_table
from solver.report.emulation_text import emulation_text
from tensors.errors import UnitError
from tensors.units import parse_size_bytes

if TYPE_CHECKING:
    from tensors.inventory import Inventory

__all__ = ["emulate"]


def _size(text: str) -> int:
    """Return the bytes of one size."""
    return parse_size_bytes(text)


def _sizes(text: str) -> tuple[int, ...]:
    """Return the bytes of sizes between commas."""
    parts = text.split(",")
    try:
        return tuple(parse_size_bytes(part) for part in parts)
    except UnitError as error:
        raise ValueError(f"{error} Separate several by commas.") from error


def emulate(
    *command: Annotated[
        str,
        Parameter(
            allow_leading_hyphen=True,
            metavar="-- COMMAND",
            help="The command as it is typed: llama-server, llama-completion, llama-cli or llama-bench with its flags.",
        ),
    ],
    free: Annotated[
        tuple[int, ...] | None,
        Parameter(
            converter=one(_sizes),
            n_tokens=1,
            metavar="SIZE,…",
            help="Free memory of each device, in the engine's order; sizes beyond the RPC servers are CUDA devices.",
        ),
    ] = None,
    host_free: Annotated[
        int | None,
        Parameter(
            converter=one(_size), n_tokens=1, metavar="SIZE", help="Free memory of the host, shown beside its need."
        ),
    ] = None,
    build: Annotated[
        str | None, Parameter(metavar="BUILD", help="Whose rules hold, as b11434; the newest known by default.")
    ] = None,
    reading: ReadOptions = ReadOptions(),
    output: OutputOptions = OutputOptions(),
) -> ExitCode:
    """Show where a llama.cpp command line puts every tensor, cache and buffer."""
    # The engine's tables are imported where they are needed, and nowhere else.
    from solver.engines.llamacpp.compute import compute_interval  # noqa: PLC0415
    from solver.engines.llamacpp.emulation import emulate as emulated  # noqa: PLC0415
    from solver.engines.llamacpp.profile import DEFAULT_BUILD, profile_of  # noqa: PLC0415

    output.check()
    if not command:
        raise UsageError(
            "layerfit emulate: no command stands behind --; expected llama-server with its flags. "
            "Paste it like: layerfit emulate -- llama-server -m model.gguf -ngl 99"
        )

    def read(path: str) -> Inventory:
        return reading.read(path)

    emulation = emulated(profile_of(build or DEFAULT_BUILD), command, free, host_free, read, compute_interval)
    if output.json:
        write_document(emulation_document(emulation))
    elif output.format is not None:
        write_table(emulation_table(emulation), output.format)
    else:
        write_text(emulation_text(emulation, paint()))
    return ExitCode.ANSWERED
