"""A machine as a node: every memory once, every card in its place, and why each figure is what it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from solver.cluster_build import GPU_RESERVE
from solver.machine.amd import amd_cards
from solver.machine.apple import mac_cards
from solver.machine.card import Card, Vendor
from solver.machine.host import host_memory
from solver.machine.intel import intel_cards
from solver.machine.nvidia import nvidia_cards
from solver.wording import exact_size
from tensors.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.machine.host import HostMemory
    from solver.machine.machine import Machine
    from solver.machine.table import CardFacts, CardTable

__all__ = ["CardGroup", "Survey", "survey"]

_MOST_CARDS: Final = 256
_MOST_BYTES: Final = 2**50
"""As much as a cluster file may say of one memory."""

_UNNAMED: Final = "this-machine"
_NO_NAMES: Final = frozenset({"", "localhost"})
_COHERENT: Final = re.compile(r"\bG[BH][0-9]{3}\b", re.ASCII)
"""Grace Hopper and Grace Blackwell: the system may count the cards' memory as its own."""


@dataclass(frozen=True, slots=True)
class CardGroup:
    """Equal cards that follow one another on the bus. `device` is what llama.cpp calls the first one.

    `usable_bytes` is of one card, without what driver and firmware keep; 0 in a unified memory. `source` is the
    datasheet that the bandwidth is from, None where no table knows the card.
    """

    label: str
    usable_bytes: int
    free_count: int | None
    bytes_per_second: int | None
    device: str
    source: str | None
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """What a machine has. `ceiling_bytes` bounds what graphics may take of a unified memory.

    `remarks` are about what is there and not listed.
    """

    name: str
    host: HostMemory
    unified: bool
    ceiling_bytes: int | None
    groups: tuple[CardGroup, ...]
    remarks: tuple[str, ...]


def survey(machine: Machine, table: CardTable, name: str | None) -> Survey:
    """Return what a machine has; `name` is that of the node, None for the machine's own.

    Raises:
        InputError: nothing says how much memory the host has.
    """
    of_nvidia, remarks = nvidia_cards(machine)
    cards = (*of_nvidia, *amd_cards(machine), *intel_cards(machine), *mac_cards(machine))[:_MOST_CARDS]
    found = tuple((card, table.find(card)) for card in cards)
    holds_cards = any(_COHERENT.search(card.name) for card, _ in found)
    own = tuple((card, row) for card, row in found if _has_own_memory(card, row))
    inside = tuple((card, row) for card, row in found if _works_in_host(card, row))
    # A card beside them takes the blocks; the host's memory is then counted as the host's alone.
    chosen = next(((card, row) for card, row in inside if _is_for_models(card, row)), None) if not own else None
    host = host_memory(machine, holds_cards=holds_cards)
    ceiling = None if chosen is None else chosen[0].ceiling_bytes
    return Survey(
        name=_node_name(machine.host_name) if name is None else name,
        host=host,
        unified=chosen is not None,
        ceiling_bytes=ceiling if ceiling is not None and 0 < ceiling < host.usable_bytes else None,
        groups=_groups(own) if chosen is None else (_unified_group(*chosen),),
        remarks=(
            *(remark for card, row in found if (card, row) != chosen for remark in _left_out(card, row, bool(own))),
            *remarks,
        ),
    )


def _memory_of(card: Card, row: CardFacts | None) -> int | None:
    """Return the memory of a card, by the table where its driver is silent and the table knows it."""
    if card.memory_bytes is None and row is not None and card.in_host is None:
        return row.memory_bytes
    return card.memory_bytes


def _has_own_memory(card: Card, row: CardFacts | None) -> bool:
    if card.in_host is None and row is not None and row.unified:
        return False
    return not card.in_host and card.reserved_bytes < (_memory_of(card, row) or 0) <= _MOST_BYTES


def _works_in_host(card: Card, row: CardFacts | None) -> bool:
    return card.in_host or (card.in_host is None and row is not None and row.unified)


def _is_for_models(card: Card, row: CardFacts | None) -> bool:
    """Return whether people run models on graphics in a processor: a table says so, or there is no other way."""
    return (row is not None and row.unified) or card.vendor in (Vendor.NVIDIA, Vendor.APPLE)


def _groups(cards: tuple[tuple[Card, CardFacts | None], ...]) -> tuple[CardGroup, ...]:
    """Return runs of equal cards in the order of the bus, each vendor's apart."""
    groups = []
    numbers: dict[Vendor, int] = {}
    runs = groupby(cards, key=lambda pair: (pair[0].vendor, _label(*pair), _usable(*pair), pair[1]))
    for (vendor, label, usable, row), run in runs:
        members = tuple(card for card, _ in run)
        first = numbers.get(vendor, 0)
        numbers[vendor] = first + len(members)
        groups.append(
            CardGroup(
                label=label,
                usable_bytes=usable,
                free_count=_free_count(members, usable),
                bytes_per_second=None if row is None else row.bytes_per_second,
                device=f"{vendor.value}{first}",
                source=None if row is None else row.source,
                cards=members,
            )
        )
    return tuple(groups)


def _unified_group(card: Card, row: CardFacts | None) -> CardGroup:
    return CardGroup(
        label=_label(card, row),
        usable_bytes=0,
        free_count=None,
        bytes_per_second=None if row is None else row.bytes_per_second,
        device=f"{card.vendor.value}0",
        source=None if row is None else row.source,
        cards=(card,),
    )


def _usable(card: Card, row: CardFacts | None) -> int:
    return (_memory_of(card, row) or 0) - card.reserved_bytes


def _free_count(cards: tuple[Card, ...], usable: int) -> int | None:
    """Return how many cards have their whole budget unused, None where not all say what is used."""
    budget = usable - GPU_RESERVE.bytes_of(usable)
    used = [card.used_bytes for card in cards if card.used_bytes is not None]
    return sum(usable - amount >= budget for amount in used) if len(used) == len(cards) else None


def _label(card: Card, row: CardFacts | None) -> str:
    """Return the class of a card: the table's, or its name with its size, as classes are written."""
    memory = _memory_of(card, row)
    if row is not None and (not row.unified or _works_in_host(card, row)):
        return row.label
    if row is not None:
        return f"{row.label}-{_gibibytes(memory or 0)}g"
    slug = "-".join(re.findall(r"[a-z0-9]+", card.name.lower()))[:60] or "card"
    return slug if memory is None else f"{slug}-{_gibibytes(memory)}g"


def _gibibytes(size_bytes: int) -> int:
    return max(round(size_bytes / GIB), 1)


def _left_out(card: Card, row: CardFacts | None, beside_cards: bool) -> Iterator[str]:
    """Yield why a card or a chip is not in the node."""
    where = f"{card.name} at {card.pci}" if card.pci else card.name
    if _has_own_memory(card, row):
        return
    if not _works_in_host(card, row):
        yield (
            f"{where} is not listed: nothing tells a memory of its own. Integrated graphics work in the host's memory, "
            "which is counted already; a card is listed by hand."
        )
    elif beside_cards:
        yield f"{where} is not listed: it works in the host's memory, which is counted once, as the host's."
    else:
        most = "" if card.ceiling_bytes is None else f" and a ceiling of {exact_size(card.ceiling_bytes)}"
        yield (
            f"{where} is not listed: it works in the host's memory, which is counted once, as the host's. To place "
            f"blocks on it, write unified = true{most}."
        )


def _node_name(host_name: str) -> str:
    """Return the first label of a host name in the characters that a node may have."""
    label = re.sub(r"[^A-Za-z0-9_-]+", "-", host_name.partition(".")[0]).strip("-")[:60]
    return _UNNAMED if label.lower() in _NO_NAMES else label
