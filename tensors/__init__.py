"""Tensor sizes, architecture and cache terms of a model, from the headers of its files and never from the weights."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensors.architecture import Architecture, Experts, MissingFact
    from tensors.cache import CacheKind, CacheTerm
    from tensors.errors import ArchitectureError, FormatError, SourceError, TensorsError, UnitError
    from tensors.inventory import BlockSummary, Inventory, ModelFile, Part, Role, Tensor
    from tensors.reader import read

__all__ = [
    "Architecture",
    "ArchitectureError",
    "BlockSummary",
    "CacheKind",
    "CacheTerm",
    "Experts",
    "FormatError",
    "Inventory",
    "MissingFact",
    "ModelFile",
    "Part",
    "Role",
    "SourceError",
    "Tensor",
    "TensorsError",
    "UnitError",
    "read",
]

# Looked up on first use: a command that only wants a unit should not pay for every reader.
_HOMES = {
    "tensors.architecture": ("Architecture", "Experts", "MissingFact"),
    "tensors.cache": ("CacheKind", "CacheTerm"),
    "tensors.errors": ("ArchitectureError", "FormatError", "SourceError", "TensorsError", "UnitError"),
    "tensors.inventory": ("BlockSummary", "Inventory", "ModelFile", "Part", "Role", "Tensor"),
    "tensors.reader": ("read",),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
