"""What to type on each machine, as a document: `layerfit/export/1`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solver.engines.commands import Command, Export

__all__ = ["SCHEMA", "export_document"]

SCHEMA = "layerfit/export/1"


def export_document(export: Export) -> dict[str, Any]:
    """Return the document of an export: commands of each machine as words with their variables, and as a line."""
    return {
        "schema": SCHEMA,
        "engine": export.engine.value,
        "build": export.build,
        "machines": [
            {
                "node": machine.node,
                "address": machine.address,
                "commands": [_command(command) for command in machine.commands],
            }
            for machine in export.machines
        ],
        "notes": list(export.notes),
    }


def _command(command: Command) -> dict[str, Any]:
    return {
        "purpose": command.purpose,
        "environment": dict(command.environment),
        "words": list(command.words),
        "shell": command.shell,
    }
