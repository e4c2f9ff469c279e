"""Which caches a run keeps, of how many cells, and how many bytes of them lie on each block's device.

src/llama-model.cpp (create_memory), src/llama-kv-cache*.cpp, src/llama-memory-recurrent.cpp, b11434; equal to the byte
in the measured runs of commit 0c1e57098bba.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from solver.engines.llamacpp import families
from solver.engines.llamacpp.facts import CacheCells, FlashAttention
from tensors.architecture import MissingFact
from tensors.cache import CacheKind, CacheSettings, CacheTerm, term_bytes, term_cells, with_indexers
from tensors.errors import ArchitectureError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solver.engines.llamacpp.facts import Backend, Settings
    from solver.engines.llamacpp.profile import Profile
    from tensors.cache import CacheType
    from tensors.inventory import Inventory

__all__ = ["KeptTerm", "cache_cells", "kept_terms", "term_allocation"]

_CELL_MULTIPLE = 256


class KeptTerm(NamedTuple):
    """A term of the cache, as this run keeps it, and the settings that size it."""

    term: CacheTerm
    settings: CacheSettings

    @property
    def is_state(self) -> bool:
        """Return whether it is recurrent state, which does not grow with the context."""
        return self.term.kind is CacheKind.RECURRENT


def kept_terms(profile: Profile, inventory: Inventory, settings: Settings) -> tuple[KeptTerm, ...]:
    """Return the terms that a run keeps: of trunk blocks, and of nextn blocks where they draft or a build keeps them.

    A block that drafts has a context of its own, with types of its own and no state to take back.

    Raises:
        ArchitectureError: no rule says what the caches of this family are.
    """
    terms = inventory.architecture.cache
    if isinstance(terms, MissingFact):
        raise ArchitectureError(inventory.name, f"no rule for its caches: {terms.problem}")
    family = inventory.architecture.family
    trunk = inventory.trunk_blocks
    drafting = settings.drafts and family in profile.drafting_families
    kept: list[KeptTerm] = []
    main = _settings(settings, family, settings.type_k, settings.type_v)
    draft = replace(_settings(settings, family, settings.draft_type_k, settings.draft_type_v), states_per_sequence=1)
    own = with_indexers(terms, own=profile.sparse_caches, shared=False)
    if family in profile.pooled_key_families:
        own = tuple(_with_pooled_key(term) for term in own)
    for term in _shaped(own, settings):
        if term.block < trunk:
            kept.append(KeptTerm(term, main))
        elif drafting:
            kept.append(KeptTerm(term, draft))
        elif not profile.drops_nextn_cache(family):
            kept.append(KeptTerm(term, main))
    return tuple(kept)


def term_allocation(kept: KeptTerm, backend: Backend) -> int:
    """Return what a device sets aside for a term: K and V are a tensor each, with all cells of a stream as rows."""
    if kept.is_state:
        return _aligned(term_bytes(kept.term, kept.settings), backend)
    cells = term_cells(kept.term, kept.settings)
    return sum(
        _cells_bytes(width, cells, kind, backend)
        for width, kind in (
            (kept.term.key_values, kept.settings.type_k),
            (kept.term.value_values, kept.settings.type_v),
        )
        if width
    )


def cache_cells(kept: Iterable[KeptTerm]) -> tuple[CacheCells, ...]:
    """Return the caches of a run, one for each kind and length, with the blocks that share it."""
    groups: dict[tuple[CacheKind, int, int], list[int]] = {}
    for term, settings in kept:
        if term.kind is not CacheKind.RECURRENT:
            cells = term_cells(term, settings) // settings.streams
            groups.setdefault((term.kind, cells, settings.streams), []).append(term.block)
    return tuple(CacheCells(kind, cells, streams, tuple(blocks)) for (kind, cells, streams), blocks in groups.items())


def _settings(settings: Settings, family: str, type_k: CacheType, type_v: CacheType) -> CacheSettings:
    return CacheSettings(
        stream_tokens=settings.sequence_tokens,
        streams=settings.sequences if family in families.NEVER_UNIFIED else settings.streams,
        sequences=settings.sequences,
        type_k=type_k,
        type_v=type_v,
        cell_multiple=_CELL_MULTIPLE,
        window_extra_tokens=settings.micro_batch_tokens,
        states_per_sequence=settings.states_per_sequence,
    )


def _shaped(terms: Iterable[CacheTerm], settings: Settings) -> tuple[CacheTerm, ...]:
    """Return the terms with windows as long as the context where they are switched off, and V as wide as it is stored.

    Without fused attention V is stored transposed, and every block's rows are as wide as the widest
    (src/llama-kv-cache.cpp, TAG_V_CACHE_VARIABLE).
    """
    shaped = tuple(terms)
    if settings.full_windows:
        shaped = tuple(replace(term, window_tokens=None) for term in shaped)
    if settings.flash_attention is not FlashAttention.OFF:
        return shaped
    attention = {CacheKind.FULL, CacheKind.WINDOW}
    widest = max((term.value_values for term in shaped if term.kind in attention), default=0)
    return tuple(
        replace(term, value_values=widest) if term.kind in attention and term.value_values else term for term in shaped
    )


def _with_pooled_key(term: CacheTerm) -> CacheTerm:
    """Return an indexer with a second key in every cell (src/llama-memory-hybrid-idx.cpp), any other as it is."""
    return replace(term, key_values=2 * term.key_values) if term.kind is CacheKind.INDEXER else term


def _cells_bytes(width: int, cells: int, kind: CacheType, backend: Backend) -> int:
    size = width * cells * kind.block_bytes // kind.block_values
    if kind.block_values > 1 and width % backend.row_elements:
        size += (backend.row_elements - width % backend.row_elements) * kind.block_bytes // kind.block_values
    return _aligned(size, backend)


def _aligned(size: int, backend: Backend) -> int:
    return -(-size // backend.alignment_bytes) * backend.alignment_bytes
