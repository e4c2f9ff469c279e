"""Why an option has its rank, and what would raise it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from solver.options.lines import lines_of, reason_of
from solver.options.option import Verdict
from solver.options.pool import GB
from solver.options.ranking import quality
from solver.options.simple import LLAMACPP, longest_context
from solver.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from solver.options.lines import Line
    from solver.options.option import Option, PlacedStage
    from solver.options.policy import Policy

__all__ = ["explanation"]


def explanation(lines: Sequence[Line], number: int, context_tokens: int, policy: Policy) -> tuple[str, ...]:
    """Return sentences about the line of a number (from 1): its figures, its rank, and what would raise it."""
    line = lines[number - 1]
    return (*_figures(line), f"Rank: {reason_of(lines, number)}.", *_raises(lines, number, context_tokens, policy))


def _figures(line: Line) -> Iterator[str]:
    if line.simple is not None:
        option = line.simple
        yield f"Arithmetic: {_amounts(option)}; {_offered(option)}."
        if option.verdict is Verdict.REFUTED:
            yield f"The solver refutes it: {option.note or 'no cut of its blocks fits there'}."
    if line.exact is not None:
        option = line.exact
        proof = f", proved by {option.proof}" if option.proof else ""
        yield f"Solver: {_amounts(option)}{proof}; {_offered(option)}."
        for stage in option.stages:
            yield (f"  {stage.device}: {_held(stage)}, {stage.need_bytes / GB:,.3f} of {stage.have_bytes / GB:,.3f} GB")
        if option.longest_context is not None:
            yield f"Longest context there: {option.longest_context:,} tokens."
    leading = line.leading
    bits = leading.bits_per_weight
    shown = "unknown" if bits is None else f"{float(bits):.3f}"
    worth = float(quality(bits, cpu=leading.place.cpu))
    yield f"Quality {worth:.3f} from {shown} bits a weight."


def _held(stage: PlacedStage) -> str:
    return f"blocks {stage.start}–{stage.end - 1}" if stage.start < stage.end else "the head"


def _offered(option: Option) -> str:
    nodes = counted(option.hosts, "node")
    return f"{nodes} {'offers' if option.hosts == 1 else 'offer'} such a place"


def _amounts(option: Option) -> str:
    room = (option.have_bytes - option.need_bytes) / GB
    return f"{option.need_bytes / GB:,.3f} of {option.have_bytes / GB:,.3f} GB, {room:,.3f} GB of room"


def _raises(lines: Sequence[Line], number: int, context_tokens: int, policy: Policy) -> Iterator[str]:
    """Yield single changes with the rank that each leads to; nothing for the first line."""
    line = lines[number - 1]
    option = line.leading
    if number == 1:
        yield "Nothing ranks before it."
        return
    found = False
    if not option.free_now:
        rank = _rank_with(lines, number, replace(option, free_now=True))
        if rank < number:
            found = True
            yield f"Free now, it would be #{rank}."
    if option.place.nodes == 1 and option.place.cards > 1 and option.engine == LLAMACPP:
        fewer = option.place.cards - 1
        tokens = longest_context(option.artifact, fewer, option.have_bytes, policy.llamacpp)
        if tokens is not None and tokens < context_tokens:
            place = replace(option.place, cards=fewer, gpus_per_node=fewer)
            rank = _rank_with(lines, number, replace(option, place=place))
            if rank < number:
                found = True
                cards = counted(fewer, "card")
                yield f"At a context of {tokens:,} tokens arithmetic fits it on {cards}: it would be #{rank}."
    before = lines[number - 2].leading
    if not found and before.artifact == option.artifact:
        yield f"No single change here raises it; the same artifact on {before.place.label} is before it."
    elif not found:
        yield "No single change here raises it: another artifact or another place is better by the order."


def _rank_with(lines: Sequence[Line], number: int, changed: Option) -> int:
    others = [line.leading for line in lines if line.rank != number]
    ranked = lines_of([*others, changed])
    return next(line.rank for line in ranked if line.leading is changed)
