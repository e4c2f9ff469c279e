"""What may be used of a machine's memory where a container, a service or a virtual machine bounds it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from solver.errors import SolverError
from solver.machine.machine import natural
from tensors.errors import TensorsError
from tensors.units import parse_size_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.machine.machine import Machine

__all__ = ["Limit", "control_group_limit", "is_wsl", "wsl_setting"]

_DEEPEST: Final = 64
_MOST_PEOPLE: Final = 32
_CONTROLLERS: Final = "/sys/fs/cgroup"
_WSL_MEMORY: Final = re.compile(r"^\s*memory\s*=\s*([0-9]+)\s*(GB|MB)\s*$", re.ASCII | re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound in bytes and the file that states it."""

    limit_bytes: int
    where: str


def control_group_limit(machine: Machine) -> Limit | None:
    """Return the least limit of the control group that this process is in, and of those above it; None for none.

    Kernel documentation: admin-guide/cgroup-v2 (memory.max, "max" for none) and cgroup-v1/memory
    (memory.limit_in_bytes, a number near 2^63 for none). In a container the files of its own group stand at the root.
    """
    found = [
        Limit(limit, path)
        for path in _limit_files(machine.text("/proc/self/cgroup") or "")
        if (limit := natural(machine.text(path))) is not None and limit > 0
    ]
    return min(found, key=lambda limit: limit.limit_bytes, default=None)


def _limit_files(groups: str) -> Iterator[str]:
    """Yield the files of limits, from the group of the process up to the root, of both versions."""
    for line in groups.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if not controllers:
            root, name = _CONTROLLERS, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = f"{_CONTROLLERS}/memory", "memory.limit_in_bytes"
        else:
            continue
        steps = [step for step in group.split("/") if step not in ("", ".", "..")][:_DEEPEST]
        for depth in range(len(steps), -1, -1):
            yield "/".join((root, *steps[:depth], name))


def is_wsl(machine: Machine) -> bool:
    """Return whether the kernel is one of the Windows Subsystem for Linux."""
    return "microsoft" in (machine.text("/proc/sys/kernel/osrelease") or "").lower()


def wsl_setting(machine: Machine) -> Limit | None:
    """Return the memory that a person's .wslconfig gives to the virtual machine, None where none says so."""
    for person in machine.names("/mnt/c/Users")[:_MOST_PEOPLE]:
        path = f"/mnt/c/Users/{person}/.wslconfig"
        match = _WSL_MEMORY.search(machine.text(path) or "")
        if match is None:
            continue
        try:
            # Windows writes GB and means 2^30.
            unit = "GiB" if match[2].upper() == "GB" else "MiB"
            return Limit(parse_size_bytes(f"{match[1]} {unit}"), path)
        except (SolverError, TensorsError):
            continue
    return None
