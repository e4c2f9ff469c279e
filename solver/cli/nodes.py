"""`layerfit nodes`: a cluster file for this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from solver.cli.exit_code import ExitCode
from solver.cli.files import check_folder, write_file
from solver.cli.output import write_document, write_note, write_text
from solver.cli.values import node_name, one
from solver.cluster_document import cluster_document
from solver.cluster_file import parse_cluster
from solver.errors import UsageError
from solver.machine.local import LocalMachine
from solver.machine.survey import survey
from solver.machine.table import built_in_table, read_card_table
from solver.machine.text import cluster_text

__all__ = ["nodes"]

_SCHEMA = "layerfit/nodes/1"


def nodes(
    *,
    name: Annotated[
        str | None,
        Parameter(
            converter=one(node_name), n_tokens=1, metavar="NAME", help="Name of the node. [default: the host's name]"
        ),
    ] = None,
    cards: Annotated[
        Path | None,
        Parameter(metavar="FILE", help="Table of cards that counts before the built-in one; see docs/nodes.md."),
    ] = None,
    output: Annotated[
        Path | None,
        Parameter(name=("-o", "--output"), metavar="CLUSTER.toml", help="Write the cluster file there; a new file."),
    ] = None,
    json: Annotated[
        bool, Parameter(show_default=False, help="Write the normalised cluster as one JSON document and nothing else.")
    ] = False,
) -> ExitCode:
    """Print a cluster file for this machine, ready to be edited and merged."""
    if output is not None:
        check_folder(output)
        # People edit cluster files by hand: none is worth less than this command's few milliseconds.
        if output.is_file():
            raise UsageError(f"{output}: it is there already; expected a new file. Name another, or remove it.")
    table = built_in_table() if cards is None else read_card_table(cards).before(built_in_table())
    found = survey(LocalMachine(), table, name)
    text = cluster_text(found)
    cluster = parse_cluster(text, "this machine")
    if output is not None:
        write_file(output, text)
    if json:
        write_document({"schema": _SCHEMA, "cluster": cluster_document(cluster), "remarks": list(found.remarks)})
    elif output is None:
        write_text(text)
    else:
        write_note(f"{output}: written. Check it, then: layerfit plan MODEL --cluster {output}")
    return ExitCode.ANSWERED
