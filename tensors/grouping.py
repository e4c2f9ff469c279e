"""Tensors of all files into the parts of a chain: input, trunk blocks, nextn blocks, head, other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tensors.inventory import Part, Role, Tensor
from tensors.naming import ReadName, Stack, read_name
from tensors.parts import listed
from tensors.text import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensors.architecture import Architecture
    from tensors.header import FileHeader

__all__ = ["Grouping", "group"]


class Grouping(NamedTuple):
    """All tensors in their parts; blocks are numbered trunk first, nextn behind them."""

    tensors: tuple[Tensor, ...]
    trunk_blocks: int
    nextn_blocks: int
    tied: bool
    notes: tuple[str, ...]


def group(headers: Sequence[FileHeader], architecture: Architecture) -> Grouping:
    """Put every tensor into its part; none is dropped, and what is not recognised is noted."""
    names = [[read_name(tensor.name) for tensor in header.tensors] for header in headers]
    trunk_stack = _trunk_stack(names)
    trunk, nextn, notes = _counts(names, trunk_stack, architecture)
    tensors: list[Tensor] = []
    unknown: list[str] = []
    beside: list[str] = []
    for file, (header, reads) in enumerate(zip(headers, names, strict=True)):
        for stored, read in zip(header.tensors, reads, strict=True):
            part, block = _place(read, trunk_stack, trunk)
            if not read.known:
                unknown.append(stored.name)
            elif block is None and read.stack is not Stack.NONE:
                beside.append(stored.name)
            name, shape, kind, size, offset = stored
            tensors.append(Tensor(name, shape, kind, size, file, offset, part, read.role, block))
    for what, listing in (("not recognised by name", unknown), ("blocks of an encoder beside the trunk", beside)):
        if listing:
            notes.append(f"{what}, listed as other: {listed([quoted(name) for name in listing])}")
    tied = _is_tied(tensors)
    if tied and architecture.tied is False:
        notes.append("a matrix of the head's own is stated, and the files hold none: the input's is taken for it")
    return Grouping(tuple(tensors), trunk, nextn, tied, tuple(notes))


def _trunk_stack(names: list[list[ReadName]]) -> Stack:
    stacks = {read.stack for reads in names for read in reads}
    return Stack.ENCODER if Stack.ENCODER in stacks and Stack.TRUNK not in stacks else Stack.TRUNK


def _counts(names: list[list[ReadName]], trunk_stack: Stack, architecture: Architecture) -> tuple[int, int, list[str]]:
    """Return the counts of trunk and nextn blocks by the tensors, with the architecture saying where nextn begins."""
    numbered = 1 + max((read.number for reads in names for read in reads if read.stack is trunk_stack), default=-1)
    named_nextn = 1 + max((read.number for reads in names for read in reads if read.stack is Stack.NEXTN), default=-1)
    stated = architecture.trunk_blocks
    notes: list[str] = []
    if not numbered and not named_nextn:
        return 0, 0, notes
    trunk = max(stated, numbered) if named_nextn else stated or numbered
    nextn = named_nextn or max(0, numbered - trunk)
    if stated > numbered:
        notes.append(f"{stated:,} trunk blocks are stated, and tensors are numbered for {numbered:,} of them")
    if nextn != architecture.nextn_blocks:
        verb = "block is" if architecture.nextn_blocks == 1 else "blocks are"
        notes.append(f"{architecture.nextn_blocks:,} nextn {verb} stated, and the files hold {nextn:,}")
    return trunk, nextn, notes


def _place(read: ReadName, trunk_stack: Stack, trunk: int) -> tuple[Part, int | None]:
    if read.stack is trunk_stack:
        return (Part.TRUNK if read.number < trunk else Part.NEXTN), read.number
    if read.stack is Stack.NONE:
        return read.part, None
    if read.stack is Stack.NEXTN:
        return Part.NEXTN, trunk + read.number
    return Part.OTHER, None


def _is_tied(tensors: list[Tensor]) -> bool:
    """Return whether an embedding is there and no matrix of a head."""
    has_input = any(tensor.part is Part.INPUT and len(tensor.shape) > 1 for tensor in tensors)
    has_head = any(tensor.role is Role.OUTPUT and len(tensor.shape) > 1 for tensor in tensors)
    return has_input and not has_head
