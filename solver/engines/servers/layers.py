"""The cache terms of a model as layers that keep something, as one card of a rank sees them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from solver.errors import InputError
from solver.workload import IndexerRule
from tensors.architecture import MissingFact
from tensors.cache import CacheKind, with_indexers
from tensors.errors import ArchitectureError

if TYPE_CHECKING:
    from solver.workload import EngineName, Workload
    from tensors.cache import CacheTerm
    from tensors.inventory import Inventory

__all__ = ["CacheLayer", "LayerKind", "cache_layers", "chooses_its_type", "is_sparse"]

# What the engines take for a cache, in bytes a value (CacheDType in vllm/config/cache.py). "fp8_ds_mla" is a layout of
# latents; all else is then kept in 16 bits.
_VALUE_BYTES = {
    "auto": 2,
    "bf16": 2,
    "bfloat16": 2,
    "f16": 2,
    "float16": 2,
    "fp8": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "fp8_ds_mla": 2,
}
_PACKED_LATENTS = "fp8_ds_mla"
# Names of scales for 8-bit keys and values in a checkpoint, which then decides the cache's type where nobody does.
_CACHE_SCALES = ("k_scale", "kv_scale", "k_proj.output_scale")
# 512 values in 8 bits, a 32-bit scale for each 128 of them, and 64 rotary values in 16 bits (flashmla_sparse.py).
_PACKED_LATENT_WIDTH, _PACKED_LATENT_BYTES = 576, 512 + 16 + 128
# Indexer keys are kept in 8 bits with a 32-bit scale for each 128 of them, whatever the cache's type.
_INDEXER_SCALED_VALUES, _INDEXER_SCALE_BYTES = 128, 4
_STATE_VALUE_BYTES = 4


class LayerKind(Enum):
    """How long a layer keeps what it has seen: all of it, a window of it, or a state of fixed size."""

    FULL = auto()
    WINDOW = auto()
    STATE = auto()


@dataclass(frozen=True, slots=True)
class CacheLayer:
    """What one term of a block keeps on one card: bytes a token, or for a state, bytes a sequence.

    `window_tokens` is None unless the kind is a window.
    """

    block: int
    kind: LayerKind
    window_tokens: int | None
    token_bytes: int
    state_bytes: int


def cache_layers(
    inventory: Inventory, workload: Workload, engine: EngineName, placed_blocks: int, width: int
) -> tuple[CacheLayer, ...]:
    """Return the layers of the placed blocks in order.

    Heads of keys and values are shared out among `width` cards, at least one each; latents and indexer keys are kept by
    every card.

    Raises:
        ArchitectureError: the architecture does not say what is kept, or keeps what the engine has no known rule for.
        InputError: the engine has no cache of the types asked for.
    """
    if workload.cache_bytes_per_token is not None:
        return _given(workload.cache_bytes_per_token, inventory.trunk_blocks, width)
    terms = inventory.architecture.cache
    if isinstance(terms, MissingFact):
        raise ArchitectureError(inventory.name, terms.problem)
    value_bytes = _value_bytes(workload, engine)
    # A multi-token prediction block attends to everything: it keeps no indexer keys.
    of_trunk = (term for term in terms if term.kind is not CacheKind.INDEXER or term.block < inventory.trunk_blocks)
    kept = with_indexers(
        of_trunk,
        own=workload.indexer is not IndexerRule.NONE,
        shared=workload.indexer is IndexerRule.CONSERVATIVE,
    )
    # Cards before Blackwell keep 8-bit latents of sparse attention in the packed layout, which is the larger.
    packed = workload.cache_type_k.lower() == _PACKED_LATENTS or (value_bytes == 1 and is_sparse(inventory))
    layers = []
    for term in sorted((term for term in kept if term.block < placed_blocks), key=lambda term: term.block):
        if term.tokens_per_cell > 1:
            raise ArchitectureError(
                inventory.name,
                f"no rule for {engine}: its cache has cells that stand for {term.tokens_per_cell} tokens each.",
            )
        layers.append(_layer(term, value_bytes, width, packed=packed))
    return tuple(layers)


def is_sparse(inventory: Inventory) -> bool:
    """Return whether attention looks up an index of what was said, by keys of its own."""
    terms = inventory.architecture.cache
    return not isinstance(terms, MissingFact) and any(term.kind is CacheKind.INDEXER for term in terms)


def chooses_its_type(inventory: Inventory) -> bool:
    """Return whether the engines may keep the cache in 8 bits where nobody says its type.

    So they do for sparse attention on some cards, and where a checkpoint has scales for its keys and values.
    """
    return is_sparse(inventory) or any(tensor.name.endswith(_CACHE_SCALES) for tensor in inventory.tensors)


def _layer(term: CacheTerm, value_bytes: int, width: int, *, packed: bool) -> CacheLayer:
    kind = {CacheKind.WINDOW: LayerKind.WINDOW, CacheKind.RECURRENT: LayerKind.STATE}.get(term.kind, LayerKind.FULL)
    values = _of_card(term.key_values, term, width) + _of_card(term.value_values, term, width)
    token_bytes = values * value_bytes
    if term.kind is CacheKind.INDEXER:
        token_bytes = values + -(-values // _INDEXER_SCALED_VALUES) * _INDEXER_SCALE_BYTES
    elif term.kind is CacheKind.LATENT and packed and values == _PACKED_LATENT_WIDTH:
        token_bytes = _PACKED_LATENT_BYTES
    return CacheLayer(
        block=term.block,
        kind=kind,
        window_tokens=term.window_tokens,
        token_bytes=token_bytes,
        state_bytes=_of_card(term.state_values, term, width) * _STATE_VALUE_BYTES,
    )


def _of_card(values: int, term: CacheTerm, width: int) -> int:
    """Return how many of the values one card keeps: whole heads, at least one."""
    heads = -(-term.heads // width)
    return -(-values * heads // term.heads)


def _value_bytes(workload: Workload, engine: EngineName) -> int:
    key_type, value_type = workload.cache_type_k.lower(), workload.cache_type_v.lower()
    for name in (key_type, value_type):
        if name not in _VALUE_BYTES:
            raise InputError(
                f"cache type of {engine}",
                f'"{name[:40]}" is not one; expected one of {", ".join(_VALUE_BYTES)}. Change it.',
            )
    if key_type != value_type:
        raise InputError(
            f"cache type of {engine}",
            f'"{key_type}" for keys and "{value_type}" for values; expected one type for both. Give one.',
        )
    return _VALUE_BYTES[key_type]


def _given(bytes_per_token: int, trunk_blocks: int, width: int) -> tuple[CacheLayer, ...]:
    """Spread a given number of bytes a token evenly over the trunk blocks, to the byte, and over a rank's cards."""
    ends = [(block + 1) * bytes_per_token // trunk_blocks for block in range(trunk_blocks)]
    shares = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    return tuple(
        CacheLayer(block, LayerKind.FULL, None, -(-share // width), 0) for block, share in enumerate(shares) if share
    )
