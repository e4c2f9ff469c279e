"""What to type on each machine, as text: comments for people, lines for a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.terminal import Style, escape

if TYPE_CHECKING:
    from solver.engines.commands import Export
    from solver.report.terminal import Paint

__all__ = ["export_text"]


def export_text(export: Export, paint: Paint) -> str:
    """Return one block for every machine in the order in which they are started; all else is a shell's comment."""
    lines = [paint(f"# {export.engine} {export.build}", Style.TITLE)]
    for machine in export.machines:
        where = "" if machine.address is None else f" ({machine.address})"
        lines += ["", paint(f"# on {escape(machine.node)}{escape(where)}", Style.TITLE)]
        for command in machine.commands:
            lines += [paint(f"# {escape(command.purpose)}", Style.FAINT), escape(command.shell)]
    lines += ["", *(paint(f"# note: {escape(note)}", Style.FAINT) for note in export.notes)]
    return "\n".join(lines) + "\n"
