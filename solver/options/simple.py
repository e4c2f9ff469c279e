"""The plain arithmetic of options, exactly as stated in docs/options.md: integers, and a need equal to a share fits.

Its known exceptions are kept: a wider node in a class can remove the class's only line, and a line of one node hides
that of several. The exact method has neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.options.artifact import GGUF, SAFETENSORS
from solver.options.option import Method, Option, Place, Verdict
from solver.options.pool import card_classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from solver.options.artifact import Artifact
    from solver.options.policy import Overhead, Policy
    from solver.options.pool import CardClass, PoolNode

__all__ = ["LLAMACPP", "VLLM", "card_need", "longest_context", "simple_options"]

LLAMACPP, VLLM = "llamacpp", "vllm"


def simple_options(
    artifacts: Sequence[Artifact], nodes: Sequence[PoolNode], context_tokens: int, policy: Policy
) -> tuple[Option, ...]:
    """Return every way that the arithmetic finds, by artifact as given; classes by name, fabrics in order of sight."""
    classes = card_classes(nodes)
    hosts = tuple(node for node in nodes if node.host_memory_bytes > 0)
    found: list[Option] = []
    for order, artifact in enumerate(artifacts):
        asked = _Asked(artifact, order, context_tokens, policy)
        if artifact.format == GGUF:
            found.extend(asked.on_hosts(hosts))
            for group in classes:
                found.extend(asked.on_cards(group, _counting(group.widest), policy.llamacpp, LLAMACPP))
        elif artifact.format == SAFETENSORS:
            for group in classes:
                inside = list(asked.on_cards(group, _dividing(group.widest, artifact), policy.vllm, VLLM))
                found.extend(inside or asked.over_nodes(group))
    return tuple(found)


def card_need(artifact: Artifact, cards: int, context_tokens: int, overhead: Overhead) -> int:
    """Return what each of so many cards holds: its part of weights and cache, and the overhead beside."""
    cache_bytes = context_tokens * artifact.shape.cache_bytes_per_token
    return (artifact.size_bytes + cache_bytes) // cards + overhead.bytes_of(artifact.size_bytes // cards)


def longest_context(artifact: Artifact, cards: int, have_bytes: int, overhead: Overhead) -> int | None:
    """Return the most tokens for which the need is no more than each card has.

    None where any number does, or weights alone do not fit.
    """
    per_token = artifact.shape.cache_bytes_per_token
    room = have_bytes - overhead.bytes_of(artifact.size_bytes // cards)
    # (weights + cache) // cards <= room, turned around.
    left = (room + 1) * cards - 1 - artifact.size_bytes
    return None if left < 0 or per_token == 0 else left // per_token


class _Asked:
    """One artifact under one context and policy."""

    def __init__(self, artifact: Artifact, order: int, context_tokens: int, policy: Policy) -> None:
        self._artifact = artifact
        self._order = order
        self._context_tokens = context_tokens
        self._policy = policy

    def on_hosts(self, hosts: tuple[PoolNode, ...]) -> Iterator[Option]:
        """Yield the line for a whole replica in the memory of one host."""
        need = card_need(self._artifact, 1, self._context_tokens, self._policy.llamacpp)
        fitting = [host for host in hosts if need <= self._policy.of_host(host.host_memory_bytes)]
        if not fitting:
            return
        have = max(self._policy.of_host(host.host_memory_bytes) for host in fitting)
        place = Place(cpu=True, gpu_class="", fabric="", gpus_per_node=0, nodes=1, cards=0, label="CPU")
        free = _enough((_at_least(host.host_free_bytes, need) for host in fitting), 1)
        yield self._option(LLAMACPP, place, need, have, len(fitting), free)

    def on_cards(self, group: CardClass, widths: Iterable[int], overhead: Overhead, engine: str) -> Iterator[Option]:
        """Yield the line for the least of these widths that fits inside one node."""
        have = self._policy.of_card(group.card_bytes)
        for width in widths:
            need = card_need(self._artifact, width, self._context_tokens, overhead)
            if need > have:
                continue
            hosts = [node for node in group.nodes if node.gpus >= width]
            label = f"{width} × {group.name}"
            place = Place(
                cpu=False, gpu_class=group.name, fabric="", gpus_per_node=width, nodes=1, cards=width, label=label
            )
            free = _enough((_at_least(node.free_gpus, width) for node in hosts), 1)
            yield self._option(engine, place, need, have, len(hosts), free)
            return

    def over_nodes(self, group: CardClass) -> Iterator[Option]:
        """Yield a line for every named fabric in which 2, 4, 8 … of its nodes suffice."""
        width = 1 << (group.widest.bit_length() - 1)
        if not _divides(width, self._artifact.shape.kv_heads):
            return
        have = self._policy.of_card(group.card_bytes)
        for fabric, members in group.fabrics():
            hosts = [node for node in members if node.gpus >= width]
            for count in _doubling(2, len(members)):
                need = card_need(self._artifact, width * count, self._context_tokens, self._policy.vllm)
                if need > have:
                    continue
                if len(hosts) >= count:
                    label = f"{count} nodes × {width} {group.name} on {fabric}"
                    place = Place(
                        cpu=False,
                        gpu_class=group.name,
                        fabric=fabric,
                        gpus_per_node=width,
                        nodes=count,
                        cards=width * count,
                        label=label,
                    )
                    free = _enough((_at_least(node.free_gpus, width) for node in hosts), count)
                    yield self._option(VLLM, place, need, have, len(hosts), free)
                break

    def _option(self, engine: str, place: Place, need: int, have: int, hosts: int, free: bool | None) -> Option:
        overhead = self._policy.llamacpp if engine == LLAMACPP else self._policy.vllm
        return Option(
            artifact=self._artifact,
            order=self._order,
            engine=engine,
            place=place,
            need_bytes=need,
            have_bytes=have,
            hosts=hosts,
            free_now=free,
            method=Method.SIMPLE,
            verdict=Verdict.NOT_ASKED,
            stages=(),
            longest_context=longest_context(self._artifact, max(place.cards, 1), have, overhead),
            proof="",
            note="",
        )


def _counting(most: int) -> range:
    return range(1, most + 1)


def _dividing(most: int, artifact: Artifact) -> Iterator[int]:
    """Yield 1, 2, 4 … up to the first that does not divide the heads of keys and values."""
    for width in _doubling(1, most):
        if not _divides(width, artifact.shape.kv_heads):
            return
        yield width


def _doubling(first: int, most: int) -> Iterator[int]:
    while first <= most:
        yield first
        first *= 2


def _divides(width: int, heads: int) -> bool:
    """Return whether a width divides the heads; unknown heads (0) it always does."""
    return heads % width == 0


def _at_least(free: int | None, wanted: int) -> bool | None:
    return None if free is None else free >= wanted


def _enough(answers: Iterable[bool | None], wanted: int) -> bool | None:
    """Return whether so many answers are yes; None where unknown ones decide it."""
    known = list(answers)
    if known.count(True) >= wanted:
        return True
    return None if known.count(True) + known.count(None) >= wanted else False
