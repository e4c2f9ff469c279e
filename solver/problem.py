"""The placement problem in integers: items in order, classes of equal devices, links and rules.

Nothing here knows a model, an engine or a file. An item is one unit that moves whole: a block together with what is
folded into it (the input into the first item, the output into the last), so that searches see items and never ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

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
class Block:
    """Bytes of one block. `active_bytes` are read for every token (weights and cache).

    `cache_bytes_per_token` and `cache_fixed_bytes` say how `cache_bytes` grows with the context; None where unknown.
    """

    weight_bytes: int
    cache_bytes: int
    active_bytes: int
    cache_bytes_per_token: int | None
    cache_fixed_bytes: int


@dataclass(frozen=True, slots=True)
class Ends:
    """What the first and the last stage hold beside their blocks.

    `tied_bytes` is the part of the output that is the input's own tensor: paid once when one stage holds both ends.
    `host_bytes` stay with the first node whatever the cut.
    """

    input_bytes: int
    output_bytes: int
    tied_bytes: int
    host_bytes: int


@dataclass(frozen=True, slots=True)
class Item:
    """One unit that moves whole, with what the ends fold into it."""

    weight_bytes: int
    cache_bytes: int
    other_bytes: int

    @property
    def load_bytes(self) -> int:
        """Return what the item takes of its node's budget."""
        return self.weight_bytes + self.cache_bytes + self.other_bytes


@dataclass(frozen=True, slots=True)
class Node:
    """One device that takes a stage. `stage_ns[j]` is the measured time of a stage of j + 1 items.

    `machine` names the machine that the device stands in beside others; None for a machine that is one device.
    """

    name: str
    budget_bytes: int
    bytes_per_second: int | None
    stage_ns: tuple[int, ...] | None
    machine: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """How long a hop takes beside its transfer, and how fast the transfer is; a rate of None adds no term."""

    latency_ns: int
    bytes_per_second: int | None
    forbidden: bool


@dataclass(frozen=True, slots=True)
class LinkPair:
    """A link from one node to another that overrides the default in that direction."""

    source: str
    target: str
    link: Link


@dataclass(frozen=True, slots=True)
class Links:
    """The default link and the directed pairs that differ from it."""

    default: Link
    pairs: tuple[LinkPair, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """What a person insists on. `pins` are (item, node); `order` names nodes that, where used, come in this order."""

    pins: tuple[tuple[int, str], ...]
    first: str | None
    last: str | None
    order: tuple[str, ...]
    exclude: tuple[str, ...]
    max_nodes: int | None
    min_blocks: int

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
    def budget_bytes(self) -> int:
        """Return the budget of every member."""
        return self.members[0].budget_bytes

    @property
    def count(self) -> int:
        """Return how many members there are."""
        return len(self.members)


@dataclass(frozen=True)
class Problem:
    """Blocks to be cut into runs, nodes to take them.

    `activation_bytes` cross a seam for every token; `context_tokens` is what the blocks' caches are sized for.
    """

    blocks: tuple[Block, ...]
    ends: Ends
    nodes: tuple[Node, ...]
    activation_bytes: int
    context_tokens: int | None
    links: Links
    rules: Rules

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """Return the blocks as items, the input folded into the first and the output into the last."""
        last = len(self.blocks) - 1
        return tuple(
            Item(
                weight_bytes=block.weight_bytes
                + (self.ends.input_bytes if index == 0 else 0)
                + (self.ends.output_bytes if index == last else 0),
                cache_bytes=block.cache_bytes,
                other_bytes=self.ends.host_bytes if index == 0 else 0,
            )
            for index, block in enumerate(self.blocks)
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
        links = _link_signatures(self.links)
        groups: dict[tuple[object, ...], list[Node]] = {}
        for node in self.nodes:
            if node.name in self.rules.exclude or node.budget_bytes <= 0:
                continue
            own = node.name if node.name in named else None
            key = (node.budget_bytes, node.bytes_per_second, node.stage_ns, node.machine, links.get(node.name), own)
            groups.setdefault(key, []).append(node)
        return tuple(DeviceClass(tuple(members)) for members in groups.values())

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

    @property
    def shared_machine(self) -> str | None:
        """Return a machine that stands for several devices, or None where every device is a machine of its own."""
        return next((node.machine for node in self.nodes if node.machine is not None), None)

    @property
    def total_bytes(self) -> int:
        """Return what all stages must hold together, what is shared counted once."""
        return self.prefix_bytes[-1] - self.shared_bytes

    @property
    def stages_at_most(self) -> int:
        """Return the largest number of stages that any placement can have."""
        usable = sum(group.count for group in self.classes)
        limit = usable if self.rules.max_nodes is None else min(usable, self.rules.max_nodes)
        return min(limit, len(self.items) // max(self.rules.min_blocks, 1))


@dataclass(frozen=True, slots=True)
class Stage:
    """The half-open run of items [start, end) on one node."""

    start: int
    end: int
    node: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Stages in the order a token passes them. Holds names only; bytes and times are recomputed by `solver.rules`."""

    stages: tuple[Stage, ...]


def _link_signatures(links: Links) -> dict[str, frozenset[tuple[str, str, Link]]]:
    """Return, for every node with a link of its own, the set that must be equal for two nodes to be exchangeable."""
    signatures: dict[str, set[tuple[str, str, Link]]] = {}
    for pair in links.pairs:
        signatures.setdefault(pair.source, set()).add(("to", pair.target, pair.link))
        signatures.setdefault(pair.target, set()).add(("from", pair.source, pair.link))
    return {name: frozenset(signature) for name, signature in signatures.items()}
