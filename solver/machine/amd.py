"""Cards and integrated graphics of AMD: bytes by the kernel's driver, names by ROCm's tools where they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from solver.machine.card import Card, DrmDevice, Vendor, address_of, drm_devices, json_in
from solver.machine.machine import natural, number_in
from solver.wording import exact_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.machine.machine import Machine

__all__ = ["amd_cards"]

_PAGE_BYTES: Final = 4096
_MIB: Final = 2**20

_VEGA_10: Final = range(0x6860, 0x6880)
"""Cards for which the driver has no mem_busy_percent either (drivers/gpu/drm/amd/pm/amdgpu_pm.c)."""


def amd_cards(machine: Machine) -> tuple[Card, ...]:
    """Return cards and integrated graphics in the order of the bus."""
    tools = {card.pci: card for card in (*_by_amd_smi(machine), *_by_rocm_smi(machine))}
    cards = {}
    for device in drm_devices(machine, "1002"):
        card = _by_kernel(machine, device)
        if card is not None:
            known = tools.get(card.pci)
            named = card.name if known is None or not known.name else known.name
            cards[card.pci or device.folder] = replace(card, name=named)
    # In a container the tools may be there without the kernel's files.
    cards = {pci: card for pci, card in tools.items() if card.memory_bytes is not None} | cards
    return tuple(replace(cards[pci], name=cards[pci].name or "AMD card") for pci in sorted(cards))


def _by_kernel(machine: Machine, device: DrmDevice) -> Card | None:
    """Return a device as amdgpu reports it: kernel documentation, gpu/amdgpu/driver-misc, "mem_info_*"."""
    own = number_in(machine, f"{device.folder}/mem_info_vram_total")
    mapped = number_in(machine, f"{device.folder}/mem_info_gtt_total")
    if own is None:
        return None
    remarks = [f"amdgpu reports {exact_size(own)} of its own (mem_info_vram_total)."]
    in_host, ceiling = False, None
    if _is_integrated(machine, device) and mapped is not None:
        in_host, ceiling, said = _shared(machine, own, mapped)
        remarks = [said]
    return Card(
        vendor=Vendor.AMD,
        name=(machine.text(f"{device.folder}/product_name") or "").strip() or f"AMD {device.vendor}:{device.device}",
        pci=device.pci,
        kind=f"{device.vendor}:{device.device}",
        memory_bytes=None if in_host else own,
        reserved_bytes=0,
        used_bytes=None if in_host else number_in(machine, f"{device.folder}/mem_info_vram_used"),
        in_host=in_host,
        ceiling_bytes=ceiling,
        remarks=tuple(remarks),
    )


def _is_integrated(machine: Machine, device: DrmDevice) -> bool:
    """Return whether graphics sit in the processor: the driver measures the traffic of a card's memory alone."""
    if int(device.device, 16) in _VEGA_10:
        return False
    return "mem_busy_percent" not in machine.names(device.folder)


def _shared(machine: Machine, own: int, mapped: int) -> tuple[bool, int | None, str]:
    """Return whether host memory is what it works in, how much of it, and why.

    Two amounts are its to use: a carve-out, which the host does not see, and what it may map of the host's memory
    (GTT). ROCm and the kernel take the larger one.
    """
    if own >= mapped:
        said = (
            f"integrated graphics with {exact_size(own)} carved out of the modules (mem_info_vram_total), which the "
            f"host does not see and which is counted here alone; {exact_size(mapped)} of host memory that it may map "
            "besides are left to the host."
        )
        return False, None, said
    pages = number_in(machine, "/sys/module/ttm/parameters/pages_limit")
    bound = mapped if pages is None else min(mapped, pages * _PAGE_BYTES)
    which = "mem_info_gtt_total" if bound == mapped else "ttm pages_limit"
    said = (
        f"integrated graphics that may map {exact_size(bound)} of host memory ({which}); its carve-out of "
        f"{exact_size(own)} is outside of what the host sees and is not counted. amdgpu.gttsize and ttm.pages_limit "
        "change the first, the firmware's setup the second."
    )
    return True, bound, said


def _by_rocm_smi(machine: Machine) -> Iterator[Card]:
    text = machine.output("rocm-smi", "--showproductname", "--showbus", "--showmeminfo", "vram", "--json")
    document = json_in(text)
    for card in (document if isinstance(document, dict) else {}).values():
        if not isinstance(card, dict):
            continue
        # The letter case of keys differs between versions.
        row = {str(key).lower(): str(value) for key, value in card.items()}
        pci = address_of(row.get("pci bus", ""))
        if pci:
            memory, used = (natural(row.get(f"vram total {key}(b)")) for key in ("memory ", "used memory "))
            yield _of_tool(row.get("card series", ""), pci, memory, used, "rocm-smi")


def _by_amd_smi(machine: Machine) -> Iterator[Card]:
    document = json_in(machine.output("amd-smi", "static", "--asic", "--bus", "--vram", "--json"))
    if isinstance(document, dict):
        document = document.get("gpu_data")
    for card in document if isinstance(document, list) else ():
        asic, bus, vram = (_table(card, key) for key in ("asic", "bus", "vram"))
        pci = address_of(str(bus.get("bdf", "")))
        if pci:
            # It writes MB and means 2^20.
            size = natural(str(_table(vram, "size").get("value", "")))
            memory = None if size is None else size * _MIB
            yield _of_tool(str(asic.get("market_name", "")), pci, memory, None, "amd-smi")


def _of_tool(name: str, pci: str, memory: int | None, used: int | None, source: str) -> Card:
    """Return a card as a tool names it; a number in place of a name is none."""
    said = () if memory is None else (f"{source} reports {exact_size(memory)}.",)
    named = "" if name.startswith("0x") or name in ("N/A", "AMD Radeon Graphics") else name
    return Card(Vendor.AMD, named, pci, "", memory, 0, used, False, None, said)


def _table(value: object, key: str) -> dict[str, object]:
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}
