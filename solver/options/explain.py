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
    from collections.abc import Callable, Iterator, Sequence

    from solver.options.lines import Line
    from solver.options.option import Option, PlacedStage
    from solver.options.policy import Policy

__all__ = ["explanation"]


def explanation(
    lines: Sequence[Line],
    number: int,
    context_tokens: int,
    policy: Policy,
    again: Callable[[int], Sequence[Line]] | None = None,
) -> tuple[str, ...]:
    """Return sentences about the line of a number (from 1): its figures, its rank, and what would raise it.

    `again` gives the lines at another context; without it no other context is said to raise anything.
    """
    line = lines[number - 1]
    sentences = [*_figures(line), f"Rank: {reason_of(lines, number)}."]
    if number == 1:
        return (*sentences, "Nothing ranks before it.")
    raising = [*_if_free(lines, number)]
    if again is not None:
        raising += _if_shorter(line, context_tokens, policy, again)
    return (*sentences, *(raising or [_no_change(lines, number)]))


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


def _if_free(lines: Sequence[Line], number: int) -> Iterator[str]:
    """Yield where the line would be if its place were free, and with it all places that are parts of it."""
    option = lines[number - 1].leading
    if option.free_now:
        return
    freed = {id(line.leading): _freed(line.leading, option) for line in lines}
    rank = _rank_of(lines_of(freed.values()), freed[id(option)])
    if rank < number:
        yield f"Free now, it would be #{rank}."


def _freed(one: Option, option: Option) -> Option:
    """Return an option as it is where the place of another is free."""
    here, there = one.place, option.place
    if one is option:
        return replace(one, free_now=True)
    if (here.cpu, here.gpu_class) != (there.cpu, there.gpu_class) or here.fabric not in {"", there.fabric}:
        return one
    if here.gpus_per_node is None or there.gpus_per_node is None:
        return one
    within = here.nodes <= there.nodes and here.gpus_per_node <= there.gpus_per_node
    if within and (not here.cpu or one.need_bytes <= option.need_bytes):
        return replace(one, free_now=True)
    return one


def _if_shorter(
    line: Line, context_tokens: int, policy: Policy, again: Callable[[int], Sequence[Line]]
) -> Iterator[str]:
    """Yield where the line would be at the context that arithmetic fits on a card less: everything is asked anew.

    Others need less then too, so that their ranks may change as well.
    """
    option = line.leading
    if option.place.nodes > 1 or option.place.cards < 2 or option.engine != LLAMACPP:  # noqa: PLR2004 - one card is least
        return
    fewer = option.place.cards - 1
    tokens = longest_context(option.artifact, fewer, option.have_bytes, policy.llamacpp)
    if tokens is None or tokens >= context_tokens:
        return
    wanted = (option.order, option.engine, option.place.gpu_class, 1, fewer)
    for one in again(tokens):
        here = one.leading
        key = (here.order, here.engine, here.place.gpu_class, here.place.nodes, here.place.cards)
        if key == wanted and one.rank < line.rank and not one.refuted:
            yield f"At a context of {tokens:,} tokens it fits on {counted(fewer, 'card')} and would be #{one.rank}."


def _no_change(lines: Sequence[Line], number: int) -> str:
    before, option = lines[number - 2].leading, lines[number - 1].leading
    if before.artifact == option.artifact:
        return f"No single change here raises it; the same artifact on {before.place.label} is before it."
    return "No single change here raises it: another artifact or another place is better by the order."


def _rank_of(lines: Sequence[Line], option: Option) -> int:
    return next(line.rank for line in lines if line.leading is option)
