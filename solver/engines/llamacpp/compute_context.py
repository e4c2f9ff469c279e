"""What the graph of a model is built from: its tensors and where they are, its inputs, the sizes of a micro-batch."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from solver.engines.llamacpp.compute_families import FOUR_POSITIONS, NEVER_FUSED
from solver.engines.llamacpp.compute_graph import F16, F32, HOST_PLACE, I32, Graph, Node
from solver.engines.llamacpp.facts import HOST
from solver.engines.llamacpp.families import NEVER_UNIFIED
from tensors.architecture import MissingFact
from tensors.cache import CacheKind, CacheTerm, CacheType

if TYPE_CHECKING:
    from solver.engines.llamacpp.facts import Assignment, Settings
    from tensors.inventory import Inventory

__all__ = ["Context", "MissingTensorError", "Mode", "context", "row_bytes"]


class MissingTensorError(LookupError):
    """A graph needs a tensor that the model has not."""


_CELL_MULTIPLE = 256


@dataclass(frozen=True, slots=True)
class Mode:
    """What a graph is laid out for.

    `flash`: attention is fused; `pinned`: norms are held on the device of their block, as in a run; `probe`: for a
    token of every sequence alone; `unseen`: from its tensors alone, whatever is known of the family.
    """

    flash: bool
    pinned: bool
    probe: bool
    unseen: bool


@dataclass(slots=True)
class Context:
    """A graph in the making with what its parts need to know.

    `tokens` is the micro-batch, `outputs` how many of its tokens have logits; `flash` says that attention is fused,
    `pinned` that norms are held on the device of their block, as in a run; a dry run forgets to. `family` is empty
    where nothing but the tensors is to be used.
    """

    inventory: Inventory
    settings: Settings
    assignment: Assignment
    graph: Graph
    tokens: int
    outputs: int
    flash: bool
    shapes: dict[str, tuple[int, ...]]
    sizes: dict[str, int]
    terms: dict[int, tuple[CacheTerm, ...]]
    overrides: tuple[tuple[re.Pattern[str], int], ...]
    blocks: tuple[int, ...]
    family: str
    pinned: bool
    weights: dict[tuple[str, int], Node] = field(default_factory=dict)
    inputs: dict[str, Node] = field(default_factory=dict)
    chosen: Node | None = None
    fused: list[tuple[Node, int]] = field(default_factory=list)

    @property
    def hidden(self) -> int:
        """Return the width of the residual stream.

        Raises:
            MissingTensorError: the model has no embeddings by the engine's name for them.
        """
        return self.whole("token_embd.weight", -1).extents[0]

    @property
    def sequences(self) -> int:
        """Return how many sequences a micro-batch is laid out for."""
        return self.settings.sequences

    @property
    def sequence_tokens(self) -> int:
        """Return the tokens of one sequence in the micro-batch."""
        return self.tokens // self.sequences

    @property
    def streams(self) -> int:
        """Return how many runs of cells the cache has."""
        own = self.inventory.architecture.family in NEVER_UNIFIED
        return self.settings.sequences if own else self.settings.streams

    def device(self, block: int) -> int:
        """Return where a block is; the head is one past the last block."""
        slot = self.assignment.slots[block]
        return HOST_PLACE if slot == HOST else slot

    def has(self, name: str) -> bool:
        """Return whether the model has a tensor of this name."""
        return name in self.shapes

    def weight(self, name: str, slot: int) -> Node | None:
        """Return a tensor of the model, None where it has none of this name. `slot` says where it is by default."""
        key = (name, slot)
        if key not in self.weights:
            if name not in self.shapes:
                return None
            place = self.device(slot) if slot >= 0 else HOST_PLACE
            for pattern, target in self.overrides:
                if pattern.search(name):
                    place = HOST_PLACE if target == HOST else target
                    break
            shape = self.shapes[name]
            self.weights[key] = self.graph.weight(place, self.sizes[name], *shape[::-1])
        return self.weights[key]

    def of(self, block: int, stem: str, suffix: str = "weight") -> Node | None:
        """Return the tensor `blk.BLOCK.STEM.SUFFIX`."""
        return self.weight(f"blk.{block}.{stem}.{suffix}", block)

    def need(self, block: int, *stems: str) -> Node:
        """Return the first of these tensors of a block that exists.

        Raises:
            MissingTensorError: the block has none of them.
        """
        for stem in stems:
            node = self.of(block, stem)
            if node is not None:
                return node
        raise MissingTensorError(f"blk.{block}.{stems[0]}.weight")

    def names(self, block: int) -> tuple[str, ...]:
        """Return the names of a block's tensors."""
        prefix = f"blk.{block}."
        return tuple(name for name in self.shapes if name.startswith(prefix))

    def whole(self, name: str, slot: int) -> Node:
        """Return a tensor that every model has.

        Raises:
            MissingTensorError: this one has not.
        """
        node = self.weight(name, slot)
        if node is None:
            raise MissingTensorError(name)
        return node

    def first(self, block: int, *stems: str) -> str | None:
        """Return the first of these stems that a block has a tensor of."""
        return next((stem for stem in stems if self.of(block, stem) is not None), None)

    @property
    def has_windows(self) -> bool:
        """Return whether some blocks attend to a window alone."""
        return any(term.kind is CacheKind.WINDOW for items in self.terms.values() for term in items)

    @property
    def has_indexer(self) -> bool:
        """Return whether an indexer chooses what the model attends to."""
        return any(term.kind is CacheKind.INDEXER for items in self.terms.values() for term in items)

    def indexer_cache(self, block: int, width: int, cells: int) -> Node:
        """Return the cache of a block's indexer keys."""
        cache = self.graph.cache(self.cache_place(block), F16, width, cells, self.streams)
        cache.size = row_bytes(self.settings.type_k, width) * cells * self.streams
        return cache

    def need_bare(self, block: int, *stems: str) -> Node:
        """Return the first of these tensors of a block that exists, named with or without a suffix.

        Raises:
            MissingTensorError: the block has none of them.
        """
        for stem in stems:
            for suffix in ("", ".weight", ".bias"):
                node = self.weight(f"blk.{block}.{stem}{suffix}", block)
                if node is not None:
                    return node
        raise MissingTensorError(f"blk.{block}.{stems[0]}")

    def state(self, block: int, name: str, width: int) -> Node:
        """Return the states of all sequences of a block."""
        key = (f"state {block} {name}", block)
        if key not in self.weights:
            self.weights[key] = self.graph.cache(self.cache_place(block), F32, width, self.sequences)
        return self.weights[key]

    def filled(self, name: str, value: int, *extents: int) -> Node:
        """Return the input of this name, made on first use."""
        if name not in self.inputs:
            self.inputs[name] = self.graph.input(value, *extents)
        return self.inputs[name]

    def state_ids(self, count: int) -> Node:
        """Return which states a batch reads: of all its sequences, or (0) of those it leaves as they are."""
        name = f"state copies {count}"
        if name not in self.inputs:
            self.inputs[name] = self.graph.view(self.filled("state copies", I32, self.sequences), count)
        return self.inputs[name]

    def positions(self) -> Node:
        """Return the positions of the tokens; some families keep four of each (M-RoPE)."""
        each = 4 if self.family in FOUR_POSITIONS else 1
        return self.filled("positions", I32, self.tokens * each)

    def output_rows(self) -> Node:
        """Return which tokens have logits."""
        return self.filled("output rows", I32, self.outputs)

    def cells(self, term: CacheTerm) -> int:
        """Return the cells of one stream of a cache: a window keeps the micro-batch besides itself."""
        tokens = self.settings.sequence_tokens
        if term.window_tokens is not None and not self.settings.full_windows:
            windows = term.window_tokens * (self.sequences // self.streams)
            tokens = min(tokens, windows + self.settings.micro_batch_tokens)
        return -(-tokens // _CELL_MULTIPLE) * _CELL_MULTIPLE

    def mask(self, label: str, cells: int) -> Node:
        """Return the mask of one kind of cache: which cells a token may see."""
        value = F16 if self.flash or label == "indexer" else F32
        return self.filled(f"mask {label}", value, cells, self.tokens // self.streams, 1, self.streams)

    def term(self, block: int, *kinds: CacheKind) -> CacheTerm | None:
        """Return what a block keeps of these kinds."""
        return next((term for term in self.terms.get(block, ()) if term.kind in kinds), None)

    def cache_place(self, block: int) -> int:
        """Return where the cache of a block is."""
        return self.device(block) if self.settings.offloads_cache else HOST_PLACE


def row_bytes(kind: CacheType, values: int) -> int:
    """Return the bytes of a row of cache values."""
    return values * kind.block_bytes // kind.block_values


def context(inventory: Inventory, settings: Settings, assignment: Assignment, mode: Mode) -> Context:
    """Return a context with an empty graph for the worst case that is reserved for."""
    tokens = min(settings.context_tokens, settings.micro_batch_tokens)
    if mode.probe:
        tokens = settings.sequences
    tokens = -(-tokens // settings.sequences) * settings.sequences
    terms: dict[int, list[CacheTerm]] = {}
    cache = inventory.architecture.cache
    for term in () if isinstance(cache, MissingFact) else cache:
        terms.setdefault(term.block, []).append(term)
    family = "" if mode.unseen else inventory.architecture.family
    return Context(
        inventory=inventory,
        settings=settings,
        assignment=assignment,
        graph=Graph(),
        tokens=tokens,
        outputs=min(tokens, settings.context_tokens, settings.micro_batch_tokens, settings.output_rows),
        flash=mode.flash and family not in NEVER_FUSED,
        shapes={tensor.name: tensor.shape for tensor in inventory.tensors},
        sizes={tensor.name: tensor.size_bytes for tensor in inventory.tensors},
        terms={block: tuple(items) for block, items in terms.items()},
        overrides=tuple((re.compile(item.pattern), item.device) for item in assignment.overrides),
        blocks=tuple(range(inventory.trunk_blocks)),
        family=family,
        pinned=mode.pinned,
    )
