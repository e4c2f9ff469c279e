"""What planning and reporting ask of an engine's cache, whatever it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from tensors.cache import BlockCache

__all__ = ["CachePool", "Request", "Room"]


@dataclass(frozen=True, slots=True)
class Request:
    """What the pool is sized for: the longest sequence, how many of them, and the tokens of one step."""

    context_tokens: int
    sequences: int
    batched_tokens: int


@dataclass(frozen=True, slots=True)
class Room:
    """What one card of a rank has left for the cache of the blocks [start, end); below 0 where weights do not fit."""

    start: int
    end: int
    available_bytes: int


class CachePool(Protocol):
    """The cache of one run as one card of a rank sees it. Units are what the engine counts: pages, or tokens.

    A rank holds the run of blocks [start, end). All ranks have equally many units.
    """

    @property
    def request(self) -> Request:
        """Return what the pool is sized for."""
        ...

    @property
    def unit(self) -> str:
        """Return what the engine counts, in the plural."""
        ...

    @property
    def padding_bytes(self) -> int:
        """Return what a rank may need at most beyond the sum over its blocks."""
        ...

    def block_caches(self, placed_blocks: int) -> tuple[BlockCache, ...]:
        """Return what each block takes of one card for the whole request, padding apart."""
        ...

    def unit_bytes(self, start: int, end: int) -> int:
        """Return what one unit takes of one card that holds these blocks; 0 where they keep nothing."""
        ...

    def units(self, start: int, end: int, available_bytes: int) -> int | None:
        """Return how many units fit on one card; None where the blocks keep nothing and set no limit."""
        ...

    def shared_units(self, rooms: Sequence[Room]) -> int:
        """Return how many units every rank has in the end."""
        ...

    @property
    def request_units(self) -> int:
        """Return how many units one sequence of the whole context takes."""
        ...

    def tokens(self, units: int) -> int:
        """Return how many tokens the engine says that so many units hold."""
        ...

    def concurrency(self, units: int) -> Fraction:
        """Return how many sequences of the whole context so many units hold."""
        ...
