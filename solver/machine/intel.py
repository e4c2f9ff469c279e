"""Graphics of Intel: cards by the kernel's drivers, which tell their memory only sometimes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from solver.machine.card import Card, Vendor, drm_devices
from solver.machine.machine import number_in
from solver.wording import exact_size

if TYPE_CHECKING:
    from solver.machine.card import DrmDevice
    from solver.machine.machine import Machine

__all__ = ["intel_cards"]


def intel_cards(machine: Machine) -> tuple[Card, ...]:
    """Return cards and integrated graphics in the order of the bus; what has no memory that is told may be either."""
    cards = [_card(machine, device) for device in drm_devices(machine, "8086")]
    return tuple(sorted(cards, key=lambda card: card.pci))


def _card(machine: Machine, device: DrmDevice) -> Card:
    # xe writes a figure for each tile.
    tiles = [name for name in machine.names(device.folder) if re.fullmatch(r"tile[0-9]{1,2}", name)]
    sizes = [number_in(machine, f"{device.folder}/{tile}/physical_vram_size_bytes") or 0 for tile in tiles]
    memory = sum(sizes) or None
    remarks = () if memory is None else (f"xe reports {exact_size(memory)} (physical_vram_size_bytes).",)
    return Card(
        vendor=Vendor.INTEL,
        name=f"Intel {device.vendor}:{device.device}",
        pci=device.pci,
        kind=f"{device.vendor}:{device.device}",
        memory_bytes=memory,
        reserved_bytes=0,
        used_bytes=None,
        in_host=None if memory is None else False,
        ceiling_bytes=None,
        remarks=remarks,
    )
