"""Macs: a chip whose graphics work in the host's memory up to a wired limit, or cards of older ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from solver.machine.card import Card, Vendor, json_in
from solver.machine.machine import natural
from solver.wording import exact_size
from tensors.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.machine.machine import Machine

__all__ = ["mac_cards"]

_MIB: Final = 2**20
_SMALL: Final = 36 * GIB
_AMOUNT: Final = re.compile(r"([0-9]{1,6}) (GB|MB)", re.ASCII)


def mac_cards(machine: Machine) -> tuple[Card, ...]:
    """Return the graphics of a Mac; none on other systems."""
    if machine.system != "Darwin":
        return ()
    if natural(machine.output("sysctl", "-n", "hw.optional.arm64")) != 1:
        return tuple(_cards_of_old(machine))
    chip = (machine.output("sysctl", "-n", "machdep.cpu.brand_string") or "").strip() or "Apple"
    cores = next((str(row.get("sppci_cores", "")) for row in _displays(machine) if "sppci_cores" in row), "")
    name = f"{chip}, {cores} cores" if natural(cores) is not None else chip
    ceiling, said = _wired_limit(machine)
    return (Card(Vendor.APPLE, name, "", "", None, 0, None, True, ceiling, (said,)),)


def _wired_limit(machine: Machine) -> tuple[int | None, str]:
    """Return what Metal may take, and why.

    Where nothing is set, Metal's recommendedMaxWorkingSetSize is two thirds of a memory below 36 GiB and three quarters
    of a larger one (as reported for M1 to M3; newer systems allow large memories more, such as 84 % of 128 GiB).
    """
    set_mib = natural(machine.output("sysctl", "-n", "iogpu.wired_limit_mb"))
    if set_mib:
        return set_mib * _MIB, f"sysctl iogpu.wired_limit_mb is {set_mib}: {exact_size(set_mib * _MIB)}."
    total = natural(machine.output("sysctl", "-n", "hw.memsize"))
    if total is None:
        return None, "no wired limit is set, and the default cannot be told."
    share, ceiling = ("two thirds", total * 2 // 3) if total < _SMALL else ("three quarters", total * 3 // 4)
    return ceiling, (
        f"no wired limit is set, so Metal's default holds, taken as {share}: {exact_size(ceiling)}. A log of llama.cpp "
        "shows the true one as recommendedMaxWorkingSetSize; sudo sysctl iogpu.wired_limit_mb=… sets another."
    )


def _cards_of_old(machine: Machine) -> Iterator[Card]:
    for row in _displays(machine):
        name = str(row.get("sppci_model", "")).strip()
        match = _AMOUNT.fullmatch(str(row.get("spdisplays_vram", "")))
        if not name or match is None:
            continue
        # The system writes GB and means 2^30.
        memory = int(match[1]) * (GIB if match[2] == "GB" else _MIB)
        said = f"system_profiler reports {exact_size(memory)}."
        yield Card(Vendor.APPLE, name, "", "", memory, 0, None, False, None, (said,))


def _displays(machine: Machine) -> tuple[dict[str, object], ...]:
    document = json_in(machine.output("system_profiler", "SPDisplaysDataType", "-json"))
    rows = document.get("SPDisplaysDataType") if isinstance(document, dict) else None
    return tuple(row for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()
