"""What both engines' exact options have in common: one artifact asked about on sets of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.options.option import Method, Option, Verdict
from solver.options.ranking import rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from solver.options.artifact import Artifact
    from solver.options.kinds import Kind, Machine
    from solver.options.option import Place, PlacedStage

__all__ = ["best_of_equals", "exact_option", "named_devices"]


def exact_option(
    artifact: Artifact,
    order: int,
    engine: str,
    place: Place,
    stages: tuple[PlacedStage, ...],
    hosts: int,
    free_now: bool | None,
    longest_context: int | None,
    proof: str,
) -> Option:
    """Return an option of the solver; the fullest card is that of the stage with the least room."""
    fullest = min(stages, key=lambda stage: stage.have_bytes - stage.need_bytes)
    return Option(
        artifact=artifact,
        order=order,
        engine=engine,
        place=place,
        need_bytes=fullest.need_bytes,
        have_bytes=fullest.have_bytes,
        hosts=hosts,
        free_now=free_now,
        method=Method.EXACT,
        verdict=Verdict.FITS,
        stages=stages,
        longest_context=longest_context,
        proof=proof,
        note="",
    )


def best_of_equals(options: Iterable[Option]) -> tuple[Option, ...]:
    """Return the best option of each label, as kinds of other memory or networks may give the same place twice."""
    found: dict[str, Option] = {}
    for option in rank(options):
        found.setdefault(option.place.label, option)
    return tuple(found.values())


def named_devices(devices: Sequence[tuple[Kind, Machine]]) -> list[str]:
    """Return the name of every device: the first of its kind on its machine that no earlier one has."""
    left: dict[tuple[int, Kind], list[str]] = {}
    names = []
    for kind, machine in devices:
        waiting = left.setdefault((machine.position, kind), machine.names(kind))
        names.append(waiting.pop(0))
    return names
