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
from solver.options.option import Verdict
from solver.options.supply import supply_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.cluster import Cluster
    from solver.options.models import Offered
    from solver.options.option import Option

__all__ = ["DEFAULT_EFFORT", "ExactAnswer", "exact_options"]

DEFAULT_EFFORT: Final = Effort(time_limit_seconds=10.0, deterministic_limit=None, workers=1, seed=0)
"""For one question: most are answered by exact searches in a few milliseconds."""


@dataclass(frozen=True, slots=True)
class ExactAnswer:
    """The simple options with what the solver says of them, its own options, and notes on what it was not asked."""

    simple: tuple[Option, ...]
    exact: tuple[Option, ...]
    notes: tuple[str, ...]


def exact_options(
    offers: Sequence[Offered],
    cluster: Cluster,
    simple: Sequence[Option],
    effort: Effort = DEFAULT_EFFORT,
) -> ExactAnswer:
    """Return every option that the solver proves, and its verdict on every simple one.

    Artifacts without headers are passed over with a note, as are those that an engine refuses.

    Raises:
        InputError: barred links leave too many sets of nodes that reach one another.
    """
    machines = machines_of(cluster)
    supplies = tuple(supply_of(network) for network in networks_of(cluster, machines))
    of_artifact: dict[int, list[Option]] = {}
    for option in simple:
        of_artifact.setdefault(option.order, []).append(option)
    judged: list[Option] = []
    found: list[Option] = []
    notes: list[str] = []
    for order, offer in enumerate(offers):
        mine = of_artifact.get(order, [])
        if offer.inventory is None or offer.workload is None:
            judged.extend(mine)
            notes.append(f"{offer.artifact.name}: the solver was not asked, since no header says its blocks.")
            continue
        make = LlamacppOptions if offer.artifact.format == GGUF else VllmOptions
        asked = make(offer.artifact, order, offer.inventory, offer.workload, supplies, effort)
        found.extend(asked.options())
        verdicts = [asked.verdict(option) for option in mine]
        if asked.is_open:
            verdicts = [Verdict.NOT_ASKED if one is Verdict.REFUTED else one for one in verdicts]
            notes.append(f"{offer.artifact.name}: the time was up before all places were settled; some may be missing.")
        judged.extend(replace(option, verdict=one) for option, one in zip(mine, verdicts, strict=True))
        if asked.refusal:
            notes.append(asked.refusal)
    return ExactAnswer(tuple(judged), tuple(found), tuple(dict.fromkeys(notes)))
