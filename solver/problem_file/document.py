"""The parts of a problem's document and their keys, as msgspec checks them: unknown keys are refused."""

from __future__ import annotations

from typing import Annotated

import msgspec

__all__ = [
    "MOST_NODES",
    "SCHEMA",
    "BlockPart",
    "Document",
    "LinksPart",
    "NodePart",
    "PoolPart",
    "RulesPart",
    "ShapePart",
]

SCHEMA = "layerfit/problem/1"
MOST_NODES = 100_000

_MOST_BLOCKS = 100_000
# Groups of cards are at most so wide, and devices of so many widths stand in one problem.
_MOST_WIDTH = 1024
_MOST_SHAPES = 64

Amount = Annotated[int, msgspec.Meta(ge=0, le=2**60)]
Count = Annotated[int, msgspec.Meta(ge=1, le=MOST_NODES)]
Rate = Annotated[int, msgspec.Meta(ge=1, le=2**60)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Names = Annotated[tuple[Name, ...], msgspec.Meta(min_length=1, max_length=_MOST_WIDTH)]


class _Strict(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A part of the document; unknown keys are refused with their path."""


class BlockPart(_Strict, frozen=True):
    """One of blocks[]."""

    weight_bytes: Amount
    cache_bytes: Amount = 0
    active_bytes: Amount | None = None
    cache_bytes_per_token: Amount | None = None
    cache_fixed_bytes: Amount | None = None
    expert_bytes: Amount = 0
    expert_active_bytes: Amount = 0


Blocks = Annotated[tuple[BlockPart, ...], msgspec.Meta(min_length=1, max_length=_MOST_BLOCKS)]


class EndsPart(_Strict, frozen=True):
    """What the first and the last stage hold beside their blocks."""

    input_bytes: Amount | None = None
    output_bytes: Amount | None = None
    tied_bytes: Amount | None = None
    host_bytes: Amount | None = None


class ShapePart(EndsPart, kw_only=True, frozen=True):
    """One of shapes[]: what blocks and ends take on a device of another width."""

    blocks: Blocks


class PoolPart(_Strict, frozen=True):
    """One of pools[]: a memory of a machine, of which `held_bytes` are taken whatever is placed."""

    name: Name
    budget_bytes: Amount
    machine: Name
    held_bytes: Amount = 0


class NodePart(_Strict, frozen=True):
    """One of nodes[]. Without `pools` it has one memory of its own; `held_bytes` are load beside a stage."""

    name: Name
    budget_bytes: Amount
    bytes_per_second: Rate | None = None
    stage_ns: tuple[Amount, ...] | None = None
    count: Count = 1
    machine: Name | None = None
    pools: Names | None = None
    cards: Names | None = None
    host_pool: Name | None = None
    host_bytes_per_second: Rate | None = None
    shape: Amount | None = None
    held_bytes: Amount = 0


class LinkPart(_Strict, frozen=True):
    """links.default."""

    latency_ns: Amount = 0
    bytes_per_second: Rate | None = None


class PairPart(_Strict, frozen=True, rename={"source": "from", "target": "to"}):
    """One of links.pairs[]."""

    source: Name
    target: Name
    latency_ns: Amount | None = None
    bytes_per_second: Rate | None = None
    forbidden: bool = False


class LinksPart(_Strict, frozen=True):
    """links."""

    default: LinkPart = LinkPart()
    pairs: tuple[PairPart, ...] = ()


class RulesPart(_Strict, frozen=True):
    """rules."""

    pin: tuple[tuple[Amount, Name], ...] = ()
    first: Name | None = None
    last: Name | None = None
    order: tuple[Name, ...] = ()
    exclude: tuple[Name, ...] = ()
    max_nodes: Count | None = None
    min_blocks: Count | None = None
    apart: bool = False
    replicas: bool = False


class Document(EndsPart, kw_only=True, frozen=True):
    """The whole."""

    schema: str
    blocks: Blocks
    nodes: Annotated[tuple[NodePart, ...], msgspec.Meta(min_length=1, max_length=MOST_NODES)]
    activation_bytes: Amount | None = None
    context_tokens: Amount | None = None
    pools: Annotated[tuple[PoolPart, ...], msgspec.Meta(max_length=MOST_NODES)] = ()
    shapes: Annotated[tuple[ShapePart, ...], msgspec.Meta(max_length=_MOST_SHAPES)] = ()
    head_alone: bool = False
    links: LinksPart = LinksPart()
    rules: RulesPart = RulesPart()
