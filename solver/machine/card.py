"""A card or an integrated graphics chip as its driver reports it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.machine.machine import Machine

__all__ = ["Card", "DrmDevice", "Vendor", "address_of", "drm_devices", "json_in"]

_ADDRESS: Final = re.compile(r"(?:[0-9a-f]{4})?([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", re.ASCII)
_CARD_FOLDER: Final = re.compile(r"card[0-9]{1,4}", re.ASCII)
_NUMBER: Final = re.compile(r"0x([0-9a-f]{4})", re.ASCII)
_SLOT: Final = re.compile(r"^PCI_SLOT_NAME=(.*)$", re.MULTILINE)


class Vendor(StrEnum):
    """Who made a card; the value is the name that llama.cpp has for devices of its driver."""

    NVIDIA = "CUDA"
    AMD = "ROCm"
    INTEL = "SYCL"
    APPLE = "MTL"


@dataclass(frozen=True, slots=True)
class Card:
    """What a driver reports.

    `pci` is the address such as 0000:01:00.0, `kind` the vendor and device such as 10de:2684; both may be empty.
    `memory_bytes` is of its own, as soldered on: None where it has none or does not say. Driver and firmware keep
    `reserved_bytes` of it. `in_host`: it works in the host's memory (None: not known), of which it may take
    `ceiling_bytes` (None: no bound is known). `remarks` say where the figures are from.
    """

    vendor: Vendor
    name: str
    pci: str
    kind: str
    memory_bytes: int | None
    reserved_bytes: int
    used_bytes: int | None
    in_host: bool | None
    ceiling_bytes: int | None
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DrmDevice:
    """A graphics device of the Linux kernel: its folder, and vendor, device and address on the bus."""

    folder: str
    vendor: str
    device: str
    pci: str


def drm_devices(machine: Machine, vendor: str) -> Iterator[DrmDevice]:
    """Yield the graphics devices of a vendor ("10de", "1002", "8086"), each once."""
    for name in machine.names("/sys/class/drm"):
        if not _CARD_FOLDER.fullmatch(name):
            continue
        folder = f"/sys/class/drm/{name}/device"
        made_by, device = (
            _NUMBER.fullmatch((machine.text(f"{folder}/{key}") or "").strip().lower()) for key in ("vendor", "device")
        )
        if made_by is None or device is None or made_by[1] != vendor:
            continue
        slot = _SLOT.search(machine.text(f"{folder}/uevent") or "")
        yield DrmDevice(folder, vendor, device[1], "" if slot is None else address_of(slot[1]))


def address_of(text: str) -> str:
    """Return an address on the PCI bus as the kernel writes it, empty where text is none."""
    match = _ADDRESS.fullmatch(text.strip().lower())
    return "" if match is None else match[1]


def json_in(text: str | None) -> object:
    """Return the JSON document in what a command wrote, behind warnings that may stand before it; None for none."""
    if text is None:
        return None
    starts = [start for start in (text.find("{"), text.find("[")) if start >= 0]
    try:
        return json.loads(text[min(starts) :]) if starts else None
    except (ValueError, RecursionError):
        return None
