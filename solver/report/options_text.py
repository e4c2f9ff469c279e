"""Options as a person reads them: one line a place, what it needs beside what it has, and whether it is free."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from solver.options.lines import best_line
from solver.options.option import Verdict
from solver.options.pool import GB
from solver.report.columns import columns
from solver.report.options_tables import free_word
from solver.report.terminal import Cell, Style, Styled, escape, sentence_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.options.lines import Line
    from solver.options.option import Option
    from solver.report.terminal import Paint

__all__ = ["explanation_text", "options_text"]

_MOST_LINES = 40
_NUMBERS = frozenset({0, 3, 4, 5, 7})
_ARTIFACT, _KEYS = 1, 3
_SEPARATORS = ("-", "_", ".", "/")
_LONG_START = 12
_UNBROKEN = "\N{NO-BREAK SPACE}"


def options_text(lines: Sequence[Line], notes: Sequence[str], paint: Paint, unreadable: Sequence[str] = ()) -> str:
    """Return the best in one sentence, then a table of all, of a long list its first lines; what cannot be read last.

    `unreadable` has a sentence for each model of which there are no lines.
    """
    lost = [part for text in unreadable for part in sentence_lines(f"✗ {text}", paint, indent=2, style=Style.BAD)]
    if not lines:
        verdict = paint("✗ Nothing here can be served on these nodes.", Style.BAD)
        return "\n".join([verdict, *lost, *_notes(notes, paint)]) + "\n"
    text = [*_verdict(lines, paint), "", *_table(lines, paint)]
    if len(lines) > _MOST_LINES:
        text.append(f"… and {len(lines) - _MOST_LINES:,} more lines, all in --json and --format csv.")
    return "\n".join([*text, *lost, *_legend(lines, paint), *_notes(notes, paint)]) + "\n"


def explanation_text(line: Line, sentences: Sequence[str], paint: Paint) -> str:
    """Return what is to say of one line."""
    option = line.leading
    title = f"#{line.rank}  {option.artifact.name}  on  {option.place.label}"
    shown = [part for text in sentences for part in sentence_lines(text, paint, indent=2)]
    return "\n".join([*sentence_lines(title, paint, indent=2, style=Style.TITLE), "", *shown]) + "\n"


def _table(lines: Sequence[Line], paint: Paint) -> list[str]:
    """Return the table, without a column for the artifact where there is one and the verdict names it."""
    rows: list[list[Cell]] = [[Styled(title, Style.TITLE) for title in _titles(lines)]]
    start = len(_start_of_all(lines))
    rows.extend(_row(line, start) for line in lines[:_MOST_LINES])
    keys, numbers = _KEYS, _NUMBERS
    if best_line(lines) is not None and len({line.leading.artifact.name for line in lines}) == 1:
        rows = [[*row[:_ARTIFACT], *row[_ARTIFACT + 1 :]] for row in rows]
        keys, numbers = _KEYS - 1, frozenset(number - (number > _ARTIFACT) for number in _NUMBERS)
    return [text.replace(_UNBROKEN, " ") for text in columns(rows, numbers, paint, keys=keys)]


def _start_of_all(lines: Sequence[Line]) -> str:
    """Return how all names of artifacts begin, up to a separator; "" where that is short, or there is one name."""
    names = {line.leading.artifact.name for line in lines}
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(min(names), max(names), strict=False))
    start = "".join(first for first, _ in alike)
    start = start[: max(start.rfind(separator) for separator in _SEPARATORS) + 1]
    return start if len(names) > 1 and len(start) >= _LONG_START and start not in names else ""


def _titles(lines: Sequence[Line]) -> tuple[str, ...]:
    exact = "solver" if any(line.exact or line.leading.verdict is not Verdict.NOT_ASKED for line in lines) else ""
    return ("#", "artifact", "where", "GB needs/has", exact, "bits", "free now", "longest context")


def _verdict(lines: Sequence[Line], paint: Paint) -> list[str]:
    best = best_line(lines)
    if best is None:
        return [paint("✗ The solver refutes every option that arithmetic finds.", Style.BAD)]
    option = best.leading
    free = {True: "free now", False: "in use now: it waits", None: "whether it is free is not known"}[option.free_now]
    sentence = f"✓ Best: {option.artifact.name} on {option.place.label} by {option.engine}, {free}."
    return sentence_lines(sentence, paint, indent=2, style=Style.GOOD)


def _row(line: Line, start: int) -> list[Cell]:
    option = line.leading
    bits = option.bits_per_weight
    context = option.longest_context
    free = free_word(option.free_now)
    return [
        str(line.rank),
        escape(f"…{option.artifact.name[start:]}" if start else option.artifact.name),
        escape(option.place.label).replace(" × ", f"{_UNBROKEN}×{_UNBROKEN}"),
        "" if line.simple is None else _amounts(line.simple),
        _solver(line),
        "?" if bits is None else f"{float(bits):.2f}",
        Styled(free or "?", Style.GOOD if option.free_now else Style.FAINT),
        "" if context is None else f"{context:,}",
    ]


def _solver(line: Line) -> Cell:
    if line.exact is not None:
        return _amounts(line.exact)
    if line.refuted:
        return Styled("refuted", Style.BAD)
    return Styled("fits", Style.FAINT) if line.leading.verdict is Verdict.FITS else ""


def _amounts(option: Option) -> str:
    return f"{option.need_bytes / GB:,.2f}/{option.have_bytes / GB:,.2f}"


def _legend(lines: Sequence[Line], paint: Paint) -> list[str]:
    parts = ["GB are 10^9 bytes, of the fullest card or of the host."]
    if any(line.leading.free_now is False for line in lines):
        parts.append("What is in use now still fits.")
    if any(line.leading.bits_per_weight is None for line in lines):
        parts.append("? is unknown.")
    if start := _start_of_all(lines):
        parts.append(f"Names of artifacts begin with {start}, shown as ….")
    return ["", *sentence_lines(" ".join(parts), paint, indent=0)]


def _notes(notes: Sequence[str], paint: Paint) -> list[str]:
    return [part for note in notes for part in sentence_lines(f"Note: {note}", paint, indent=2)]
