"""What is to be placed, with the rule that gave each number: from bytes and facts, or from a model's inventory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.closed_form.cache import ArchitectureFacts, bytes_per_value, kv_bytes
from solver.closed_form.numbers import whole
from solver.errors import InputError
from tensors.architecture import MissingFact
from tensors.cache import CacheKind, block_caches, cache_type, generic_settings, with_indexers
from tensors.inventory import Part

if TYPE_CHECKING:
    from tensors.architecture import Architecture
    from tensors.cache import CacheTerm
    from tensors.inventory import Inventory

__all__ = ["CacheRequest", "Target", "facts_of", "target_of_bytes", "target_of_inventory"]


@dataclass(frozen=True, slots=True)
class CacheRequest:
    """What decides the size of a cache: tokens a sequence, sequences, types of keys and values, rule of the indexer.

    `bytes_per_token` replaces the architecture's rule where it is given; 0 means that no cache is counted.
    """

    context_tokens: int
    sequences: int
    type_k: str
    type_v: str
    indexer: str
    bytes_per_token: int | None

    def __post_init__(self) -> None:
        whole(self.context_tokens, "context", least=1)
        whole(self.sequences, "sequences", least=1)
        if self.bytes_per_token is not None:
            whole(self.bytes_per_token, "cache bytes per token", least=0)


@dataclass(frozen=True, slots=True)
class _SizedCache:
    size_bytes: int
    rule: str
    indexer: str | None


@dataclass(frozen=True, slots=True)
class Target:
    """Bytes of weights and cache. The two rules are phrases for a person; `notes` say what is not counted.

    `indexer` is the rule that the cache was sized by, None where no indexer keeps anything.
    """

    name: str
    weight_bytes: int
    weight_rule: str
    kv_bytes: int
    kv_rule: str
    indexer: str | None
    request: CacheRequest
    notes: tuple[str, ...]


def target_of_bytes(name: str, weight_bytes: int, facts: ArchitectureFacts | None, request: CacheRequest) -> Target:
    """Return the target of an artifact known by its size; `facts` may be None where bytes a token are given.

    Raises:
        InputError: a number is out of its range, a name unknown, or nothing says how large the cache is.
    """
    whole(weight_bytes, "weights in bytes", least=1)
    if facts is None and request.bytes_per_token is None:
        raise InputError(
            "cache", "neither facts of the architecture nor bytes per token are known; expected either. Give one."
        )
    cache = _given_cache(request) if facts is None else _latent_cache(facts, request)
    return Target(
        name=name,
        weight_bytes=weight_bytes,
        weight_rule="file bytes as given",
        kv_bytes=cache.size_bytes,
        kv_rule=cache.rule,
        indexer=cache.indexer,
        request=request,
        notes=(),
    )


def target_of_inventory(inventory: Inventory, request: CacheRequest, *, resident_nextn: bool) -> Target:
    """Return the target of a model whose headers were read: its tensors, and the cache of its trunk blocks.

    Raises:
        InputError: a type or rule is unknown, or the headers lack what the size of the cache follows from.
    """
    nextn_bytes = inventory.part_bytes(Part.NEXTN)
    weight_bytes = inventory.weight_bytes - (0 if resident_nextn else nextn_bytes)
    cache = _inventory_cache(inventory, request)
    weight_rule, note = "sum of all tensor bytes", None
    if inventory.nextn_blocks and resident_nextn:
        weight_rule = "sum of all tensor bytes, nextn blocks resident"
        note = "cache: trunk blocks alone are counted, not the nextn blocks"
    elif inventory.nextn_blocks:
        weight_rule = "sum of all tensor bytes but those of nextn blocks"
        note = f"weights: {nextn_bytes:,} B of nextn blocks are left out"
    return Target(
        name=inventory.name,
        weight_bytes=weight_bytes,
        weight_rule=weight_rule,
        kv_bytes=cache.size_bytes,
        kv_rule=cache.rule,
        indexer=cache.indexer,
        request=request,
        notes=() if note is None else (note,),
    )


def facts_of(architecture: Architecture) -> ArchitectureFacts | None:
    """Return the six facts where every trunk block keeps one latent of the same width, None for any other model."""
    if isinstance(architecture.cache, MissingFact) or architecture.hidden_size is None:
        return None
    trunk = [term for term in architecture.cache if term.block < architecture.trunk_blocks]
    latent = [term for term in trunk if term.kind is CacheKind.LATENT]
    indexer = [term for term in trunk if term.kind is CacheKind.INDEXER]
    blocks = list(range(architecture.trunk_blocks))
    alike = len(latent) + len(indexer) == len(trunk) and _alike(latent, blocks)
    if not alike or (indexer and not _alike(indexer, blocks)):
        return None
    return ArchitectureFacts(
        trunk_blocks=architecture.trunk_blocks,
        latent_values=latent[0].key_values,
        full_indexer_blocks=sum(term.own_indices for term in indexer),
        index_head_width=indexer[0].key_values if indexer else 0,
        hidden_size=architecture.hidden_size,
        index_topk=architecture.index_topk or 0,
    )


def _alike(terms: list[CacheTerm], blocks: list[int]) -> bool:
    """Say whether every block has one such term, all of one width of keys and nothing else."""
    shapes = {(term.key_values, term.value_values, term.state_values, term.window_tokens) for term in terms}
    plain = len(shapes) == 1 and all(shape[0] > 0 and shape[1:] == (0, 0, None) for shape in shapes)
    return plain and sorted(term.block for term in terms) == blocks and {term.tokens_per_cell for term in terms} == {1}


def _inventory_cache(inventory: Inventory, request: CacheRequest) -> _SizedCache:
    if request.bytes_per_token is not None:
        return _given_cache(request)
    facts = facts_of(inventory.architecture)
    if facts is not None:
        return _latent_cache(facts, request)
    terms = inventory.architecture.cache
    if isinstance(terms, MissingFact):
        raise InputError(f"{inventory.name}, cache", f"{terms.problem} Give bytes per token in its place.")
    bytes_per_value(request.type_k)
    bytes_per_value(request.type_v)
    kept = with_indexers(terms, own=request.indexer != "none", shared=request.indexer == "conservative")
    settings = generic_settings(
        request.context_tokens, request.sequences, cache_type(request.type_k), cache_type(request.type_v)
    )
    sizes = block_caches(kept, inventory.trunk_blocks, settings)
    kinds = sorted({term.kind for term in kept if term.block < inventory.trunk_blocks})
    return _SizedCache(
        size_bytes=sum(block.cache_bytes for block in sizes),
        rule=f"sum over the cache terms of trunk blocks ({', '.join(kinds) or 'none'})",
        indexer=request.indexer if any(term.kind is CacheKind.INDEXER for term in terms) else None,
    )


def _given_cache(request: CacheRequest) -> _SizedCache:
    per_token = request.bytes_per_token or 0
    size = per_token * request.context_tokens * request.sequences
    return _SizedCache(size, f"{per_token:,} B a token, as given", None)


def _latent_cache(facts: ArchitectureFacts, request: CacheRequest) -> _SizedCache:
    if request.bytes_per_token is not None:
        return _given_cache(request)
    size = kv_bytes(
        facts,
        context_tokens=request.context_tokens,
        sequences=request.sequences,
        cache_type=request.type_k,
        indexer=request.indexer,
    )
    indexers = {"conservative": facts.trunk_blocks, "optimized": facts.full_indexer_blocks}.get(request.indexer, 0)
    keys = f"{facts.index_head_width} index keys in {indexers}" if facts.index_head_width else "no index keys"
    rule = f"latent attention: {facts.latent_values} values in {facts.trunk_blocks} blocks, {keys}"
    return _SizedCache(size, rule, request.indexer if facts.index_head_width else None)
