"""`layerfit inspect`: what the headers of a model say."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from solver.cli.exit_code import ExitCode
from solver.cli.output import OutputOptions, paint, write_document, write_table, write_text
from solver.cli.reading import MODEL, ReadOptions
from solver.cli.values import choice
from solver.report.inventory_json import inventory_document, tensor_documents
from solver.report.inventory_tables import View, inventory_table
from solver.report.inventory_text import inventory_text

__all__ = ["inspect"]


def inspect(
    model: Annotated[str, MODEL],
    /,
    *,
    by: Annotated[
        View,
        Parameter(
            converter=choice(View),
            n_tokens=1,
            metavar="VIEW",
            help="What to list. With --json, tensor adds every tensor to the document.",
        ),
    ] = View.BLOCK,
    allow_unknown: Annotated[
        bool, Parameter(show_default=False, help="List tensors of types that nobody here knows, rather than stop.")
    ] = False,
    reading: ReadOptions = ReadOptions(),
    output: OutputOptions = OutputOptions(),
) -> ExitCode:
    """Show a model's tensors: bytes by block, role, type or file."""
    output.check()
    inventory = reading.read(model, allow_unknown_types=allow_unknown)
    if output.json:
        document = inventory_document(inventory)
        if by is View.TENSOR:
            document["tensors"] = tensor_documents(inventory)
        write_document(document)
    elif output.format is not None:
        write_table(inventory_table(inventory, by), output.format)
    else:
        write_text(inventory_text(inventory, by, paint()))
    return ExitCode.ANSWERED
