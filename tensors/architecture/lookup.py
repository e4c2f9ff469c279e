"""Reading facts from untrusted mappings: what has the wrong type or an absurd size is as good as absent.

A fact that is needed and absent raises `MissingKey` inside this package; `sentence` turns it into words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tensors.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["MissingKey", "block_numbers", "first", "flags", "names_nextn", "text", "whole", "wholes"]

_LARGEST = 2**40
"""No count or width of a model comes near; products of a few such numbers stay cheap."""

# `blk.7.`, `model.layers.7.`, `transformer.h.7.`, `backbone.layers.7.`, and nextn blocks kept apart as `mtp.layers.0.`;
# the layers of a vision or audio tower begin otherwise.
_BLOCK = re.compile(
    r"(?:(?:model|language_model|text_model|llm|transformer|backbone|gpt_neox|bert|roberta|encoder|decoder)\.)*"
    r"(mtp\.)?(?:blk|layers|layer|h|blocks|block)\.(\d{1,4})\.",
    re.ASCII,
)

_NEXTN = re.compile(r"nextn\.|(?:eh_proj|enorm|hnorm|shared_head|embed_tokens|mtp\w*)(?:\.|$)", re.ASCII)
"""Modules that join a nextn block to the stream, behind the number of the block."""


class MissingKey(Exception):  # noqa: N818 (never leaves this package, so it is no error of it)
    """A key that a rule needs is absent or unusable."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key

    def sentence(self, where: str) -> str:
        """Return what to tell a person; `where` names what was looked through."""
        return f"{where} has no usable {quoted(self.key)}; expected it, as the size of the cache follows from it."


def whole(value: object) -> int | None:
    """Return a value that is a whole number from 0 to 2^40 and no bool, else None."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return value
    return None


def wholes(value: object) -> tuple[int, ...] | None:
    """Return a list or tuple of whole numbers or bools as whole numbers, else None."""
    if not isinstance(value, list | tuple):
        return None
    numbers = tuple(int(entry) if isinstance(entry, bool) else whole(entry) for entry in value)
    return None if None in numbers else tuple(number for number in numbers if number is not None)


def flags(value: object) -> tuple[bool, ...] | None:
    """Return a list or tuple of bools or whole numbers as bools, else None."""
    numbers = wholes(value)
    return None if numbers is None else tuple(number != 0 for number in numbers)


def text(value: object) -> str | None:
    """Return a value that is a text of at least one character, else None."""
    return value if isinstance(value, str) and value else None


def block_numbers(names: Iterable[str], largest: int) -> tuple[int, int]:
    """Return how many blocks the names of tensors number in the model and apart from it as `mtp` blocks.

    Numbers from `largest` on are no blocks.
    """
    model, apart = 0, 0
    for name in names:
        match = _BLOCK.match(name)
        if match is None or (number := int(match[2])) >= largest:
            continue
        if match[1]:
            apart = max(apart, number + 1)
        else:
            model = max(model, number + 1)
    return model, apart


def names_nextn(names: Iterable[str], start: int) -> bool:
    """Return whether the tensors of a block from `start` on are those of multi-token prediction."""
    matches = ((name, match) for name in names if (match := _BLOCK.match(name)) is not None and int(match[2]) >= start)
    return any(match[1] or _NEXTN.match(name, match.end()) for name, match in matches)


def first(mapping: Mapping[str, object], *names: str) -> int | None:
    """Return the first of several keys that holds a usable whole number."""
    return next((number for name in names if (number := whole(mapping.get(name))) is not None), None)
