"""What the model will be asked to do: the part of a request that decides how large its caches are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["AUTOMATIC_WIDTH", "USUAL_CHOICES", "Choices", "EngineName", "IndexerRule", "Offload", "Workload"]


class EngineName(StrEnum):
    """Whose rules of memory a plan follows."""

    GENERIC = "generic"
    LLAMACPP = "llamacpp"
    VLLM = "vllm"
    SGLANG = "sglang"

    @property
    def cache_type(self) -> str:
        """Return the type of the cache where nobody names one."""
        return "bf16" if self in (EngineName.VLLM, EngineName.SGLANG) else "q8_0"


class IndexerRule(StrEnum):
    """Which blocks keep indexer keys: all trunk blocks, only those that compute their own indices, or none."""

    CONSERVATIVE = "conservative"
    OPTIMIZED = "optimized"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Workload:
    """Tokens, sequences and cache types of one request.

    `context_tokens` is per sequence (generic engine); `cache_bytes_per_token`, when given, replaces the architecture's
    rule for the whole model and is spread evenly over trunk blocks.
    """

    context_tokens: int
    sequences: int
    cache_type_k: str
    cache_type_v: str
    indexer: IndexerRule
    resident_nextn: bool
    cache_bytes_per_token: int | None


class Offload(StrEnum):
    """Which weights of a block may stay in the memory of the host that a card stands in.

    Its routed experts, all feed-forward networks with them, or none.
    """

    EXPERTS = "experts"
    FFN = "ffn"
    NONE = "none"

    @property
    def words(self) -> str:
        """Return what may stay there, in words."""
        return "experts and feed-forward networks" if self is Offload.FFN else self.value


AUTOMATIC_WIDTH = 0
"""Stands for every width of tensor-parallel groups that the model and the cards allow."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What an engine is free to do with cards. `width` is how many share every block of a stage."""

    offload: Offload
    width: int


USUAL_CHOICES = Choices(offload=Offload.EXPERTS, width=1)
