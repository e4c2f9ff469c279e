"""Shapes of models as data: what the sizes of all their tensors follow from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GroupedShape", "LatentExpertShape", "MixtureShape"]


@dataclass(frozen=True, slots=True)
class GroupedShape:
    """A dense model with grouped attention, of the family `llama`.

    Widths are values of a row; `rope_frequencies` says that the file carries the rope's frequency factors.
    """

    blocks: int
    hidden: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_width: int
    vocabulary: int
    context: int
    tied: bool
    rope_frequencies: bool


@dataclass(frozen=True, slots=True)
class MixtureShape:
    """A model with grouped attention and routed experts on every block, of the family `mixtral`."""

    blocks: int
    hidden: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_width: int
    vocabulary: int
    context: int
    experts: int
    experts_used: int


@dataclass(frozen=True, slots=True)
class LatentExpertShape:
    """A model with latent attention, sparse indexers and routed experts, of the family `glm-dsa`.

    The first `dense_blocks` have a plain feed-forward network; `nextn_blocks` follow the trunk. A head's query and key
    have `nope` values without and `rope` with a rotation, its value `value_width`.
    """

    trunk_blocks: int
    nextn_blocks: int
    dense_blocks: int
    hidden: int
    feed_forward: int
    expert_feed_forward: int
    heads: int
    query_rank: int
    latent_rank: int
    nope: int
    rope: int
    value_width: int
    experts: int
    experts_used: int
    experts_shared: int
    index_heads: int
    index_width: int
    index_topk: int
    vocabulary: int
    context: int

    @property
    def blocks(self) -> int:
        """Return the blocks of trunk and nextn together."""
        return self.trunk_blocks + self.nextn_blocks
