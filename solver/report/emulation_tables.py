"""The devices of an emulation as a table of exact numbers, for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.amounts import ranges
from solver.report.emulation_json import slot_names
from solver.report.table import Table

if TYPE_CHECKING:
    from solver.engines.llamacpp.emulation import Emulation

__all__ = ["blocks_of", "emulation_table", "holds_head"]


def blocks_of(emulation: Emulation, name: str) -> str:
    """Return the blocks whose slots are on a device, as "0–3, 7"."""
    names = slot_names(emulation)
    return ranges(slot for slot, device in enumerate(names[:-1]) if device == name)


def holds_head(emulation: Emulation, name: str) -> bool:
    """Return whether a device has the slot of the head."""
    return slot_names(emulation)[-1] == name


def emulation_table(emulation: Emulation) -> Table:
    """Return the bytes of every device; what is not predicted or does not apply is empty."""
    rows = tuple(
        (
            row.name,
            blocks_of(emulation, row.name),
            "yes" if holds_head(emulation, row.name) else "no",
            row.model_bytes,
            row.cache_bytes,
            row.state_bytes,
            None if row.compute_bytes is None else row.compute_bytes[0],
            None if row.compute_bytes is None else row.compute_bytes[1],
            row.output_bytes,
            row.mapped_bytes,
        )
        for row in emulation.rows
    )
    return Table(
        columns=(
            "device",
            "blocks",
            "head",
            "model_bytes",
            "cache_bytes",
            "state_bytes",
            "compute_low_bytes",
            "compute_high_bytes",
            "output_bytes",
            "mapped_bytes",
        ),
        rows=rows,
    )
