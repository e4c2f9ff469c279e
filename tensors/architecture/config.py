"""The architecture that a config.json describes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tensors.architecture import config_families as families
from tensors.architecture.agreement import by_tensors
from tensors.architecture.config_blocks import BlockKind, block_config_heads
from tensors.architecture.config_header import TextConfig, language_model
from tensors.architecture.facts import Architecture, Experts, MissingFact
from tensors.architecture.lookup import MissingKey, first, text
from tensors.architecture.terms import compressed, full, indexer, latent, state, window
from tensors.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tensors.cache import CacheTerm
    from tensors.metadata import Config, Shapes

__all__ = ["from_config"]

_UNNAMED = "unknown"
_CONTEXT = ("max_position_embeddings", "n_positions", "n_ctx", "seq_length", "max_sequence_length", "max_seq_len")
_WINDOW = ("sliding_window", "attention_chunk_size", "sliding_window_size")
_ROUTED = ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")
_USED = ("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts", "moe_top_k")


def from_config(config: Config, tensors: Shapes) -> Architecture:
    """Return what a config.json says of a model. Nothing is raised: see `tensors.metadata`.

    `tensors` may be empty; it gives the number of blocks where the config does not, whether the nextn blocks that the
    config declares are there, and whether the head is tied. What shapes say otherwise than the config, they say better.
    """
    outer = text(config.get("model_type"))
    model = language_model(config, tensors, outer or _UNNAMED)
    values = model.values
    family = _family(config, model, outer)
    described = Architecture(
        family=outer or _UNNAMED,
        trunk_blocks=model.trunk_blocks,
        nextn_blocks=model.blocks - model.trunk_blocks,
        hidden_size=first(values, "hidden_size", "n_embd", "d_model", "dim") or None,
        vocabulary_size=first(values, "vocab_size", "padded_vocab_size") or None,
        context_tokens=first(values, *_CONTEXT) or None,
        heads=first(values, "num_attention_heads", "n_head", "n_heads") or None,
        experts=_experts(model),
        index_topk=first(values, "index_topk") or None,
        index_block_tokens=None,
        banked_every=None,
        full_indexer_blocks=tuple(block for block in _own_indices(family, model) if block < model.trunk_blocks),
        tied=_tied(config, model, tensors),
        cache=_cache(family, model),
    )
    return by_tensors(described, tensors) if tensors else described


def _family(config: Config, model: TextConfig, outer: str | None) -> str | None:
    """Return the name under which the tables know a config, else the name it gives itself."""
    inner = text(model.values.get("model_type"))
    classes = config.get("architectures")
    named = (
        [families.OF_CLASS.get(name) for name in classes if isinstance(name, str)] if isinstance(classes, list) else []
    )
    for name in (inner, outer, *named):
        known = None if name is None else name.removesuffix("_text")
        if known in families.FAMILIES or known in families.WITHOUT_CACHE or known == families.COMPRESSED:
            return known
    return inner or outer


def _experts(model: TextConfig) -> Experts | None:
    routed, used = model.whole(*_ROUTED), model.whole(*_USED)
    if not routed or not used:
        return None
    shared = model.whole("n_shared_experts", "num_shared_experts")
    if shared is None:
        width = model.whole("shared_expert_intermediate_size", "shared_intermediate_size", "share_expert_dim")
        shared = 1 if width else 0
    return Experts(routed, used, shared)


def _tied(config: Config, model: TextConfig, tensors: Shapes) -> bool | None:
    if any(name.endswith(("lm_head.weight", "embed_out.weight", "output_layer.weight")) for name in tensors):
        return False
    for values in (model.values, config):
        said = values.get("tie_word_embeddings")
        if isinstance(said, bool):
            return said
    return None


def _cache(family: str | None, model: TextConfig) -> tuple[CacheTerm, ...] | MissingFact:
    if family in families.WITHOUT_CACHE:
        return ()
    try:
        if family is None:
            raise MissingKey("model_type")  # noqa: TRY301 (one place makes the sentence)
        if family == families.COMPRESSED:
            return tuple(_compressed(model))
        rule = families.FAMILIES.get(family)
        if rule is None:
            return MissingFact(f'"model_type" is {quoted(family)}; expected a family whose cache is known here.')
        if not model.blocks:
            raise MissingKey("num_hidden_layers")  # noqa: TRY301
        return tuple(_terms(rule, family, model))
    except MissingKey as missing:
        return MissingFact(missing.sentence("config.json"))


def _terms(rule: families.Family, family: str, model: TextConfig) -> Iterator[CacheTerm]:
    kinds = rule.kinds(model)
    kinds += (BlockKind.FULL,) * (model.blocks - len(kinds))
    states = rule.state(model) if rule.state is not None else (0, 0)
    heads_of_blocks = block_config_heads(model) if "block_configs" in model.values else ()
    own_indices = frozenset(_own_indices(family, model))
    first_shared = model.trunk_blocks - (model.whole("num_kv_shared_layers") or 0)
    for block, kind in enumerate(kinds):
        if kind in (BlockKind.RECURRENT, BlockKind.BOTH):
            yield state(block, *states)
        if kind in (BlockKind.RECURRENT, BlockKind.NOTHING) or first_shared <= block < model.trunk_blocks:
            continue
        if rule.is_latent:
            yield latent(block, model.need("kv_lora_rank") + model.need("qk_rope_head_dim"))
        else:
            heads = heads_of_blocks[block] if block < len(heads_of_blocks) else None
            yield _grouped(rule, model, block, kind, heads)
        if rule.has_indexer:
            yield indexer(block, model.need("index_head_dim"), own_indices=block in own_indices)


def _grouped(rule: families.Family, model: TextConfig, block: int, kind: BlockKind, heads: int | None) -> CacheTerm:
    """Return K and V of one block; some families have heads and widths of their own for blocks with a window."""
    width = model.head_width(rule.head_width)
    value_width = model.whole("v_head_dim") or width
    if kind is BlockKind.WINDOW and not _covers_context(model):
        key_width = model.whole("swa_head_dim") or width
        return window(
            block,
            model.whole("swa_num_key_value_heads") or model.kv_heads(),
            key_width,
            model.whole("swa_v_head_dim", "swa_head_dim") or value_width,
            model.need(*_WINDOW),
        )
    global_width = model.whole("global_head_dim")
    if heads is None and model.values.get("attention_k_eq_v") is True:
        heads = model.whole("num_global_key_value_heads")
    return full(block, heads or model.kv_heads(), global_width or width, global_width or value_width)


def _covers_context(model: TextConfig) -> bool:
    """Return whether the window is no shorter than the longest context, and so none."""
    return model.need(*_WINDOW) >= (model.whole(*_CONTEXT) or sys.maxsize)


def _own_indices(family: str | None, model: TextConfig) -> tuple[int, ...]:
    """Return the blocks that compute indices of their own: those `indexer_types` calls full, else every freq-th one."""
    rule = families.FAMILIES.get(family) if family is not None else None
    if rule is None or not rule.has_indexer:
        return ()
    types = model.texts("indexer_types")
    if types is not None:
        types += ("full",) * (model.blocks - len(types))
        return tuple(block for block in range(model.blocks) if types[block] == "full")
    every = model.whole("index_topk_freq") or 1
    offset = model.whole("index_skip_topk_offset") or 1
    return tuple(
        block for block in range(model.blocks) if max(block - offset + 1, 0) % every == 0 or block >= model.trunk_blocks
    )


def _compressed(model: TextConfig) -> Iterator[CacheTerm]:
    ratios = model.numbers("compress_ratios")
    if ratios is None:
        raise MissingKey("compress_ratios")
    ratios += (0,) * (model.blocks - len(ratios))
    width, window_tokens = model.need("head_dim"), model.need("sliding_window")
    for block, ratio in enumerate(ratios):
        yield from compressed(block, width, ratio, window_tokens, model.need("index_head_dim"))
