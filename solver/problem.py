"""The placement problem in integers: items in order, classes of equal devices, links and rules.

Nothing here knows a model, an engine or a file. An item is one unit that moves whole: a block together with what is
folded into it (the input into the first item, the output into the last), so that searches see items and never ends.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from solver.blocks import Block, Ends, Item, Shape, folded, without_head
from solver.links import Link, LinkPair, Links, link_signatures
from solver.pools import Pool

if TYPE_CHECKING:
    from solver.pools import Draws

__all__ = [
    "Block",
    "DeviceClass",
    "Ends",
    "Item",
    "Link",
    "LinkPair",
    "Links",
    "Node",
    "Placement",
    "Problem",
    "Rules",
    "Stage",
]


@dataclass(frozen=True, slots=True)
class Node:
    """One device that takes a stage. `stage_ns[j]` is the measured time of a stage of j + 1 items.

    `machine` names the machine that the device stands in beside others; None for a machine that is one device.
    `draws` says which pools it draws on; None for one of its own, of `budget_bytes`. With pools, `budget_bytes` is the
    most that the device may take of each of them. `held_bytes` are load of each of them beside the stage: what is there
    as soon as the device holds one, however small.
    """

    name: str
    budget_bytes: int
    bytes_per_second: int | None
    stage_ns: tuple[int, ...] | None
    machine: str | None = None
    draws: Draws | None = None
    held_bytes: int = 0

    @property
    def room_bytes(self) -> int:
        """Return the most that the items of a stage may take; below 0 where not even an empty one would fit."""
        return self.budget_bytes - self.held_bytes

    @property
    def cards(self) -> tuple[str, ...]:
        """Return the processors that the device occupies."""
        return (self.name,) if self.draws is None else self.draws.cards

    @property
    def pools(self) -> tuple[str, ...]:
        """Return the memories that each take the load of the device's stage."""
        return (self.name,) if self.draws is None else self.draws.pools

    @property
    def host_pool(self) -> str | None:
        """Return the memory that takes what a stage leaves with the host; None where there is none."""
        return None if self.draws is None else self.draws.host_pool


@dataclass(frozen=True, slots=True)
class Rules:
    """What a person insists on. `pins` are (item, node); `order` names nodes that, where used, come in this order.

    `apart` lets the devices of one machine stand apart in the chain; `replicas` lets several nodes hold one stage and
    share its tokens, and several chains run side by side.
    """

    pins: tuple[tuple[int, str], ...]
    first: str | None
    last: str | None
    order: tuple[str, ...]
    exclude: tuple[str, ...]
    max_nodes: int | None
    min_blocks: int
    apart: bool = False
    replicas: bool = False

    @property
    def named(self) -> frozenset[str]:
        """Return every node that a rule singles out, so that it is no longer like its equals."""
        ends = tuple(name for name in (self.first, self.last) if name is not None)
        return frozenset((*(name for _, name in self.pins), *ends, *self.order))


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """Nodes that no rule, size, speed or link tells apart, in the order listed."""

    members: tuple[Node, ...]

    @property
    def room_bytes(self) -> int:
        """Return what the items of a stage may take on every member."""
        return self.members[0].room_bytes

    @property
    def count(self) -> int:
        """Return how many members there are."""
        return len(self.members)


@dataclass(frozen=True)
class Problem:
    """Blocks to be cut into runs, nodes to take them.

    `activation_bytes` cross a seam for every token; `context_tokens` is what the blocks' caches are sized for. `pools`
    are the memories that nodes draw on beside those of their own; `shapes` what blocks take on wider devices.
    `head_alone` says that the last of `blocks`, in shapes too, is no block but the head, which then moves by itself.
    """

    blocks: tuple[Block, ...]
    ends: Ends
    nodes: tuple[Node, ...]
    activation_bytes: int
    context_tokens: int | None
    links: Links
    rules: Rules
    pools: tuple[Pool, ...] = ()
    shapes: tuple[Shape, ...] = ()
    head_alone: bool = False

    @property
    def block_count(self) -> int:
        """Return how many blocks there are, without a head that moves by itself."""
        return len(self.blocks) - self.head_alone

    def span(self, stage: Stage) -> tuple[int, int]:
        """Return the half-open run of blocks of a stage, which is empty where it holds the head alone."""
        return min(stage.start, self.block_count), min(stage.end, self.block_count)

    def item_name(self, index: int) -> str:
        """Return what people call an item."""
        return "the head" if index == self.block_count else f"block {index}"

    def with_head_folded(self) -> Problem:
        """Return the problem with a head that moves by itself folded into the last block."""
        if not self.head_alone:
            return self
        shapes = tuple(replace(shape, blocks=without_head(shape.blocks)) for shape in self.shapes)
        return replace(self, blocks=without_head(self.blocks), shapes=shapes, head_alone=False)

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """Return the blocks as items, the input folded into the first and the output into the last."""
        return folded(self.blocks, self.ends)

    @cached_property
    def items_of_shapes(self) -> tuple[tuple[Item, ...], ...]:
        """Return the items on a device of every shape; the first are the problem's own."""
        return (self.items, *(folded(shape.blocks, shape.ends) for shape in self.shapes))

    def shape_of(self, node: Node) -> Shape:
        """Return what blocks and ends take on a node."""
        number = 0 if node.draws is None else node.draws.shape
        return Shape(self.blocks, self.ends) if number == 0 else self.shapes[number - 1]

    @cached_property
    def pools_by_name(self) -> dict[str, Pool]:
        """Return every memory under its name: the pools, and one for each node that has its own."""
        own = (Pool(node.name, node.budget_bytes, node.machine or node.name) for node in self.nodes if not node.draws)
        return {pool.name: pool for pool in (*own, *self.pools)}

    @cached_property
    def is_plain(self) -> bool:
        """Return whether every node is a machine with one memory, so that nothing is shared and nothing left behind."""
        return all(node.machine is None and node.draws is None for node in self.nodes)

    @cached_property
    def may_offload(self) -> bool:
        """Return whether some device could leave something with its host."""
        return any(
            node.host_pool is not None and any(block.expert_bytes for block in self.shape_of(node).blocks)
            for node in self.nodes
        )

    @property
    def shared_bytes(self) -> int:
        """Return what is saved where one stage holds every item."""
        return self.ends.tied_bytes

    @cached_property
    def prefix_bytes(self) -> tuple[int, ...]:
        """Return the load of the first j items for j = 0 … items."""
        return tuple(accumulate((item.load_bytes for item in self.items), initial=0))

    @cached_property
    def classes(self) -> tuple[DeviceClass, ...]:
        """Return the nodes that may take a stage, grouped by all that can tell them apart, in the order listed."""
        named = self.rules.named
        links = link_signatures(self.links)
        shared = self._shared_pools
        groups: dict[tuple[object, ...], list[Node]] = {}
        for node in self.nodes:
            if node.name in self.rules.exclude or node.budget_bytes <= 0 or node.room_bytes < 0:
                continue
            own = node.name if node.name in named else None
            key = (
                *(
                    node.budget_bytes,
                    node.held_bytes,
                    node.bytes_per_second,
                    node.stage_ns,
                    node.machine,
                    links.get(node.name),
                    own,
                ),
                self._draws_signature(node, shared),
            )
            groups.setdefault(key, []).append(node)
        return tuple(DeviceClass(tuple(members)) for members in groups.values())

    def _draws_signature(self, node: Node, shared: frozenset[str]) -> tuple[object, ...] | None:
        """Return what must be equal for two nodes to be exchangeable: shared names as such, own ones by size."""
        draws = node.draws
        if draws is None:
            return None
        names = frozenset(name for name in (*draws.pools, *draws.cards) if name in shared)
        own = tuple(sorted(self.pools_by_name[pool].room_bytes for pool in draws.pools if pool not in shared))
        return names, own, len(draws.pools), draws.host_pool, draws.host_bytes_per_second, draws.shape

    @cached_property
    def links_by_pair(self) -> dict[tuple[str, str], Link]:
        """Return the links that differ from the default under (source, target)."""
        return {(pair.source, pair.target): pair.link for pair in self.links.pairs}

    def link(self, source: str, target: str) -> Link:
        """Return the link that a hop from one node to another uses."""
        return self.links_by_pair.get((source, target), self.links.default)

    @property
    def has_forbidden_links(self) -> bool:
        """Return whether some hop is barred, so that the order of nodes matters to memory alone."""
        return any(pair.link.forbidden for pair in self.links.pairs)

    @cached_property
    def nodes_by_name(self) -> dict[str, Node]:
        """Return every node under its name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def _shared_pools(self) -> frozenset[str]:
        """Return the pools and cards that more than one node draws on or occupies, or leaves experts in."""
        seen = Counter(name for node in self.nodes for name in {*node.pools, *node.cards, node.host_pool})
        return frozenset(name for name, count in seen.items() if name is not None and count > 1)

    @property
    def total_bytes(self) -> int:
        """Return what all stages must hold together, what is shared counted once."""
        return self.prefix_bytes[-1] - self.shared_bytes

    @property
    def stages_at_most(self) -> int:
        """Return the largest number of stages that any placement can have."""
        usable = sum(group.count for group in self.classes)
        counted = self.rules.max_nodes if self.is_plain else None
        limit = usable if counted is None else min(usable, counted)
        return min(limit, len(self.items) // max(self.rules.min_blocks, 1))


@dataclass(frozen=True, slots=True)
class Stage:
    """The half-open run of items [start, end) on one node.

    `offloaded` are the items, rising, whose experts stay in the host pool of the node. Stages of one `chain` follow one
    another; where replicas are allowed, stages in a row of one chain with the same items share its tokens.
    """

    start: int
    end: int
    node: str
    offloaded: tuple[int, ...] = ()
    chain: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """Stages in the order a token passes them. Holds names only; bytes and times are recomputed by `solver.rules`."""

    stages: tuple[Stage, ...]
