"""The cache of SGLang: slots for tokens, sized by the rank with the least memory left and the one with most layers.

A token takes a cell in every layer that keeps everything. Layers with a window share a second pool of `window_share`
as many slots (`swa_full_tokens_ratio`; sglang/srt/model_executor/pool_configurator.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from solver.engines.servers.layers import LayerKind
from tensors.cache import BlockCache
from tensors.errors import ArchitectureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.engines.servers.layers import CacheLayer
    from solver.engines.servers.pool import Request, Room

__all__ = ["TokenPool", "token_pool"]

# A context of steps of this many tokens fills whole pages of every usual size.
_CONTEXT_STEP_TOKENS = 256


@dataclass(frozen=True, slots=True)
class TokenPool:
    """The slots of a model on one card; `page_tokens` of them are handed out together."""

    layers: tuple[CacheLayer, ...]
    page_tokens: int
    window_share: Fraction
    request: Request

    @property
    def unit(self) -> str:
        """Return what the engine counts."""
        return "tokens"

    @property
    def padding_bytes(self) -> int:
        """Return 0: a rank needs what its blocks need."""
        return 0

    @property
    def request_units(self) -> int:
        """Return the slots of one sequence of the whole context: whole pages."""
        return -(-self.request.context_tokens // self.page_tokens) * self.page_tokens

    def unit_bytes(self, start: int, end: int) -> int:
        """Return what one slot takes of a card that holds blocks [start, end), rounded up to a byte."""
        return ceil(self._cell(start, end))

    def units(self, start: int, end: int, available_bytes: int) -> int | None:
        """Return how many slots fit, whole pages of them; None where the blocks keep nothing."""
        cell = self._cell(start, end)
        if not cell:
            return None
        slots = max(available_bytes, 0) * cell.denominator // cell.numerator
        return slots // self.page_tokens * self.page_tokens

    def shared_units(self, rooms: Sequence[Room]) -> int:
        """Return how many slots every rank has: the least memory that any has left, over the widest cells of any.

        Ranks agree on what is free before they count (`_profile_available_bytes` in kv_cache_configurator.py).
        """
        least = min((room.available_bytes for room in rooms), default=0)
        fitting = (self.units(room.start, room.end, least) for room in rooms)
        return min((slots for slots in fitting if slots is not None), default=0)

    def tokens(self, units: int) -> int:
        """Return the slots: each holds a token."""
        return units

    def concurrency(self, units: int) -> Fraction:
        """Return how many sequences of the whole context so many slots hold."""
        return Fraction(units, self.request_units)

    def block_caches(self, placed_blocks: int) -> tuple[BlockCache, ...]:
        """Return what each block takes: the slots of every sequence."""
        slots = self.request_units * self.request.sequences
        caches = []
        for block in range(placed_blocks):
            cell = self._cell(block, block + 1)
            begun = cell * self.request.sequences * (self.page_tokens if _CONTEXT_STEP_TOKENS % self.page_tokens else 0)
            caches.append(BlockCache(ceil(cell * slots), ceil(cell * self.request.sequences), ceil(begun)))
        return tuple(caches)

    def _cell(self, start: int, end: int) -> Fraction:
        held = [layer for layer in self.layers if start <= layer.block < end]
        windows = sum(layer.token_bytes for layer in held if layer.kind is LayerKind.WINDOW)
        return sum(layer.token_bytes for layer in held if layer.kind is LayerKind.FULL) + windows * self._share

    @property
    def _share(self) -> Fraction:
        """Return the share of slots that windows have: all of them where nothing else keeps a token."""
        has_full = any(layer.kind is LayerKind.FULL for layer in self.layers)
        return self.window_share if has_full else Fraction(1)


def token_pool(
    layers: tuple[CacheLayer, ...], page_tokens: int, window_share: Fraction, request: Request, where: str
) -> TokenPool:
    """Return the slots of a model's layers; `where` names the model in errors.

    Raises:
        ArchitectureError: some blocks carry a state; how the engine shares memory between states and slots is not known
            here.
    """
    if any(layer.kind is LayerKind.STATE for layer in layers):
        raise ArchitectureError(where, "no rule for sglang: some of its blocks carry a state beside a cache.")
    return TokenPool(layers, page_tokens, window_share, request)
