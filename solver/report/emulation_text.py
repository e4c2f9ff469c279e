"""Where a command line puts a model, as text for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.amounts import Scale, count, scale_for, size
from solver.report.columns import columns, fact_lines
from solver.report.emulation_tables import blocks_of, holds_head
from solver.report.terminal import Cell, Paint, Style, Styled, sentence_lines

if TYPE_CHECKING:
    from solver.engines.llamacpp.emulation import Emulation
    from solver.engines.llamacpp.facts import DeviceBytes, Settings

__all__ = ["emulation_text"]

_TITLES = ("device", "blocks", "head", "model", "cache", "state", "compute", "output", "together", "free")
_TEXT_COLUMNS = 3
_NOT_PREDICTED = "?"


def emulation_text(emulation: Emulation, paint: Paint) -> str:
    """Return the context, the bytes of every device, what may come to them, and notes."""
    rows = emulation.rows
    scale = scale_for(max(_together(row)[1] for row in rows))
    sizes = len(_TITLES) if any(_free(emulation, row) is not None for row in rows) else len(_TITLES) - 1
    table: list[list[Cell]] = [[Styled(title, Style.TITLE) for title in _TITLES[:sizes]]]
    table += [_row(emulation, row, scale)[:sizes] for row in rows]
    lines = [
        *sentence_lines(emulation.inventory.name, paint, indent=0, style=Style.TITLE),
        "",
        *fact_lines(_facts(emulation, scale), paint),
        "",
        *columns(table, range(_TEXT_COLUMNS, sizes), paint),
    ]
    if emulation.beside:
        lines += ["", *columns(_beside(emulation), frozenset(), paint)]
    if emulation.notes:
        lines += [""]
        lines += [line for note in emulation.notes for line in sentence_lines(f"Note: {note}", paint, indent=6)]
    return "\n".join(lines) + "\n"


def _facts(emulation: Emulation, scale: Scale) -> list[tuple[str, str]]:
    settings = emulation.settings
    fused = {"auto": "fused where devices can", "on": "fused", "off": "not fused"}[settings.flash_attention]
    facts = [
        ("program", f"{settings.program} as of build {emulation.profile.build}"),
        ("context", _context(settings)),
        ("caches", f"K in {settings.type_k.name}, V in {settings.type_v.name}; attention {fused}"),
        ("batch", f"{settings.batch_tokens:,} tokens, {settings.micro_batch_tokens:,} at once"),
        ("sizes", f"in {scale.unit}"),
    ]
    mapped = emulation.rows[-1].mapped_bytes
    if mapped is not None:
        facts.append(("mapped", f"{scale.amount(mapped)} of the files, as file cache of the host"))
    return facts


def _context(settings: Settings) -> str:
    sequences = count(settings.sequences, "sequence")
    if settings.unified:
        return f"{settings.context_tokens:,} tokens that {sequences} share"
    return f"{settings.context_tokens:,} tokens: {sequences} of {settings.sequence_tokens:,}"


def _row(emulation: Emulation, row: DeviceBytes, scale: Scale) -> list[Cell]:
    low, high = _together(row)
    free = _free(emulation, row)
    compute = _NOT_PREDICTED if row.compute_bytes is None else _interval(*row.compute_bytes, scale)
    together = f"{scale.number(low)} + ?" if row.compute_bytes is None else _interval(low, high, scale)
    too_much = free is not None and low > free
    return [
        row.name,
        blocks_of(emulation, row.name),
        "head" if holds_head(emulation, row.name) else "",
        *(scale.number(part) for part in (row.model_bytes, row.cache_bytes, row.state_bytes)),
        compute,
        scale.number(row.output_bytes),
        Styled(together, Style.BAD) if too_much else together,
        "" if free is None else scale.number(free),
    ]


def _together(row: DeviceBytes) -> tuple[int, int]:
    """Return the least and the most that a device holds; without a prediction of compute buffers, all the rest."""
    held = row.model_bytes + row.cache_bytes + row.state_bytes + row.output_bytes
    low, high = row.compute_bytes or (0, 0)
    return held + low, held + high


def _free(emulation: Emulation, row: DeviceBytes) -> int | None:
    devices = {device.name: device.free_bytes for device in emulation.assignment.devices}
    return devices.get(row.name, emulation.host_free_bytes if row is emulation.rows[-1] else None)


def _interval(low: int, high: int, scale: Scale) -> str:
    shown = scale.number(low), scale.number(high)
    return shown[0] if shown[0] == shown[1] else "–".join(shown)


def _beside(emulation: Emulation) -> list[list[Cell]]:
    rows: list[list[Cell]] = [[Styled(title, Style.TITLE) for title in ("beside", "device", "least", "most")]]
    rows += [
        [beside.what, beside.device, size(beside.low_bytes), size(beside.high_bytes)] for beside in emulation.beside
    ]
    return rows
