"""From the name of a tensor to its stack of blocks, its number there, and its role.

A name is read by itself here; where its stack stands in the chain shows when all names are read.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from tensors.inventory import Part, Role
from tensors.metadata import MAXIMUM_BLOCKS
from tensors.roles import gguf_block_role, gguf_outside, module_block_role, module_outside

__all__ = ["ReadName", "Stack", "read_name"]


class Stack(IntEnum):
    """Which run of numbered blocks a name belongs to. An encoder is the trunk of a model that has no other blocks."""

    NONE = 0
    TRUNK = 1
    NEXTN = 2
    ENCODER = 3


class ReadName(NamedTuple):
    """What a name says by itself: its stack and number there (0 for none), its part outside of stacks, its role.

    `known` is False where the words are new to us.
    """

    stack: Stack
    number: int
    part: Part
    role: Role
    known: bool


_GGUF_BLOCKS = ("blk.", "enc.blk.", "dec.blk.")
_GGUF = re.compile(r"(enc\.|dec\.)?blk\.([0-9]{1,9})\.(.+)", re.DOTALL)
_GGUF_WORDS = re.compile(
    r"(token_embd|token_embd_norm|token_types|position_embd|per_layer_\w+|altup_\w+|output|output_norm|output_hc_\w+|cls"
    r"|dense_[23]|rope_\w+|v|a|mm|mmproj|resampler|enc|dec|conv1d|convnext|posnet)(\.|$)"
)
_BLOCKS = re.compile(
    r"((?:[^.]+\.)*?)(?:(?:layers|layer|h|blocks|block)\.([0-9]{1,9})|(mtp\w*)\.([0-9]{1,9}))\.(.+)",
    re.DOTALL,
)
_MTP = re.compile(r"(?:^|\.)(?:mtp|nextn)")
_MTP_NUMBER = re.compile(r"(?:^|\.)mtp\w*(?:\.\w+)??\.([0-9]{1,9})(?:\.|$)")


def read_name(name: str) -> ReadName:
    """Say what a name tells by itself; every name gets an answer.

    >>> name = read_name("model.layers.3.mlp.experts.7.up_proj.weight")
    >>> name.number, name.role.value
    (3, 'routed_expert')
    """
    # All experts of a block read alike, and most names of the largest models are theirs.
    before, experts, behind = name.partition(".experts.")
    number, dot, rest = behind.partition(".")
    return _read(f"{before}.experts.0.{rest}" if experts and dot and number.isdigit() else name)


@lru_cache(maxsize=2**14)
def _read(name: str) -> ReadName:
    match = _GGUF.fullmatch(name) if name.startswith(_GGUF_BLOCKS) else None
    if match is not None:
        stack = Stack.ENCODER if match[1] == "enc." else Stack.TRUNK
        return _numbered(stack, match[2], *gguf_block_role(match[3]))
    match = _BLOCKS.fullmatch(name)
    if match is None:
        return _outside(name)
    prefix, number, mtp, mtp_number, rest = match.groups()
    stack, side = _stack(prefix + (mtp or ""))
    if side is not None:
        return ReadName(Stack.NONE, 0, Part.OTHER, side, known=True)
    role, known = module_block_role(rest)
    if stack is Stack.NEXTN and not known:
        role, known = Role.NEXTN, True
    return _numbered(stack, number or mtp_number, role, known)


def _numbered(stack: Stack, digits: str, role: Role, known: bool) -> ReadName:
    number = int(digits)
    if number >= MAXIMUM_BLOCKS:
        return ReadName(Stack.NONE, 0, Part.OTHER, Role.OTHER, known=False)
    return ReadName(stack, number, Part.TRUNK, role, known)


def _outside(name: str) -> ReadName:
    if _MTP.search(name):
        match = _MTP_NUMBER.search(name)
        return _numbered(Stack.NEXTN, match[1] if match else "0", Role.NEXTN, known=True)
    read = gguf_outside if _GGUF_WORDS.match(name) else module_outside
    part, role, known = read(name)
    return ReadName(Stack.NONE, 0, part, role, known)


@lru_cache(maxsize=1024)
def _stack(prefix: str) -> tuple[Stack, Role | None]:
    """Return the stack of a prefix, or the role of a tower that is no part of the chain."""
    _part, role, _known = module_outside(prefix)
    if role in {Role.VISION, Role.AUDIO}:
        return Stack.NONE, role
    if _MTP.search(prefix):
        return Stack.NEXTN, None
    if "enc" in prefix:
        return Stack.ENCODER, None
    return Stack.TRUNK, None
