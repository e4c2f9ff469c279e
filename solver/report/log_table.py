"""Predicted beside actual, as rows for other programs and as text for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solver.engines.logs.amounts import Unit
from solver.engines.logs.compare import Verdict
from solver.report.columns import columns
from solver.report.table import Table
from solver.report.terminal import Cell, Style, Styled, escape, sentence_lines
from tensors.units import format_bytes

if TYPE_CHECKING:
    from solver.engines.logs.compare import Comparison, Row
    from solver.report.terminal import Paint

__all__ = ["VERIFICATION_SCHEMA", "log_document", "log_table", "log_text"]

VERIFICATION_SCHEMA = "layerfit/verification/1"

_RIGHT = frozenset({2, 3, 4})
_COLUMNS = ("subject", "logged_as", "what", "unit", "low", "high", "actual", "precision", "error", "verdict")


def log_table(comparison: Comparison) -> Table:
    """Return the rows with exact amounts."""
    return Table(columns=_COLUMNS, rows=tuple(tuple(_exact(row).values()) for row in comparison.rows))


def log_document(comparison: Comparison, log: str, plan: str) -> dict[str, Any]:
    """Return the document; `log` and `plan` name the files."""
    return {
        "schema": VERIFICATION_SCHEMA,
        "log": log,
        "plan": plan,
        "engine": comparison.engine,
        "holds": comparison.holds,
        "rows": [_exact(row) for row in comparison.rows],
        "notes": list(comparison.notes),
    }


def log_text(comparison: Comparison, paint: Paint) -> str:
    """Return a table of what was predicted and what the log says, and whether the prediction holds."""
    titles = ("device", "what", "predicted", "actual", "error", "")
    rows: list[list[Cell]] = [[Styled(title, Style.TITLE) for title in titles]]
    rows.extend(_line(row) for row in comparison.rows)
    lines = columns(rows, _RIGHT, paint, keys=2)
    worse = sum(row.is_worse for row in comparison.rows)
    compared = sum(row.error is not None for row in comparison.rows)
    if not compared:
        verdict = paint("Nothing in the log is in the plan too.", Style.BAD)
    elif comparison.holds:
        verdict = paint(f"The prediction holds: nothing of {compared} amounts is worse.", Style.GOOD)
    else:
        verdict = paint(f"The prediction does not hold: {worse} of {compared} amounts are worse.", Style.BAD)
    lines += ["", verdict]
    lines += [line for note in comparison.notes for line in sentence_lines(f"Note: {note}", paint, indent=6)]
    return "\n".join(lines) + "\n"


def _exact(row: Row) -> dict[str, str | int | None]:
    printed = row.printed
    return {
        "subject": row.subject,
        "logged_as": row.logged_as,
        "what": row.what,
        "unit": row.unit.value,
        "low": row.low,
        "high": row.high,
        "actual": None if printed is None else printed.amount,
        "precision": None if printed is None else printed.precision,
        "error": row.error,
        "verdict": row.verdict.value,
    }


def _line(row: Row) -> list[Cell]:
    style = Style.BAD if row.is_worse else Style.GOOD if row.verdict is Verdict.AGREES else Style.FAINT
    return [
        escape(_named(row)),
        row.what,
        _predicted(row),
        "" if row.printed is None else _amount(row.printed.amount, row.unit),
        _error(row),
        Styled(row.verdict.value, style),
    ]


def _named(row: Row) -> str:
    return row.subject if row.logged_as in ("", row.subject) else f"{row.subject} ({row.logged_as})"


def _predicted(row: Row) -> str:
    if row.low is None or row.high is None:
        return ""
    high = _amount(row.high, row.unit)
    return (
        high if row.low == row.high or _amount(row.low, row.unit) == high else f"{_amount(row.low, row.unit)} – {high}"
    )


def _error(row: Row) -> str:
    """Return the difference with its share of what was predicted; nothing where the two agree."""
    if not row.error or row.low is None or row.high is None:
        return ""
    nearest = row.high if row.error > 0 else row.low
    sign = "+" if row.error > 0 else "−"
    share = f", {sign}{abs(row.error) / nearest:.2%}" if nearest else ""
    return f"{sign}{_amount(abs(row.error), row.unit)}{share}"


def _amount(amount: int, unit: Unit) -> str:
    match unit:
        case Unit.BYTES:
            return format_bytes(amount)
        case Unit.HUNDREDTHS:
            return f"{amount // 100:,}.{amount % 100:02}x"
        case _:
            return f"{amount:,}"
