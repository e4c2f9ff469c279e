"""The pool of ready nodes: what each has of cards and host memory, and what of that is free now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator  # noqa: TC003 - a public signature
from dataclasses import dataclass
from typing import Final

__all__ = ["GB", "CardClass", "PoolNode", "card_classes", "memory_from_class"]

GB: Final = 10**9

_LABEL_SIZE: Final = re.compile(r"([0-9]{1,6})g", re.ASCII)


@dataclass(frozen=True, slots=True)
class PoolNode:
    """One node. `gpu_class` is "" for a node without cards, `fabric` "" for one in none; memory is of one card.

    Free cards and free host memory are None where nobody says what is in use.
    """

    name: str
    gpu_class: str
    fabric: str
    gpu_memory_bytes: int
    gpus: int
    free_gpus: int | None
    host_memory_bytes: int
    host_free_bytes: int | None


@dataclass(frozen=True, slots=True)
class CardClass:
    """The nodes with cards of one class, in the order of the pool; the size of a card is that of the first node."""

    name: str
    card_bytes: int
    nodes: tuple[PoolNode, ...]

    @property
    def widest(self) -> int:
        """Return the largest number of cards in one node."""
        return max(node.gpus for node in self.nodes)

    def fabrics(self) -> Iterator[tuple[str, tuple[PoolNode, ...]]]:
        """Yield every named fabric in order of sight, with its nodes."""
        found: dict[str, list[PoolNode]] = {}
        for node in self.nodes:
            if node.fabric:
                found.setdefault(node.fabric, []).append(node)
        return ((fabric, tuple(nodes)) for fabric, nodes in found.items())


def card_classes(nodes: Iterable[PoolNode]) -> tuple[CardClass, ...]:
    """Return the classes of cards in the order of their names; nodes without class, cards or card memory have none."""
    found: dict[str, list[PoolNode]] = {}
    for node in nodes:
        if node.gpu_class and node.gpus > 0 and node.gpu_memory_bytes > 0:
            found.setdefault(node.gpu_class, []).append(node)
    return tuple(
        CardClass(name, members[0].gpu_memory_bytes, tuple(members)) for name, members in sorted(found.items())
    )


def memory_from_class(label: str) -> int:
    """Return the GB of a card that a class label ends in, as `h100-80g` in 80; 0 where it says none."""
    match = _LABEL_SIZE.fullmatch(label.rpartition("-")[2]) if "-" in label else None
    return int(match[1]) if match else 0
