"""What a model's files hold, as text for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.columns import fact_lines
from solver.report.inventory_tables import View, inventory_table
from solver.report.table_text import table_lines
from solver.report.terminal import Style, sentence_lines
from tensors.inventory import Part
from tensors.packing import parameter_counts
from tensors.units import format_bytes

if TYPE_CHECKING:
    from solver.report.terminal import Paint
    from tensors.inventory import Inventory

__all__ = ["inventory_text"]

_BARS = {View.BLOCK: "weight_bytes", View.ROLE: "weight_bytes", View.TYPE: "weight_bytes", View.FILE: "tensor_bytes"}


def inventory_text(inventory: Inventory, view: View, paint: Paint) -> str:
    """Return the facts of the model, what of it is placed, and one of its tables.

    In which file a tensor is, and where, is shown where lines have room for it.
    """
    table = inventory_table(inventory, view)
    lines = [
        *sentence_lines(inventory.name, paint, indent=0, style=Style.TITLE),
        "",
        *fact_lines([*_facts(inventory), *_placed(inventory)], paint),
        "",
        *table_lines(table, _BARS.get(view), paint, spare=2 if view is View.TENSOR else 0),
    ]
    if inventory.notes:
        lines += [""]
        lines += [line for note in inventory.notes for line in sentence_lines(f"Note: {note}", paint, indent=6)]
    return "\n".join(lines) + "\n"


def _facts(inventory: Inventory) -> list[tuple[str, str]]:
    architecture = inventory.architecture
    parameters = sum(parameter_counts(inventory))
    facts = [
        ("format", f"{inventory.format}, {_files(inventory)}"),
        ("architecture", architecture.family),
        ("weights", f"{format_bytes(inventory.weight_bytes)} ({inventory.weight_bytes:,} bytes)"),
        ("parameters", _per_parameter(parameters, inventory.weight_bytes)),
        ("blocks", f"{inventory.trunk_blocks} trunk, {inventory.nextn_blocks} nextn"),
    ]
    if architecture.context_tokens is not None:
        facts.append(("trained for", f"{architecture.context_tokens:,} tokens"))
    if architecture.experts is not None:
        experts = architecture.experts
        facts.append(("experts", f"{experts.routed} routed, {experts.used} of them a token, {experts.shared} shared"))
    return facts


def _placed(inventory: Inventory) -> list[tuple[str, str]]:
    """Say what a plan places, and what it leaves out unless it is asked for."""
    nextn_bytes = inventory.part_bytes(Part.NEXTN)
    ends = [str(part) for part in (Part.INPUT, Part.HEAD, Part.OTHER) if inventory.part_bytes(part)]
    blocks = _count(inventory.trunk_blocks, "trunk block")
    resident = f"{format_bytes(inventory.weight_bytes - nextn_bytes)}: {', '.join([blocks, *ends])}"
    if inventory.tied:
        resident += "; the head is tied to the input"
    facts = [("resident", resident)]
    if inventory.nextn_blocks:
        left_out = f"{format_bytes(nextn_bytes)}: {_count(inventory.nextn_blocks, 'nextn block')}, unless asked for"
        facts.append(("not resident", left_out))
    return facts


def _files(inventory: Inventory) -> str:
    total = sum(file.size_bytes for file in inventory.files)
    complete = "complete" if inventory.complete else "not complete"
    return f"{_count(len(inventory.files), 'file')} of {format_bytes(total)}, {complete}"


def _per_parameter(parameters: int, weight_bytes: int) -> str:
    if parameters == 0:
        return "0"
    bits = weight_bytes * 8 / parameters
    return f"{parameters:,}, {bits:.3f} bits ({bits / 8:.4f} bytes) each"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
