"""Options as the solver sees them: every place asked for with the engine's own bytes and the cluster's own reserves.

A place is a set of memories that suffices where no fewer do, so that whether it is an option depends on nothing else in
the pool: a node more, or a card freed, only adds options. Simple options are asked about in their own places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from solver.effort import Effort
from solver.options.artifact import GGUF
from solver.options.exact_llamacpp import LlamacppOptions
from solver.options.exact_vllm import VllmOptions
from solver.options.kinds import machines_of, networks_of
from solver.options.of_llamacpp import LlamacppBases
from solver.options.of_vllm import VllmRanks
from solver.options.option import Verdict
from solver.options.supply import supply_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.cluster import Cluster
    from solver.options.models import Offered
    from solver.options.option import Option
    from solver.options.supply import Supply
    from solver.workload import Workload

__all__ = ["DEFAULT_EFFORT", "Engines", "ExactAnswer", "exact_options"]

DEFAULT_EFFORT: Final = Effort(time_limit_seconds=10.0, deterministic_limit=None, workers=1, seed=0)
"""For one question: most are answered by exact searches in a few milliseconds."""


@dataclass(frozen=True, slots=True)
class ExactAnswer:
    """The simple options with what the solver says of them, its own options, and notes on what it was not asked."""

    simple: tuple[Option, ...]
    exact: tuple[Option, ...]
    notes: tuple[str, ...]


class Engines:
    """What engines say of models, kept from one question to the next: it depends on no pool."""

    def __init__(self, effort: Effort = DEFAULT_EFFORT) -> None:
        self._effort = effort
        self._bases: dict[tuple[str, Workload], LlamacppBases] = {}
        self._ranks: dict[tuple[str, Workload], VllmRanks] = {}

    def options(self, offer: Offered, order: int, supplies: tuple[Supply, ...]) -> LlamacppOptions | VllmOptions | None:
        """Return who answers for an artifact, None where no headers say its blocks."""
        inventory, workload = offer.inventory, offer.workload
        if inventory is None or workload is None:
            return None
        key = (inventory.header_sha256, workload)
        if offer.artifact.format == GGUF:
            if key not in self._bases:
                self._bases[key] = LlamacppBases(inventory, workload, self._effort)
            return LlamacppOptions(offer.artifact, order, self._bases[key], supplies)
        if key not in self._ranks:
            self._ranks[key] = VllmRanks(inventory, workload, self._effort)
        return VllmOptions(offer.artifact, order, self._ranks[key], supplies)


def exact_options(
    offers: Sequence[Offered], cluster: Cluster, simple: Sequence[Option], engines: Engines | None = None
) -> ExactAnswer:
    """Return every option that the solver proves, and its verdict on every simple one.

    Artifacts without headers are passed over with a note, as are those that an engine refuses. `engines` are kept by
    who asks again about the same models.

    Raises:
        InputError: barred links leave too many sets of nodes that reach one another.
    """
    known = Engines() if engines is None else engines
    supplies = tuple(supply_of(network) for network in networks_of(cluster, machines_of(cluster)))
    of_artifact: dict[int, list[Option]] = {}
    for option in simple:
        of_artifact.setdefault(option.order, []).append(option)
    judged: list[Option] = []
    found: list[Option] = []
    notes: list[str] = []
    for order, offer in enumerate(offers):
        mine = of_artifact.get(order, [])
        asked = known.options(offer, order, supplies)
        if asked is None:
            judged.extend(mine)
            notes.append(f"{offer.artifact.name}: the solver was not asked, since no header says its blocks.")
            continue
        found.extend(asked.options())
        verdicts = [asked.verdict(option) for option in mine]
        if asked.is_open:
            verdicts = [Verdict.NOT_ASKED if one is Verdict.REFUTED else one for one in verdicts]
            notes.append(f"{offer.artifact.name}: the time was up before all places were settled; some may be missing.")
        for option, one in zip(mine, verdicts, strict=True):
            note = asked.why_refuted(option) if one is Verdict.REFUTED else ""
            judged.append(replace(option, verdict=one, note=note))
        if asked.refusal:
            notes.append(asked.refusal)
    return ExactAnswer(tuple(judged), tuple(found), tuple(dict.fromkeys(notes)))
