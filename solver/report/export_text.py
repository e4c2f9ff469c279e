"""What to type on each machine, as text: comments for people, lines for a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.terminal import Style, escape, fold

if TYPE_CHECKING:
    from solver.engines.commands import Export
    from solver.report.terminal import Paint

__all__ = ["export_text"]


def export_text(export: Export, paint: Paint) -> str:
    """Return one block for every machine in the order in which they are started; all else is a shell's comment.

    A command is one line, however long.
    """
    lines = _comment(f"{export.engine} {export.build}", Style.TITLE, paint)
    for machine in export.machines:
        where = "" if machine.address is None else f" ({machine.address})"
        lines += ["", *_comment(f"on {machine.node}{where}", Style.TITLE, paint)]
        for command in machine.commands:
            lines += [*_comment(command.purpose, Style.FAINT, paint), escape(command.shell)]
    lines += ["", *(line for note in export.notes for line in _comment(f"note: {note}", Style.FAINT, paint))]
    return "\n".join(lines) + "\n"


def _comment(text: str, style: Style, paint: Paint) -> list[str]:
    return [paint(f"# {line}", style) for line in fold(escape(text), paint.sentence_width - 2, 0)]
