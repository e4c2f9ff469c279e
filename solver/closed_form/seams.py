"""What the seams between stages cost: bytes over rate, and latency, which are never added into one speed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from solver.closed_form.cache import GLM_5_2
from solver.closed_form.numbers import ExactNumber, positive_number, whole, zero_or_more

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["SeamsPlan", "plan_seams", "sideband_crosses"]

LEAST_STAGES = 2
ACTIVATION_BYTES_PER_VALUE = 2  # bf16
INDEX_BYTES = 4
MINIMUM_RATE_BITS = Fraction(5, 2) * 10**9
RECOMMENDED_RATE_BITS = Fraction(10) * 10**9
_NS_PER_SECOND = 10**9
_NS_PER_MS = 10**6
_BITS_PER_BYTE = 8


@dataclass(frozen=True, slots=True)
class SeamsPlan:
    """Bytes and times of the seams of a chain of nodes; times in nanoseconds, rounded up.

    Decode moves one token, prefill a whole context. `dsa_sideband_bytes_per_query` are the indices that a sparse
    indexer hands to blocks that compute none of their own.
    """

    node_count: int
    hidden_size: int
    context_tokens: int
    dsa_sideband_bytes_per_query: int
    link_rate_bits_per_second: Fraction
    hop_latency_ns: int

    @property
    def seam_count(self) -> int:
        """Return how many seams the chain has."""
        return self.node_count - 1

    @property
    def bytes_per_token_per_seam(self) -> int:
        """Return the activation of one token."""
        return self.hidden_size * ACTIVATION_BYTES_PER_VALUE

    @property
    def prefill_bytes_per_seam(self) -> int:
        """Return the activations of a whole context."""
        return self.bytes_per_token_per_seam * self.context_tokens

    @property
    def meets_minimum_rate(self) -> bool:
        """Return whether the rate reaches the least that is advised, 2.5 Gbit/s."""
        return self.link_rate_bits_per_second >= MINIMUM_RATE_BITS

    @property
    def meets_recommended_rate(self) -> bool:
        """Return whether the rate reaches what is recommended, 10 Gbit/s."""
        return self.link_rate_bits_per_second >= RECOMMENDED_RATE_BITS

    @property
    def decode_latency_ns(self) -> int:
        """Return what a token waits at all hops, whatever the rate."""
        return self.hop_latency_ns * self.seam_count

    def decode_serialization_ns(self, seams: int) -> int:
        """Return how long one token's activations take over this many seams, latency aside."""
        return self._serialization_ns(self.bytes_per_token_per_seam * seams)

    def prefill_serialization_ns(self, seams: int) -> int:
        """Return how long a context's activations take over this many seams, latency aside."""
        return self._serialization_ns(self.prefill_bytes_per_seam * seams)

    def _serialization_ns(self, size_bytes: int) -> int:
        return ceil(size_bytes * _BITS_PER_BYTE * _NS_PER_SECOND / self.link_rate_bits_per_second)


def plan_seams(
    node_count: int,
    *,
    hidden_size: int = GLM_5_2.hidden_size,
    index_topk: int = GLM_5_2.index_topk,
    context_tokens: int = 16384,
    rate_gbps: ExactNumber = "2.5",
    hop_latency_ms: ExactNumber = "0.5",
) -> SeamsPlan:
    """Return what the seams of a chain of nodes move, and how long that takes at a rate of 10^9 bits a second each.

    Raises:
        InputError: a count is no integer in its range, or rate or latency is no finite number in its range.
    """
    rate = positive_number(rate_gbps, "link rate in Gbit/s")
    latency = zero_or_more(hop_latency_ms, "hop latency in ms")
    return SeamsPlan(
        node_count=whole(node_count, "nodes", least=LEAST_STAGES),
        hidden_size=whole(hidden_size, "hidden size", least=1),
        context_tokens=whole(context_tokens, "context", least=1),
        dsa_sideband_bytes_per_query=whole(index_topk, "index top-k", least=0) * INDEX_BYTES,
        link_rate_bits_per_second=rate * 10**9,
        hop_latency_ns=ceil(latency * _NS_PER_MS),
    )


def sideband_crosses(next_block: int, full_indexer_blocks: Collection[int]) -> bool:
    """Return whether a seam before this block must carry indices: the block computes none of its own."""
    return next_block not in full_indexer_blocks
