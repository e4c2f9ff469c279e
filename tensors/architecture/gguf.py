"""The architecture that the keys of a GGUF header describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensors.architecture import gguf_families as families
from tensors.architecture.facts import Architecture, Experts, MissingFact
from tensors.architecture.gguf_blocks import (
    feed_forward_blocks,
    full_indexer_blocks,
    recurrent_blocks,
    recurrent_state,
    windows,
)
from tensors.architecture.gguf_header import Header
from tensors.architecture.lookup import MissingKey
from tensors.architecture.terms import compressed, full, indexer, latent, state, window
from tensors.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tensors.cache import CacheTerm
    from tensors.metadata import Metadata, Shapes

__all__ = ["from_gguf"]


def from_gguf(metadata: Metadata, tensors: Shapes) -> Architecture:
    """Return what a header says of a model. Nothing is raised: see `tensors.metadata`.

    `tensors` may be empty; it gives the number of blocks where the header does not, and says whether the head is tied.
    """
    header = Header.of(metadata, tensors)
    return Architecture(
        family=header.family,
        trunk_blocks=header.trunk_blocks,
        nextn_blocks=header.blocks - header.trunk_blocks,
        hidden_size=header.positive("embedding_length"),
        vocabulary_size=header.vocabulary_size(),
        context_tokens=header.positive("context_length"),
        heads=max(header.per_block("attention.head_count") or (0,)) or None,
        experts=_experts(header),
        index_topk=header.positive("attention.indexer.top_k"),
        index_block_tokens=header.positive("attention.indexer.block_size"),
        banked_every=header.positive("attn_res.block_size"),
        full_indexer_blocks=full_indexer_blocks(header),
        tied=header.tied(),
        cache=_cache(header),
    )


def _experts(header: Header) -> Experts | None:
    routed, used = header.positive("expert_count"), header.positive("expert_used_count")
    if routed is None or used is None:
        return None
    shared = header.positive("expert_shared_count")
    if shared is None:
        shared = 0 if header.positive("expert_shared_feed_forward_length") is None else 1
    return Experts(routed, used, shared)


def _cache(header: Header) -> tuple[CacheTerm, ...] | MissingFact:
    family = header.family
    if family in families.WITHOUT_CACHE:
        return ()
    if header.named and family not in families.KNOWN:
        return MissingFact(f'"general.architecture" is {quoted(family)}; expected a family whose cache is known here.')
    try:
        if not header.named:
            raise MissingKey("general.architecture")  # noqa: TRY301 (one place makes the sentence)
        if not header.blocks:
            raise MissingKey(header.key("block_count"))  # noqa: TRY301
        if family == families.COMPRESSED:
            return tuple(_compressed(header))
        return tuple(_terms(header))
    except MissingKey as missing:
        return MissingFact(missing.sentence("the header"))


def _terms(header: Header) -> Iterator[CacheTerm]:
    recurrent = recurrent_blocks(header)
    states = recurrent_state(header) if recurrent else (0, 0)
    attention = _attention(header, _attention_blocks(header, recurrent))
    for block in range(header.blocks):
        if block in recurrent:
            yield state(block, *states)
        yield from attention.get(block, ())
    yield from _lookup_state(header)


def _attention_blocks(header: Header, recurrent: frozenset[int]) -> tuple[int, ...]:
    rule = families.RECURRENT.get(header.family)
    beside = rule is not None and rule.blocks is families.RecurrentBlocks.BESIDE_ATTENTION
    without = feed_forward_blocks(header) | (frozenset() if beside else recurrent)
    own = families.kv_blocks_from_start(header.family, header.trunk_blocks, header.whole("attention.shared_kv_layers"))
    return tuple(
        block
        for block in range(header.blocks)
        if block not in without and (block < own or block >= header.trunk_blocks)
    )


@dataclass(frozen=True, slots=True)
class _Widths:
    """Widths of one head's K and V; of a window's, and whether K is a latent that serves as V too."""

    key: int
    value: int
    window_key: int
    window_value: int
    is_latent: bool

    @classmethod
    def of(cls, header: Header) -> _Widths:
        key, value = header.head_width("key_length"), header.head_width("value_length")
        return cls(
            key=key,
            value=value,
            window_key=header.positive("attention.key_length_swa") or key,
            window_value=header.positive("attention.value_length_swa") or value,
            # llama-hparams.cpp, is_mla: both keys above 0; a header may carry zeros for "not latent".
            is_latent=header.positive("attention.key_length_mla") is not None
            and header.positive("attention.value_length_mla") is not None,
        )

    def term(self, block: int, heads: int, window_tokens: int | None) -> CacheTerm:
        if self.is_latent:
            return latent(block, heads * self.key)
        if window_tokens is not None:
            return window(block, heads, self.window_key, self.window_value, window_tokens)
        return full(block, heads, self.key, self.value)


def _attention(header: Header, blocks: tuple[int, ...]) -> dict[int, tuple[CacheTerm, ...]]:
    """Return the terms of blocks with attention: K and V, and the keys of an indexer."""
    if not blocks:
        return {}
    heads = header.kv_heads()
    if not any(heads[block] for block in blocks):
        return {}
    widths = _Widths.of(header)
    window_tokens = windows(header)
    indexers = _indexers(header, widths)
    return {
        block: (widths.term(block, heads[block], window_tokens[block]), *indexers.get(block, ()))
        for block in blocks
        if heads[block]
    }


def _indexers(header: Header, widths: _Widths) -> dict[int, tuple[CacheTerm, ...]]:
    """Return the indexers of trunk blocks; a nextn block attends to everything (measured, --spec-type draft-mtp)."""
    rule = families.indexer_rule(header.family)
    if rule is None:
        return {}
    width = header.need("attention.indexer.key_length")
    start, value_width = 0, 0
    if rule is families.IndexerRule.POOLED and header.positive("attention.indexer.kpool") is not None:
        width *= 3
    if rule is families.IndexerRule.AFTER_DENSE:
        start, value_width = header.whole("leading_dense_block_count") or 0, widths.value
    own = frozenset(full_indexer_blocks(header))
    return {
        block: (indexer(block, width, value_width, own_indices=block in own),)
        for block in range(start, header.trunk_blocks)
    }


def _compressed(header: Header) -> Iterator[CacheTerm]:
    width = header.head_width("key_length")
    window_tokens = header.need("attention.sliding_window")
    ratios = header.per_block("attention.compress_ratios")
    if ratios is None:
        raise MissingKey(header.key("attention.compress_ratios"))
    for block, ratio in enumerate(ratios):
        index_width = header.need("attention.indexer.key_length")
        yield from compressed(block, width, ratio, window_tokens, index_width)


def _lookup_state(header: Header) -> Iterator[CacheTerm]:
    """Yield what the n-gram embeddings of qwen4exp carry: a convolution dilated by the length of the n-grams."""
    if header.family != "qwen4exp":
        return
    width = header.positive("embedding_length_out") or header.need("embedding_length")
    for block in header.numbers("ple.layers"):
        if block < header.blocks:
            taps = header.need("ple.conv_kernel") - 1
            yield state(block, 1, taps * header.need("ple.ngram_size") * width)
