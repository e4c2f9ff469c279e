"""Exact options of a GGUF artifact: in one host, on equal cards of one node or of several, and on unlike memories."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

from solver.options.asked import best_of_equals, exact_option, named_devices
from solver.options.kinds import DeviceType, Family
from solver.options.like import like_place, shapes
from solver.options.of_llamacpp import MOST_DEVICES
from solver.options.option import PlacedStage, Verdict
from solver.options.pool import GB
from solver.options.simple import LLAMACPP
from solver.options.unlike import fewest_unlike, free_now, unlike_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from solver.options.artifact import Artifact
    from solver.options.kinds import Kind, Machine
    from solver.options.of_llamacpp import DeviceCut, LlamacppBase, LlamacppBases
    from solver.options.option import Option, Place
    from solver.options.supply import KindSupply, Supply

__all__ = ["LlamacppOptions"]

_HOST: Final = frozenset({DeviceType(Family.HOST, "")})
_MOST_TYPES: Final = 4


class LlamacppOptions:
    """One artifact on sets of machines that reach one another."""

    def __init__(
        self,
        artifact: Artifact,
        order: int,
        bases: LlamacppBases,
        supplies: tuple[Supply, ...],
    ) -> None:
        self._artifact = artifact
        self._order = order
        self._supplies = supplies
        self._bases = bases
        self._least: dict[Kind, int | None] = {}

    @property
    def refusal(self) -> str:
        """Return why the engine refuses the artifact, "" where it does not."""
        return self._bases.refusal

    @property
    def is_open(self) -> bool:
        """Return whether a question was left without an answer when its time was up."""
        return self._bases.is_open

    def options(self) -> tuple[Option, ...]:
        """Return all options, of each place the best."""
        return best_of_equals(self._found())

    def verdict(self, option: Option) -> Verdict:
        """Return whether a simple option holds in its own place."""
        if option.place.cpu:
            base = self._bases.of(_HOST)
            return Verdict.NOT_ASKED if base is None else Verdict.of(bool(self._fitting_hosts(base)))
        answers = [
            self._holds(offer, option.place.cards)
            for supply in self._supplies
            for offer in supply.kinds
            if offer.kind.label == option.place.gpu_class and offer.having(option.place.cards)
        ]
        known = [answer for answer in answers if answer is not None]
        return Verdict.of(any(known)) if known else Verdict.NOT_ASKED

    def why_refuted(self, option: Option) -> str:
        """Return why a refuted option does not hold."""
        place = option.place
        if place.cpu:
            base = self._bases.of(_HOST)
            budgets = [] if base is None else [base.budget(kind) for _, kind in self._hosts()]
            return "" if base is None else base.cutter.shortfall((max(budgets, default=0),))
        for supply in self._supplies:
            for offer in supply.kinds:
                base = self._bases.of(frozenset({offer.kind.type}))
                if base is None or offer.kind.label != place.gpu_class or not offer.having(place.cards):
                    continue
                if base.cut((offer.kind,) * place.cards) is not None:
                    size = f"{base.host_bytes / GB:,.3f} GB"
                    return f"no such node has the {size} of host memory that stay where llama.cpp is started"
                return base.cutter.shortfall((base.budget(offer.kind),) * place.cards)
        return ""

    def _holds(self, offer: KindSupply, cards: int) -> bool | None:
        base = self._bases.of(frozenset({offer.kind.type}))
        if base is None:
            return None
        least = self._least_of(offer.kind)
        return least is not None and least <= cards and offer.taken(cards, 1, base.host_bytes) is not None

    def _found(self) -> Iterator[Option]:
        yield from self._in_one_host()
        for supply in self._supplies:
            for offer in supply.kinds:
                yield from self._on_like(offer, from_nodes=1)
            for offer in supply.hosts:
                yield from self._on_like(offer, from_nodes=2)
            yield from self._on_unlike(supply)

    def _fitting_hosts(self, base: LlamacppBase) -> list[tuple[Machine, Kind]]:
        """Return the machines whose host holds a whole replica, each once."""
        return [(machine, kind) for machine, kind in self._hosts() if base.budget(kind) >= base.cutter.total_bytes]

    def _hosts(self) -> list[tuple[Machine, Kind]]:
        every = {machine.position: machine for supply in self._supplies for machine in supply.machines}
        return [(machine, machine.host) for machine in every.values() if machine.host is not None]

    def _in_one_host(self) -> Iterator[Option]:
        base = self._bases.of(_HOST)
        fitting = [] if base is None else self._fitting_hosts(base)
        if base is None or not fitting:
            return
        machine, kind = max(fitting, key=lambda pair: pair[1].allowed_bytes)
        cut = base.cut([kind])
        if cut is None:
            return
        need = base.cutter.total_bytes + cut.aside_bytes[0]
        known = [one.host_free_bytes for one, _ in fitting]
        free = any(size is not None and size >= need for size in known) or (None if None in known else False)
        place = like_place(kind, 1, 1, "")
        yield self._option(base, place, [(kind, machine)], cut, len(fitting), free)

    def _least_of(self, kind: Kind) -> int | None:
        """Return the fewest devices of a kind that hold the model; None where no number does."""
        if kind not in self._least:
            base = self._bases.of(frozenset({kind.type}))
            self._least[kind] = None if base is None else base.least_devices(kind)
        return self._least[kind]

    def _on_like(self, offer: KindSupply, *, from_nodes: int) -> Iterator[Option]:
        kind = offer.kind
        base, least = self._bases.of(frozenset({kind.type})), self._least_of(kind)
        if base is None or least is None:
            return
        for nodes, cards in shapes(least, offer.widest, 1, MOST_DEVICES):
            having = offer.having(cards)
            machines = None if nodes < from_nodes or len(having) < nodes else offer.taken(cards, nodes, base.host_bytes)
            cut = None if machines is None else base.cut((kind,) * (nodes * cards))
            if machines is None or cut is None:
                continue
            devices = [(kind, machine) for machine in machines for _ in range(cards)]
            free = None if kind.type.family is Family.HOST else offer.free_now(cards, nodes)
            yield self._option(base, like_place(kind, nodes, cards, ""), devices, cut, len(having), free)

    def _on_unlike(self, supply: Supply) -> Iterator[Option]:
        types = sorted({offer.kind.type for offer in (*supply.kinds, *supply.hosts)})
        for size in range(1, min(len(types), _MOST_TYPES) + 1):
            for chosen in combinations(types, size):
                yield from self._on_types(supply, frozenset(chosen))

    def _on_types(self, supply: Supply, types: frozenset[DeviceType]) -> Iterator[Option]:
        offers = [offer for offer in (*supply.kinds, *supply.hosts) if offer.kind.type in types]
        if len(offers) < 2:  # noqa: PLR2004 - unlike ones
            return
        # All that there is of these types may be too little by far: then the engine need not be asked.
        if sum(offer.total * offer.kind.allowed_bytes for offer in offers) < self._artifact.size_bytes // 2:
            return
        base = self._bases.of(types)
        if base is None:
            return
        caps = {offer.kind: self._least_of(offer.kind) for offer in offers}
        for mix in fewest_unlike(base, supply, types, caps):
            hosts = sum(any(machine.offers(kind) for kind in mix.kinds) for machine in supply.machines)
            devices = list(mix.devices)
            yield self._option(base, unlike_place(mix), devices, mix.cut, hosts, free_now(mix, supply))

    def _option(
        self,
        base: LlamacppBase,
        place: Place,
        devices: Sequence[tuple[Kind, Machine]],
        cut: DeviceCut,
        hosts: int,
        free: bool | None,
    ) -> Option:
        names = named_devices(devices)
        stages = tuple(
            PlacedStage(
                node=devices[stage.device][1].name,
                device=names[stage.device],
                start=stage.start,
                end=stage.end,
                need_bytes=stage.load_bytes + cut.aside_bytes[stage.device],
                have_bytes=devices[stage.device][0].allowed_bytes,
            )
            for stage in cut.cut.stages
        )
        context = base.longest_context([kind for kind, _ in devices])
        return exact_option(self._artifact, self._order, LLAMACPP, place, stages, hosts, free, context, cut.cut.proof)
