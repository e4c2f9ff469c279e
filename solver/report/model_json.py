"""A model's summary as it stands in every document that speaks of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensors.packing import parameter_counts

if TYPE_CHECKING:
    from tensors.inventory import Inventory

__all__ = ["model_document"]


def model_document(inventory: Inventory) -> dict[str, Any]:
    """Return the `model` object of a plan and of an inventory: counts and exact bytes."""
    return {
        "name": inventory.name,
        "architecture": inventory.architecture.family,
        "files": [{"name": file.name, "bytes": file.size_bytes} for file in inventory.files],
        "tensors": len(inventory.tensors),
        "parameters": sum(parameter_counts(inventory)),
        "weight_bytes": inventory.weight_bytes,
        "trunk_blocks": inventory.trunk_blocks,
        "nextn_blocks": inventory.nextn_blocks,
        "tied": inventory.tied,
        "complete": inventory.complete,
    }
