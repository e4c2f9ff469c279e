"""Exact options of a safetensors artifact: ranks of equal width on equal cards, on any number of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from solver.options.asked import best_of_equals, exact_option
from solver.options.like import like_place, shapes
from solver.options.option import PlacedStage, Verdict
from solver.options.simple import VLLM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.options.artifact import Artifact
    from solver.options.kinds import Kind, Machine
    from solver.options.of_vllm import RankCut, VllmRanks
    from solver.options.option import Option
    from solver.options.supply import KindSupply, Supply

__all__ = ["VllmOptions"]

_MOST_RANKS: Final = 64


class VllmOptions:
    """One artifact on sets of machines that reach one another; ranks on several nodes stay inside one fabric."""

    def __init__(
        self,
        artifact: Artifact,
        order: int,
        ranks: VllmRanks,
        supplies: tuple[Supply, ...],
    ) -> None:
        self._artifact = artifact
        self._order = order
        self._supplies = supplies
        self._ranks = ranks

    @property
    def refusal(self) -> str:
        """Return why the engine refuses the artifact at any width, "" where it does not."""
        return self._ranks.refusal

    @property
    def is_open(self) -> bool:
        """Return whether a question was left without an answer when its time was up."""
        return self._ranks.is_open

    def options(self) -> tuple[Option, ...]:
        """Return all options, of each place the best."""
        return best_of_equals(
            option
            for supply in self._supplies
            for offer in supply.kinds
            for fabric, inside in offer.by_fabric()
            for option in self._on_like(offer, fabric, inside)
        )

    def verdict(self, option: Option) -> Verdict:
        """Return whether a simple option holds in its own place: every node one rank of all its cards."""
        place = option.place
        width = place.gpus_per_node or 0
        offers = [
            offer
            for supply in self._supplies
            for offer in supply.kinds
            if offer.kind.label == place.gpu_class and len(offer.having(width)) >= place.nodes
        ]
        if not offers or self._ranks.refusal:
            return Verdict.NOT_ASKED
        return Verdict.of(any(self._ranks.cut(offer.kind, width, place.nodes) is not None for offer in offers))

    def why_refuted(self, option: Option) -> str:
        """Return why a refuted option does not hold."""
        width, place = option.place.gpus_per_node or 0, option.place
        for supply in self._supplies:
            for offer in supply.kinds:
                if offer.kind.label == place.gpu_class and len(offer.having(width)) >= place.nodes:
                    return self._ranks.shortfall(offer.kind, width, place.nodes)
        return ""

    def _on_like(self, whole: KindSupply, fabric: str, inside: KindSupply) -> Iterator[Option]:
        """Yield the places of one kind: on one node wherever it is, on several inside a fabric."""
        best: dict[int, tuple[int, int]] = {}
        for width in _widths(inside.widest):
            least = self._ranks.fewest(inside.kind, width, min(_MOST_RANKS, inside.total // width))
            if least is None:
                continue
            for nodes, cards in shapes(least, inside.widest, width, _MOST_RANKS):
                if len(inside.having(cards)) >= nodes and (nodes not in best or (cards, -width) < best[nodes]):
                    best[nodes] = (cards, -width)
        fewest = None
        for nodes, (cards, width) in sorted(best.items()):
            if fewest is None or cards < fewest:
                supply, where = (whole, "") if nodes == 1 else (inside, fabric)
                yield from self._option(supply, where, nodes, cards, -width)
            fewest = cards if fewest is None else min(cards, fewest)

    def _option(self, offer: KindSupply, fabric: str, nodes: int, cards: int, width: int) -> Iterator[Option]:
        having = offer.having(cards)
        found = self._ranks.cut(offer.kind, width, nodes * cards // width)
        machines = offer.taken(cards, nodes, 0)
        if found is None or machines is None:
            return
        yield exact_option(
            self._artifact,
            self._order,
            VLLM,
            like_place(offer.kind, nodes, cards, fabric),
            _stages(found, offer.kind, machines, cards, width),
            len(having),
            offer.free_now(cards, nodes),
            self._ranks.longest_context(offer.kind, width, nodes * cards // width),
            found.cut.proof,
        )


def _widths(widest: int) -> Iterator[int]:
    """Yield the numbers of cards that may share a rank: powers of two."""
    width = 1
    while width <= widest:
        yield width
        width *= 2


def _stages(
    found: RankCut, kind: Kind, machines: tuple[Machine, ...], cards: int, width: int
) -> tuple[PlacedStage, ...]:
    ranks = [
        (machine.name, names[first : first + width])
        for machine in machines
        for names in [machine.names(kind)]
        for first in range(0, cards, width)
    ]
    stages = []
    for stage, need in zip(found.cut.stages, found.stage_bytes, strict=True):
        name, devices = ranks[stage.device]
        shown = devices[0] if len(devices) == 1 else f"{devices[0]}–{devices[-1].rpartition('/gpu')[2]}"
        stages.append(PlacedStage(name, shown, stage.start, stage.end, need, found.have_bytes))
    return tuple(stages)
