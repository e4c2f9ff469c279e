"""The tables of an inventory, one for each way to look at it; every number is exact."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from solver.report.inventory_json import role_sums, type_sums
from solver.report.table import Table
from tensors.inventory import Part

if TYPE_CHECKING:
    from solver.report.inventory_json import Sum
    from tensors.inventory import Inventory

__all__ = ["View", "inventory_table"]


class View(StrEnum):
    """How the tensors of a model are taken together."""

    BLOCK = "block"
    ROLE = "role"
    TYPE = "type"
    TENSOR = "tensor"
    FILE = "file"


def inventory_table(inventory: Inventory, view: View) -> Table:
    """Return the table of one view."""
    match view:
        case View.BLOCK:
            return _blocks(inventory)
        case View.ROLE:
            return _sums("role", role_sums(inventory))
        case View.TYPE:
            return _sums("type", type_sums(inventory))
        case View.TENSOR:
            return _tensors(inventory)
        case View.FILE:
            return _files(inventory)


def _blocks(inventory: Inventory) -> Table:
    """Blocks in order, with what stands before and after them, so that the column of bytes adds up to the model."""
    counts = {part: sum(tensor.part is part for tensor in inventory.tensors) for part in Part}
    ends = {
        part: (None, str(part), inventory.part_bytes(part), 0, counts[part])
        for part in (Part.INPUT, Part.HEAD, Part.OTHER)
    }
    blocks = [
        (block.index, str(block.part), block.weight_bytes, block.expert_bytes, block.tensors)
        for block in inventory.blocks()
    ]
    after = [ends[part] for part in (Part.HEAD, Part.OTHER) if counts[part]]
    before = [ends[Part.INPUT]] if counts[Part.INPUT] else []
    return Table(columns=("block", "part", "weight_bytes", "expert_bytes", "tensors"), rows=(*before, *blocks, *after))


def _sums(name: str, sums: dict[str, Sum]) -> Table:
    return Table(
        columns=(name, "tensors", "weight_bytes", "parameters"),
        rows=tuple((key, total.tensors, total.size_bytes, total.parameters) for key, total in sums.items()),
    )


def _tensors(inventory: Inventory) -> Table:
    return Table(
        columns=("tensor", "shape", "type", "weight_bytes", "part", "role", "block", "file", "offset"),
        rows=tuple(
            (
                tensor.name,
                " × ".join(map(str, tensor.shape)),
                tensor.type,
                tensor.size_bytes,
                str(tensor.part),
                str(tensor.role),
                tensor.block,
                inventory.files[tensor.file].name,
                tensor.offset,
            )
            for tensor in inventory.tensors
        ),
    )


def _files(inventory: Inventory) -> Table:
    return Table(
        columns=("file", "size_bytes", "header_bytes", "tensor_bytes", "padding_bytes", "missing_bytes"),
        rows=tuple(
            (
                file.name,
                file.size_bytes,
                file.header_bytes,
                file.tensor_bytes,
                file.padding_bytes,
                file.missing_bytes,
            )
            for file in inventory.files
        ),
    )
