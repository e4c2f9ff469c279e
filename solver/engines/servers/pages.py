"""The cache of vLLM: pages of equal size, shared by groups of layers, as many on every rank as on the weakest.

A page of a layer holds `block_tokens` tokens (or one state). Layers that keep everything, or all the same window, form
one group in which every layer has pages of its own size. Other models are cut into groups of about as many layers each;
all groups use one size of page, and page i of the pool serves one group at a time, so a rank pays for its largest group
(vllm/v1/core/kv_cache_utils.py, `get_kv_cache_groups` and `get_kv_cache_config_from_groups`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

from solver.engines.servers.layers import LayerKind
from solver.errors import InputError
from tensors.cache import BlockCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.engines.servers.layers import CacheLayer
    from solver.engines.servers.pool import Request, Room

__all__ = ["PageGroup", "PagedPool", "paged_pool"]

# Sizes of pages are raised in steps of this many tokens where a state has to fit into one.
_KERNEL_TOKENS = 16
# A context of steps of this many tokens fills whole pages of every usual size.
_CONTEXT_STEP_TOKENS = 256


@dataclass(frozen=True, slots=True)
class PageGroup:
    """Layers (by position) that share one table of pages; a sequence of the whole context takes `request_pages`."""

    layers: tuple[int, ...]
    request_pages: int


@dataclass(frozen=True)
class PagedPool:
    """The pages of a model on one card.

    `page_bytes` and `page_tokens` are by layer (tokens 0 for a state); `shared_pages` says that groups take turns on
    the same pages, all of one size.
    """

    layers: tuple[CacheLayer, ...]
    page_bytes: tuple[int, ...]
    page_tokens: tuple[int, ...]
    groups: tuple[PageGroup, ...]
    shared_pages: bool
    request: Request

    @property
    def unit(self) -> str:
        """Return what the engine counts."""
        return "pages"

    @property
    def request_units(self) -> int:
        """Return how many pages one sequence of the whole context takes, over all groups."""
        return sum(group.request_pages for group in self.groups)

    def unit_bytes(self, start: int, end: int) -> int:
        """Return what one page, in every layer that has it, takes of a card that holds blocks [start, end)."""
        if not self.shared_pages:
            return sum(
                size for layer, size in zip(self.layers, self.page_bytes, strict=True) if start <= layer.block < end
            )
        held = (sum(self._holds(layer, start, end) for layer in group.layers) for group in self.groups)
        return max(held, default=0) * self.page_bytes[0]

    def units(self, start: int, end: int, available_bytes: int) -> int | None:
        """Return how many pages fit; None where the blocks keep nothing."""
        size = self.unit_bytes(start, end)
        return max(available_bytes, 0) // size if size else None

    def shared_units(self, rooms: Sequence[Room]) -> int:
        """Return how many pages every rank has: as many as fit where the fewest do."""
        fitting = (self.units(room.start, room.end, room.available_bytes) for room in rooms)
        return min((pages for pages in fitting if pages is not None), default=0)

    def tokens(self, units: int) -> int:
        """Return what the engine prints: so many sequences of the whole context, as tokens."""
        return int(self.concurrency(units) * self.request.context_tokens)

    def concurrency(self, units: int) -> Fraction:
        """Return how many sequences of the whole context so many pages hold."""
        return Fraction(units, self.request_units) if self.request_units else Fraction(0)

    def block_caches(self, placed_blocks: int) -> tuple[BlockCache, ...]:
        """Return what each block takes: the pages of its layers for every sequence."""
        cache, growth, fixed = [0] * placed_blocks, [Fraction(0)] * placed_blocks, [0] * placed_blocks
        for group in self.groups:
            for position in group.layers:
                layer, page, tokens = self.layers[position], self.page_bytes[position], self.page_tokens[position]
                every = page * self.request.sequences
                cache[layer.block] += group.request_pages * every
                if layer.kind is LayerKind.FULL:
                    growth[layer.block] += Fraction(every, tokens)
                    fixed[layer.block] += every if _CONTEXT_STEP_TOKENS % tokens else 0
                else:
                    fixed[layer.block] += _most_pages(layer, tokens, self.request) * every
        return tuple(BlockCache(*sizes) for sizes in zip(cache, map(ceil, growth), fixed, strict=True))

    @cached_property
    def padding_bytes(self) -> int:
        """Return the most that any run of blocks needs beyond the sum over its blocks; 0 without shared pages."""
        if not self.shared_pages:
            return 0
        page, needed = self.page_bytes[0] * self.request.sequences, self.request_units
        blocks = max(layer.block for layer in self.layers) + 1
        group_of = {layer: number for number, group in enumerate(self.groups) for layer in group.layers}
        most = 0
        for start in range(blocks):
            held = [0] * len(self.groups)
            largest = plain = 0
            for position, layer in enumerate(self.layers):
                if layer.block < start:
                    continue
                number = group_of[position]
                held[number] += 1
                largest = max(largest, held[number])
                plain += self.groups[number].request_pages
                most = max(most, largest * needed - plain)
        return most * page

    def _holds(self, position: int, start: int, end: int) -> bool:
        return start <= self.layers[position].block < end


def paged_pool(layers: tuple[CacheLayer, ...], page_tokens: int, request: Request, where: str) -> PagedPool:
    """Return the pages of a model's layers; `where` names the model in errors.

    Raises:
        InputError: pages of the layers cannot be brought to one size, as the engine then refuses too.
    """
    kinds = {(layer.kind, layer.window_tokens) for layer in layers}
    if len(kinds) <= 1:
        tokens = tuple(0 if layer.kind is LayerKind.STATE else page_tokens for layer in layers)
        sizes = tuple(_page_bytes(layer, page_tokens) for layer in layers)
        pages = max((_request_pages(layer, page_tokens, request) for layer in layers), default=0)
        group = PageGroup(tuple(range(len(layers))), pages)
        return PagedPool(layers, sizes, tokens, (group,) if layers else (), shared_pages=False, request=request)
    page, tokens = _one_size(layers, page_tokens, where)
    return PagedPool(
        layers,
        (page,) * len(layers),
        tokens,
        tuple(
            PageGroup(members, _request_pages(layers[members[0]], tokens[members[0]], request))
            for members in _groups(layers, tokens)
        ),
        shared_pages=True,
        request=request,
    )


def _page_bytes(layer: CacheLayer, page_tokens: int) -> int:
    return layer.state_bytes if layer.kind is LayerKind.STATE else layer.token_bytes * page_tokens


def _request_pages(layer: CacheLayer, page_tokens: int, request: Request) -> int:
    """Return the pages of one sequence of the whole context."""
    if layer.window_tokens is None and layer.kind is not LayerKind.STATE:
        return -(-request.context_tokens // page_tokens)
    most = _most_pages(layer, page_tokens, request)
    return most if layer.window_tokens is None else min(most, -(-request.context_tokens // page_tokens) + 1)


def _most_pages(layer: CacheLayer, page_tokens: int, request: Request) -> int:
    """Return the pages of one sequence of any length, for a window or a state.

    A window may begin inside a page, and keeps the tokens of a step besides.
    """
    if layer.window_tokens is None:
        return 1
    return -(-(layer.window_tokens - 1 + request.batched_tokens) // page_tokens) + 1


def _one_size(layers: tuple[CacheLayer, ...], page_tokens: int, where: str) -> tuple[int, tuple[int, ...]]:
    """Return the size of every page and the tokens of a page by layer: layers with less a token have more of them."""
    state = max((layer.state_bytes for layer in layers if layer.kind is LayerKind.STATE), default=0)
    attention = [layer.token_bytes for layer in layers if layer.kind is not LayerKind.STATE]
    widest = max(attention)
    tokens = page_tokens
    if widest * tokens < state:
        tokens = -(-state // (widest * _KERNEL_TOKENS)) * _KERNEL_TOKENS
    page = widest * tokens
    for size in attention:
        if widest % size:
            raise InputError(
                where,
                f"its layers keep {size} and {widest} bytes a token, whose pages cannot be of one size; expected sizes "
                "that divide. The engine does not start with this model.",
            )
    return page, tuple(0 if layer.kind is LayerKind.STATE else tokens * widest // layer.token_bytes for layer in layers)


def _groups(layers: tuple[CacheLayer, ...], tokens: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the layers of every group: as many in each as the rarest kind has, dealt out in turn.

    Where the commonest kind has less than half as many again as the rarest, groups are as large as the commonest.
    """
    of_kind: dict[tuple[object, ...], list[int]] = {}
    for position, layer in enumerate(layers):
        key = (layer.kind, layer.window_tokens, tokens[position], layer.state_bytes)
        of_kind.setdefault(key, []).append(position)
    counts = [len(members) for members in of_kind.values()]
    size = max(counts) if 2 * max(counts) < 3 * min(counts) else min(counts)
    groups: list[tuple[int, ...]] = []
    for members in of_kind.values():
        turns = -(-len(members) // size)
        groups.extend(tuple(members[turn::turns]) for turn in range(turns))
    return groups
