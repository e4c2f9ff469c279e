"""All tensors of a model, every part of it: the facts that headers give, and nothing estimated."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensors.architecture import Architecture

__all__ = ["BlockSummary", "Inventory", "ModelFile", "Part", "Role", "Tensor"]


class Part(StrEnum):
    """Where in the chain of blocks a tensor belongs."""

    INPUT = "input"
    TRUNK = "trunk"
    NEXTN = "nextn"
    HEAD = "head"
    OTHER = "other"


class Role(StrEnum):
    """What a tensor does inside its part."""

    EMBEDDING = "embedding"
    OUTPUT = "output"
    NORM = "norm"
    ATTENTION = "attention"
    INDEXER = "indexer"
    RECURRENT = "recurrent"
    FEED_FORWARD = "feed_forward"
    ROUTER = "router"
    ROUTED_EXPERT = "routed_expert"
    SHARED_EXPERT = "shared_expert"
    NEXTN = "nextn"
    VISION = "vision"
    AUDIO = "audio"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Tensor:
    """One named array in a model file.

    `shape` is outermost first, as numpy has it (the reverse of the order in a GGUF header); `file` is an index into
    `Inventory.files`; `offset` counts from the start of that file; `block` is the number the file gives (trunk blocks
    come first, nextn blocks after them), None for tensors of no block.
    """

    name: str
    shape: tuple[int, ...]
    type: str
    size_bytes: int
    file: int
    offset: int
    part: Part
    role: Role
    block: int | None

    @property
    def elements(self) -> int:
        """Return how many stored values the tensor has."""
        product = 1
        for extent in self.shape:
            product *= extent
        return product


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model: header_bytes + padding_bytes + tensor_bytes = size_bytes + missing_bytes.

    `size_bytes` is what is there; `missing_bytes` what a sound header promises and the file lacks at its end.
    """

    name: str
    size_bytes: int
    header_bytes: int
    tensor_bytes: int
    padding_bytes: int
    missing_bytes: int


@dataclass(frozen=True, slots=True)
class BlockSummary:
    """Bytes of one block; `expert_bytes` counts its routed experts alone."""

    index: int
    part: Part
    weight_bytes: int
    expert_bytes: int
    tensors: int


@dataclass(frozen=True, slots=True)
class Inventory:
    """All tensors of a model with its files and its architecture.

    `header_sha256` is taken over the header bytes of every file in order; `tied` says that the head has no matrix of
    its own and uses the input's; `notes` are sentences for a person.
    """

    name: str
    format: str
    files: tuple[ModelFile, ...]
    tensors: tuple[Tensor, ...]
    trunk_blocks: int
    nextn_blocks: int
    tied: bool
    architecture: Architecture
    header_sha256: str
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Return whether every byte that the headers promise is there."""
        return all(file.missing_bytes == 0 for file in self.files)

    @property
    def weight_bytes(self) -> int:
        """Return the bytes of all tensors in the files."""
        return sum(tensor.size_bytes for tensor in self.tensors)

    def part_bytes(self, part: Part) -> int:
        """Return the bytes of all tensors of one part."""
        return sum(tensor.size_bytes for tensor in self.tensors if tensor.part is part)

    def blocks(self) -> tuple[BlockSummary, ...]:
        """Return a summary of every block, trunk blocks first, in the order of their numbers."""
        count = self.trunk_blocks + self.nextn_blocks
        weight, expert, tensors = [0] * count, [0] * count, [0] * count
        for tensor in self.tensors:
            if tensor.block is None:
                continue
            weight[tensor.block] += tensor.size_bytes
            tensors[tensor.block] += 1
            if tensor.role is Role.ROUTED_EXPERT:
                expert[tensor.block] += tensor.size_bytes
        return tuple(
            BlockSummary(
                index=index,
                part=Part.TRUNK if index < self.trunk_blocks else Part.NEXTN,
                weight_bytes=weight[index],
                expert_bytes=expert[index],
                tensors=tensors[index],
            )
            for index in range(count)
        )
