"""A host's memory: what the system manages, what of it is taken for good, and what is unused now."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from solver.errors import InputError
from solver.machine.limits import control_group_limit, is_wsl, wsl_setting
from solver.machine.machine import natural
from solver.wording import exact_size

if TYPE_CHECKING:
    from solver.machine.machine import Machine

__all__ = ["HostMemory", "host_memory"]

_MOST_BYTES: Final = 2**50
"""As much as a cluster file may say."""

_KILOBYTES: Final = re.compile(r"^([A-Za-z_()]+): +([0-9]{1,15}) kB$", re.ASCII | re.MULTILINE)
_PAGE_SIZE: Final = re.compile(r"page size of ([0-9]{1,7}) bytes", re.ASCII)
_PAGES: Final = re.compile(r"^Pages (free|inactive|speculative|purgeable): +([0-9]{1,15})\.$", re.ASCII | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class HostMemory:
    """`usable_bytes` may be used by programs, before any reserve; `remarks` say how it came about, byte for byte."""

    usable_bytes: int
    free_bytes: int | None
    remarks: tuple[str, ...]


def host_memory(machine: Machine, *, holds_cards: bool) -> HostMemory:
    """Return the memory of a host. `holds_cards`: the system counts the memory of its cards as its own.

    A Grace Hopper or Grace Blackwell host brings the memory of its cards on line as NUMA nodes that have no processors,
    so that MemTotal counts it once more.

    Raises:
        InputError: nothing says how much there is.
    """
    if machine.system == "Darwin":
        found = _of_mac(machine)
    elif machine.system == "Windows":
        found = _of_windows(machine)
    else:
        found = _of_linux(machine, holds_cards=holds_cards)
    if found is None or not 0 < found.usable_bytes <= _MOST_BYTES:
        raise InputError(
            "this machine",
            "its memory cannot be read; expected /proc/meminfo, sysctl hw.memsize or Win32_ComputerSystem. "
            "Write the node by hand.",
        )
    return found


def _of_linux(machine: Machine, *, holds_cards: bool) -> HostMemory | None:
    rows = {name: 1024 * int(kilobytes) for name, kilobytes in _KILOBYTES.findall(machine.text("/proc/meminfo") or "")}
    total = rows.get("MemTotal")
    if total is None:
        return None
    remarks = [f"MemTotal of /proc/meminfo is {exact_size(total)}: what firmware and kernel leave of the modules."]
    if is_wsl(machine):
        remarks.append(_of_wsl(machine))
    usable, free = total, rows.get("MemAvailable")
    of_cards = _card_nodes(machine) if holds_cards else 0
    if 0 < of_cards < usable:
        # What is unused of it cannot be told apart either.
        usable, free = usable - of_cards, None
        remarks.append(
            f"{exact_size(of_cards)} of it are the cards' memory, on line as NUMA nodes without processors and counted "
            f"with the cards: {exact_size(usable)} remain."
        )
    huge = rows.get("Hugetlb", rows.get("Hugepagesize", 0) * _huge_pages(machine))
    if huge:
        usable = max(usable - huge, 0)
        remarks.append(
            f"{exact_size(huge)} of it are set aside as huge pages, which other memory cannot use: "
            f"{exact_size(usable)} remain. (llama.cpp with CUDA on a unified memory would use those pages alone.)"
        )
    limit = control_group_limit(machine)
    if limit is not None and limit.limit_bytes < usable:
        usable = limit.limit_bytes
        remarks.append(f"{limit.where} allows this process {exact_size(usable)} of it; that is what counts.")
    return HostMemory(usable, None if free is None else min(free, usable), tuple(remarks))


def _huge_pages(machine: Machine) -> int:
    """Return how many huge pages of the usual size are set aside; older kernels say no more."""
    match = re.search(r"^HugePages_Total: +([0-9]{1,12})$", machine.text("/proc/meminfo") or "", re.MULTILINE)
    return 0 if match is None else int(match[1])


def _of_wsl(machine: Machine) -> str:
    setting = wsl_setting(machine)
    said = "half of Windows' own by default"
    if setting is not None:
        said = f"{setting.where} gives it {exact_size(setting.limit_bytes)}"
    return f"That is the memory of the WSL virtual machine: {said}; [wsl2] memory= in .wslconfig changes it."


def _of_mac(machine: Machine) -> HostMemory | None:
    total = natural(machine.output("sysctl", "-n", "hw.memsize"))
    if total is None:
        return None
    statistics = machine.output("vm_stat") or ""
    size = _PAGE_SIZE.search(statistics)
    pages = sum(int(count) for _, count in _PAGES.findall(statistics))
    free = min(pages * int(size[1]), total) if size is not None and pages else None
    return HostMemory(total, free, (f"sysctl hw.memsize is {exact_size(total)}.",))


def _of_windows(machine: Machine) -> HostMemory | None:
    ask = "(Get-CimInstance Win32_ComputerSystem).TotalPhysicalMemory"
    total = natural(machine.output("powershell", "-NoProfile", "-NonInteractive", "-Command", ask))
    if total is None:
        return None
    return HostMemory(total, None, (f"Win32_ComputerSystem.TotalPhysicalMemory is {exact_size(total)}.",))


def _card_nodes(machine: Machine) -> int:
    """Return the bytes that the system lists as memory near no processor."""
    counted = 0
    for name in machine.names("/sys/devices/system/node"):
        folder = f"/sys/devices/system/node/{name}"
        if not re.fullmatch(r"node[0-9]{1,4}", name) or (machine.text(f"{folder}/cpulist") or "?").strip():
            continue
        match = re.search(r"MemTotal: +([0-9]{1,15}) kB", machine.text(f"{folder}/meminfo") or "", re.ASCII)
        counted += 0 if match is None else 1024 * int(match[1])
    return counted
