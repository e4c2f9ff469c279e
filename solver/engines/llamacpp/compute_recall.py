"""Simulations kept for models of equal shapes: quantisations of one model have one graph.

The sizes of weights take part only where a weight is copied to another place; which ones those were is kept with an
answer, and it stands for another model only if these have the same sizes there.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

    from solver.engines.llamacpp.compute_context import Context
    from solver.engines.llamacpp.compute_schedule import Schedule
    from tensors.inventory import Inventory

__all__ = ["Recall", "copied_weights", "shape_key"]

_KEPT_ANSWERS: Final = 64

Answer = TypeVar("Answer")


class _Kept(NamedTuple, Generic[Answer]):
    copied: tuple[str, ...]
    sizes: tuple[int, ...]
    answer: Answer


class Recall(Generic[Answer]):
    """Answers by what they follow from; the one used longest ago is forgotten first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, _Kept[Answer]] = OrderedDict()

    def find(self, key: Hashable, inventory: Inventory) -> Answer | None:
        """Return the answer that a model of equal shapes got, None if a copied weight is of another size here."""
        kept = self._kept.get(key)
        if kept is None or (kept.copied and _sizes(inventory, kept.copied) != kept.sizes):
            return None
        self._kept.move_to_end(key)
        return kept.answer

    def keep(self, key: Hashable, inventory: Inventory, copied: tuple[str, ...], answer: Answer) -> Answer:
        """Keep an answer in which these weights were copied, and return it."""
        self._kept[key] = _Kept(copied, _sizes(inventory, copied), answer)
        if len(self._kept) > _KEPT_ANSWERS:
            self._kept.popitem(last=False)
        return answer


class _Key:
    """A key whose hash is worked out once: it is asked for at every device of every question."""

    __slots__ = ("_hash", "facts")

    def __init__(self, facts: tuple[Hashable, ...]) -> None:
        self.facts = facts
        self._hash = hash(facts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and (self is other or self.facts == other.facts)


_keys: Final[OrderedDict[int, tuple[Inventory, _Key]]] = OrderedDict()


def shape_key(inventory: Inventory) -> Hashable:
    """Return all of a model that its graph follows from but for the sizes of its tensors."""
    known = _keys.get(id(inventory))
    if known is None:
        known = (inventory, _Key(_facts(inventory)))
        _keys[id(inventory)] = known
        if len(_keys) > _KEPT_ANSWERS:
            _keys.popitem(last=False)
    return known[1]


def _facts(inventory: Inventory) -> tuple[Hashable, ...]:
    return (
        inventory.format,
        inventory.architecture,
        inventory.trunk_blocks,
        inventory.nextn_blocks,
        inventory.tied,
        tuple((tensor.name, tensor.shape) for tensor in inventory.tensors),
    )


def copied_weights(here: Context, plan: Schedule) -> tuple[str, ...]:
    """Return the names of the weights that are copied, whole or in part, to another place."""
    # States stand among the weights, and are as large as shapes and settings say.
    names = {id(node): name for (name, _), node in here.weights.items() if name in here.sizes}
    sources = (
        source.root or source for node, sources, _ in plan.steps if node.operation == "keep" for source in sources
    )
    return tuple(sorted({names[id(source)] for source in sources if id(source) in names}))


def _sizes(inventory: Inventory, names: tuple[str, ...]) -> tuple[int, ...]:
    wanted = frozenset(names)
    sizes = {tensor.name: tensor.size_bytes for tensor in inventory.tensors if tensor.name in wanted}
    return tuple(sizes[name] for name in names)
