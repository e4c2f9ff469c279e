"""What a model's files hold, as a document: `layerfit/inventory/1`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from solver.report.model_json import model_document
from tensors.inventory import Role
from tensors.packing import parameter_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensors.inventory import Inventory

__all__ = ["SCHEMA", "Sum", "inventory_document", "role_sums", "tensor_documents", "type_sums"]

SCHEMA = "layerfit/inventory/1"


@dataclass(frozen=True, slots=True)
class Sum:
    """What some tensors of a model add up to."""

    tensors: int
    size_bytes: int
    parameters: int


def role_sums(inventory: Inventory) -> dict[str, Sum]:
    """Return what each role adds up to, in the order in which roles are listed, those without tensors left out."""
    return _sums_by_role(inventory, parameter_counts(inventory))


def type_sums(inventory: Inventory) -> dict[str, Sum]:
    """Return what each type adds up to, the type of most bytes first."""
    return _sums_by_type(inventory, parameter_counts(inventory))


def inventory_document(inventory: Inventory) -> dict[str, Any]:
    """Return the document of an inventory: its model, blocks, roles, types and files."""
    parameters = parameter_counts(inventory)
    return {
        "schema": SCHEMA,
        "model": model_document(inventory),
        "blocks": [
            {
                "index": block.index,
                "kind": str(block.part),
                "weight_bytes": block.weight_bytes,
                "expert_bytes": block.expert_bytes,
                "tensors": block.tensors,
            }
            for block in inventory.blocks()
        ],
        "roles": {name: _sum_document(total) for name, total in _sums_by_role(inventory, parameters).items()},
        "types": {name: _sum_document(total) for name, total in _sums_by_type(inventory, parameters).items()},
        "files": [
            {
                "name": file.name,
                "bytes": file.size_bytes,
                "header_bytes": file.header_bytes,
                "tensor_bytes": file.tensor_bytes,
                "padding_bytes": file.padding_bytes,
            }
            for file in inventory.files
        ],
        "notes": list(inventory.notes),
    }


def tensor_documents(inventory: Inventory) -> list[dict[str, Any]]:
    """Return every tensor in the order of the files; `file` is an index into the document's files."""
    return [
        {
            "name": tensor.name,
            "shape": list(tensor.shape),
            "type": tensor.type,
            "bytes": tensor.size_bytes,
            "file": tensor.file,
            "offset": tensor.offset,
            "part": str(tensor.part),
            "role": str(tensor.role),
            "block": tensor.block,
        }
        for tensor in inventory.tensors
    ]


def _sums_by_role(inventory: Inventory, parameters: Sequence[int]) -> dict[str, Sum]:
    sums = _sums(inventory, parameters, [str(tensor.role) for tensor in inventory.tensors])
    return {str(role): sums[role] for role in Role if role in sums}


def _sums_by_type(inventory: Inventory, parameters: Sequence[int]) -> dict[str, Sum]:
    sums = _sums(inventory, parameters, [tensor.type for tensor in inventory.tensors])
    return dict(sorted(sums.items(), key=lambda entry: (-entry[1].size_bytes, entry[0])))


def _sums(inventory: Inventory, parameters: Sequence[int], names: Sequence[str]) -> dict[str, Sum]:
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for tensor, count, name in zip(inventory.tensors, parameters, names, strict=True):
        total = counts[name]
        total[0] += 1
        total[1] += tensor.size_bytes
        total[2] += count
    return {name: Sum(*total) for name, total in counts.items()}


def _sum_document(total: Sum) -> dict[str, int]:
    return {"tensors": total.tensors, "bytes": total.size_bytes, "parameters": total.parameters}
