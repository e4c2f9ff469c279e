"""Tensor sizes, architecture and cache terms of a model, from the headers of its files and never from the weights."""

from tensors.architecture import Architecture, Experts, MissingFact
from tensors.cache import CacheKind, CacheTerm
from tensors.errors import ArchitectureError, FormatError, SourceError, TensorsError, UnitError
from tensors.inventory import BlockSummary, Inventory, ModelFile, Part, Role, Tensor
from tensors.read import read

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
