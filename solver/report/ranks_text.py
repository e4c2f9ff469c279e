"""What every rank of a serving engine holds and has room for, as a table for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.amounts import ranges
from solver.report.columns import columns
from solver.report.terminal import Cell, Style, Styled, escape, sentence_lines
from tensors.units import format_bytes

if TYPE_CHECKING:
    from fractions import Fraction

    from solver.engines.servers.ranks import RankFigures, ServedFigures
    from solver.report.terminal import Paint

__all__ = ["ranks_text"]

_LEFT_ALIGNED = {1, 2}


def ranks_text(figures: ServedFigures, paint: Paint) -> str:
    """Return the ranks as a table between a line on the engine and a line on what all ranks end up with."""
    cards = "1 card" if figures.width == 1 else f"{figures.width} cards"
    share = f"{figures.share_name} {float(figures.share.value)}"
    bound = f"bound by {figures.share.card}: {figures.share.why}"
    head = f"{figures.engine} {figures.build}: {_ranks(len(figures.ranks))} of {cards}, {share} ({bound})"
    titles = ["rank", "device", "blocks", "weights", "other", "cache memory"]
    titles += ["tokens" if figures.unit == "tokens" else figures.unit]
    titles += [] if figures.unit == "tokens" else ["tokens"]
    titles.append("concurrency")
    rows: list[list[Cell]] = [[Styled(title, Style.TITLE) for title in titles]]
    rows.extend(_row(rank, figures) for rank in figures.ranks)
    right = set(range(len(titles))) - _LEFT_ALIGNED
    title = sentence_lines(head, paint, indent=2, style=Style.TITLE)
    lines = [*title, "", *columns(rows, right, paint, keys=2), "", *_shared(figures, paint)]
    if figures.width > 1:
        lines.append(f"Sizes are of one card; each of a rank's {figures.width} holds as much.")
    return "\n".join(lines) + "\n"


def _row(rank: RankFigures, figures: ServedFigures) -> list[Cell]:
    fits = rank.available_bytes >= 0
    cells: list[Cell] = [
        str(rank.rank),
        escape(rank.device),
        ranges(range(rank.start, rank.end)),
        format_bytes(rank.weight_bytes),
        format_bytes(rank.overhead_bytes),
        format_bytes(rank.available_bytes) if fits else Styled(format_bytes(rank.available_bytes), Style.BAD),
    ]
    amounts = [rank.tokens] if figures.unit == "tokens" else [rank.units, rank.tokens]
    cells.extend("any" if amount is None else f"{amount:,}" for amount in amounts)
    cells.append("any" if rank.concurrency is None else _times(rank.concurrency))
    return cells


def _shared(figures: ServedFigures, paint: Paint) -> list[str]:
    amount = f"{figures.tokens:,} tokens"
    if figures.unit != "tokens":
        amount = f"{figures.units:,} {figures.unit}, {amount}"
    own = figures.ranks[figures.weakest].units == figures.units
    why = (
        f"rank {figures.weakest} has room for no more" if own else "the least memory left, over the most layers of any"
    )
    one = figures.sequences == 1
    request = f"{'1 sequence' if one else f'{figures.sequences:,} sequences'} of {figures.context_tokens:,} tokens"
    fits = f"{request} {'fits' if one else 'fit'}"
    lacks = f"{request} {'does' if one else 'do'} not fit"
    verdict = paint(fits, Style.GOOD) if figures.fits else paint(lacks, Style.BAD)
    all_have = sentence_lines(f"All ranks have {amount}: {why}.", paint, indent=2)
    return [*all_have, f"Concurrency {_times(figures.concurrency)}: {verdict}."]


def _ranks(count: int) -> str:
    return "1 rank" if count == 1 else f"{count} ranks"


def _times(concurrency: Fraction) -> str:
    """Return as the engines print it, rounded down so that no sequence is promised that does not fit."""
    hundredths = int(concurrency * 100)
    return f"{hundredths // 100:,}.{hundredths % 100:02}x"
