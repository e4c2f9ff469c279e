"""What of a memory may be used, and what an engine takes beside weights and cache."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

__all__ = ["DEFAULT_POLICY", "Overhead", "Policy"]


@dataclass(frozen=True, slots=True)
class Overhead:
    """A base, and one part in `divisor` of the weights that a card holds."""

    base_bytes: int
    divisor: int

    def bytes_of(self, weight_bytes: int) -> int:
        """Return the overhead beside so many bytes of weights on one card."""
        return self.base_bytes + weight_bytes // self.divisor


@dataclass(frozen=True, slots=True)
class Policy:
    """Shares of a card and of a host's memory, and the overhead of each engine."""

    gpu_share: Fraction
    host_share: Fraction
    llamacpp: Overhead
    vllm: Overhead

    def of_card(self, card_bytes: int) -> int:
        """Return what may be used of a card; a need of exactly this fits."""
        return int(self.gpu_share * card_bytes)

    def of_host(self, memory_bytes: int) -> int:
        """Return what may be used of a host's memory."""
        return int(self.host_share * memory_bytes)


DEFAULT_POLICY: Final = Policy(
    gpu_share=Fraction("0.90"),
    host_share=Fraction("0.85"),
    llamacpp=Overhead(base_bytes=2**30, divisor=20),
    vllm=Overhead(base_bytes=2**31, divisor=20),
)
