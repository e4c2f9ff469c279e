"""What datasheets say of a card: `cards.toml` beside this module, and files of that form that a person puts before it.

The built-in figures are those of the vendors' own datasheets and product specifications, named as `source` in the file:
bandwidths are peaks of the memory, never measured speeds.

    [[source]]
    name = "measured here"
    card = [{ class = "rtx-4090-48g", names = ["NVIDIA GeForce RTX 4090"], memory = "48 GiB", bandwidth = "1008 GB/s" }]
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from solver.cluster_values import Rate, Size, Text
from solver.errors import InputError
from solver.toml_tables import TomlKind, read_toml_text, toml_tables

if TYPE_CHECKING:
    from solver.machine.card import Card

__all__ = ["CardFacts", "CardTable", "built_in_table", "read_card_table"]

_LEAST_SHARE: Final = (9, 10)
"""Drivers report a little less than is soldered on, error correction takes up to a sixteenth more."""

_SILENT_WORDS: Final = frozenset({"amd", "corporation", "geforce", "graphics", "intel", "nvidia", "r", "tm"})


class _CardRow(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True, rename={"label": "class"}):
    label: Text
    names: tuple[Text, ...] = ()
    pci: tuple[Text, ...] = ()
    unified: bool = False
    memory: Size | None = None
    bandwidth: Rate | None = None


class _SourceTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    name: Text
    card: tuple[_CardRow, ...]


class _CardsTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    source: tuple[_SourceTable, ...]


_KIND: Final = TomlKind(
    name="a table of cards",
    list_name="source",
    tables={"": _CardsTable, "source[]": _SourceTable, "source[].card[]": _CardRow},
    examples={
        "source": '[{ name = "measured here", card = [] }]',
        "name": '"measured here"',
        "card": "[]",
        "class": '"rtx-4090-24g"',
    },
)


@dataclass(frozen=True, slots=True)
class CardFacts:
    """One row. `memory_bytes` is None for a chip whose graphics work in the host's memory (`unified`)."""

    label: str
    names: tuple[str, ...]
    pci: tuple[str, ...]
    unified: bool
    memory_bytes: int | None
    bytes_per_second: int | None
    source: str


@dataclass(frozen=True, slots=True)
class CardTable:
    """Rows, those that count first."""

    rows: tuple[CardFacts, ...]

    def find(self, card: Card) -> CardFacts | None:
        """Return the first row of a card's name, or of its vendor and device, that its memory does not contradict."""
        name = _words(card.name)
        bare = _words(card.name.partition(",")[0])
        for wanted in (name, bare):
            for row in self.rows:
                if (wanted in map(_words, row.names) or (card.kind and card.kind in row.pci)) and _agrees(card, row):
                    return row
        return None

    def before(self, other: CardTable) -> CardTable:
        """Return a table in which these rows count before the other's."""
        return CardTable((*self.rows, *other.rows))


def built_in_table() -> CardTable:
    """Return the table that comes with the package."""
    path = Path(__file__).with_name("cards.toml")
    return _table(path.read_text(encoding="utf-8"), path.name)


def read_card_table(path: Path) -> CardTable:
    """Return the table in a person's file.

    Raises:
        InputError: the file cannot be read, or a field cannot be meant; names the field.
    """
    return _table(read_toml_text(path, _KIND), str(path))


def _table(text: str, where: str) -> CardTable:
    tables = toml_tables(text, where, _KIND, _CardsTable)
    rows = []
    for number, source in enumerate(tables.source):
        for index, row in enumerate(source.card):
            if row.unified == (row.memory is not None):
                place = f"{where}, source[{number}].card[{index}].memory"
                raise InputError(
                    place,
                    "a chip that works in the host's memory has none of its own; expected no memory. Remove it."
                    if row.unified
                    else 'it is missing; expected the memory of one card. Add memory = "24 GiB" or unified = true.',
                )
            rows.append(
                CardFacts(
                    label=str(row.label),
                    names=tuple(map(str, row.names)),
                    pci=tuple(str(pci).lower() for pci in row.pci),
                    unified=row.unified,
                    memory_bytes=None if row.memory is None else int(row.memory),
                    bytes_per_second=None if row.bandwidth is None else int(row.bandwidth),
                    source=str(source.name),
                )
            )
    return CardTable(tuple(rows))


def _agrees(card: Card, row: CardFacts) -> bool:
    """Return whether what a driver reports can be this row's memory; where one of both says none, it may be any."""
    if row.memory_bytes is None or card.memory_bytes is None:
        return row.memory_bytes is None or not card.in_host
    least, whole = _LEAST_SHARE
    return row.memory_bytes * least <= card.memory_bytes * whole and card.memory_bytes <= row.memory_bytes


@lru_cache(maxsize=1024)
def _words(name: str) -> str:
    """Return a name in the words that tell cards apart, in lower case."""
    return " ".join(word for word in re.findall(r"[a-z0-9.]+", name.lower()) if word not in _SILENT_WORDS)
