"""Options as a table of exact figures, for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.options.lines import Line
    from solver.options.option import Option

__all__ = ["free_word", "options_table"]

_COLUMNS = (
    "rank",
    "artifact",
    "engine",
    "where",
    "method",
    "need_bytes",
    "have_bytes",
    "hosts",
    "free_now",
    "bits_per_weight",
    "longest_context",
    "verdict",
)


def options_table(lines: Sequence[Line]) -> Table:
    """Return a row for every answer, in the order of the lines; what is unknown is empty."""
    return Table(columns=_COLUMNS, rows=tuple(_row(option, line.rank) for line in lines for option in line.options))


def free_word(free_now: bool | None) -> str | None:
    """Return whether a place is free now, as a word; None where nobody says it."""
    return None if free_now is None else "yes" if free_now else "no"


def _row(option: Option, rank: int) -> tuple[str | int | None, ...]:
    bits = option.bits_per_weight
    return (
        rank,
        option.artifact.name,
        option.engine,
        option.place.label,
        option.method.value,
        option.need_bytes,
        option.have_bytes,
        option.hosts,
        free_word(option.free_now),
        None if bits is None else f"{float(bits):.6f}",
        option.longest_context,
        option.verdict.value,
    )
