"""Cards of NVIDIA, by the driver's library or its command, and chips whose graphics work in the host's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from solver.machine.card import Card, Vendor, address_of, drm_devices
from solver.machine.machine import LibraryCard, natural
from solver.wording import exact_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.machine.card import DrmDevice
    from solver.machine.machine import Machine

__all__ = ["nvidia_cards"]

_MIB: Final = 2**20

_FIELDS: Final = ("name", "pci.bus_id", "memory.total", "memory.reserved", "memory.used", "mig.mode.current")
_OLD_FIELDS: Final = ("name", "pci.bus_id", "memory.total", "memory.used")
"""What drivers before 470 know; they refuse the whole question for one unknown field."""


def nvidia_cards(machine: Machine) -> tuple[tuple[Card, ...], tuple[str, ...]]:
    """Return the cards in the order of the bus, and remarks on those that are there and cannot be listed."""
    board = (machine.text("/proc/device-tree/model") or "").strip("\0 \n")
    if "jetson" in board.lower():
        remark = f"/proc/device-tree/model says {board}, whose graphics work in the host's memory."
        return (Card(Vendor.NVIDIA, board, "", "", None, 0, None, True, None, (remark,)),), ()
    listed = _listed(machine)
    cards = tuple(_card(card, source) for card, source in listed if not card.divided)
    remarks = [_divided(card) for card, _ in listed if card.divided]
    if not listed:
        remarks += [_without_driver(device) for device in drm_devices(machine, "10de")]
    return cards, tuple(remarks)


def _divided(card: LibraryCard) -> str:
    size = "" if card.memory_bytes is None else f" of {exact_size(card.memory_bytes)}"
    return (
        f"{card.name} at {address_of(card.pci)}{size} is not listed: MIG divides it, and a program sees one instance. "
        "Write each instance that is used as a card."
    )


def _without_driver(device: DrmDevice) -> str:
    return (
        f"A card of NVIDIA at {device.pci or device.folder} is not listed: neither NVML nor nvidia-smi answers, "
        "and nothing else tells its memory. Install the driver, or write the card by hand."
    )


def _listed(machine: Machine) -> tuple[tuple[LibraryCard, str], ...]:
    """Return what the driver lists in the order of the bus, by its library or its command, with the name of that."""
    library = machine.nvidia_library()
    cards, source = (tuple(_by_command(machine)), "nvidia-smi") if library is None else (library, "NVML")
    return tuple((card, source) for card in sorted(cards, key=lambda card: address_of(card.pci)))


def _by_command(machine: Machine) -> Iterator[LibraryCard]:
    for fields in (_FIELDS, _OLD_FIELDS):
        table = machine.output("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits")
        if table is None:
            continue
        for line in table.splitlines():
            # Only a name could have a comma of its own, and it stands first.
            cells = [cell.strip() for cell in line.rsplit(",", len(fields) - 1)]
            if len(cells) != len(fields):
                continue
            row = dict(zip(fields, cells, strict=True))
            yield LibraryCard(
                name=row["name"],
                pci=row["pci.bus_id"],
                memory_bytes=_mebibytes(row["memory.total"]),
                reserved_bytes=_mebibytes(row.get("memory.reserved", "")) or 0,
                used_bytes=_mebibytes(row["memory.used"]),
                divided=row.get("mig.mode.current") == "Enabled",
            )
        return


def _card(listed: LibraryCard, source: str) -> Card:
    if listed.memory_bytes is None:
        remark = f"{source} reports no memory of its own."
    else:
        kept = ""
        if listed.reserved_bytes:
            kept = f", of which driver and firmware keep {exact_size(listed.reserved_bytes)}"
        remark = f"{source} reports {exact_size(listed.memory_bytes)}{kept}."
    return Card(
        vendor=Vendor.NVIDIA,
        name=listed.name,
        pci=address_of(listed.pci),
        kind="",
        memory_bytes=listed.memory_bytes,
        reserved_bytes=min(listed.reserved_bytes, listed.memory_bytes or 0),
        used_bytes=listed.used_bytes,
        in_host=None,
        ceiling_bytes=None,
        remarks=(remark,),
    )


def _mebibytes(cell: str) -> int | None:
    amount = natural(cell)
    return None if amount is None else amount * _MIB
