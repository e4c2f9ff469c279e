"""Where a config.json and the tensors beside it disagree: the tensors are what is loaded, so they are believed.

Only shapes that no packing changes are looked at: rows of matrices, and the length of the last norm.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tensors.architecture.facts import MissingFact
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tensors.architecture.facts import Architecture
    from tensors.cache import CacheTerm
    from tensors.metadata import Shapes

__all__ = ["by_tensors", "disagreements"]

_PREFIXES = (
    "",
    "model.",
    "language_model.model.",
    "model.language_model.",
    "language_model.",
    "transformer.",
    "backbone.",
)
_EMBEDDINGS = tuple(f"{prefix}{name}.weight" for prefix in _PREFIXES for name in ("embed_tokens", "embeddings", "wte"))
_LAST_NORMS = tuple(f"{prefix}{name}.weight" for prefix in _PREFIXES for name in ("norm", "norm_f", "ln_f"))
_MATRIX = 2

_PROJECTION = re.compile(
    r"(?:(?:model|language_model|text_model|transformer|backbone)\.)*(?:layers|h|blocks)\.(\d{1,4})\."
    r"(?:self_attn|attn|attention|mixer)\.([kv])_proj\.weight",
    re.ASCII,
)
# Names of hundreds of thousands of experts are told apart by their ends, which is cheap.
_PROJECTION_ENDS = (".k_proj.weight", ".v_proj.weight")
_ROUTER_ENDS = (".gate.weight", ".router.weight")
_ROUTER = re.compile(r".*\.layers\.\d{1,4}\.(?:mlp|block_sparse_moe|feed_forward)\.(?:gate|router)\.weight", re.ASCII)


def by_tensors(architecture: Architecture, tensors: Shapes) -> Architecture:
    """Return an architecture with what the shapes of its tensors say in place of what a config says."""
    rows = [tensors[name][0] for name in _EMBEDDINGS if len(tensors.get(name, ())) == _MATRIX]
    widths = [tensors[name][0] for name in _LAST_NORMS if len(tensors.get(name, ())) == 1]
    experts = architecture.experts
    if experts is not None:
        routed = _routed(tensors)
        if routed and routed != experts.routed:
            experts = replace(experts, routed=routed)
    return replace(
        architecture,
        vocabulary_size=next(filter(None, rows), architecture.vocabulary_size),
        hidden_size=next(filter(None, widths), architecture.hidden_size),
        experts=experts,
        cache=_cache(architecture, tensors),
    )


def disagreements(stated: Architecture, found: Architecture) -> Iterator[str]:
    """Yield a sentence for every fact that a config states otherwise than the tensors do."""
    numbers = (
        ("trunk blocks", stated.trunk_blocks or None, found.trunk_blocks),
        ("values between blocks", stated.hidden_size, found.hidden_size),
        ("tokens of vocabulary", stated.vocabulary_size, found.vocabulary_size),
        ("routed experts", stated.experts and stated.experts.routed, found.experts and found.experts.routed),
    )
    for what, said, held in numbers:
        if said is not None and held is not None and said != held:
            yield f"config.json states {said:,} {what}; the tensors hold {held:,}, which is taken"
    if stated.tied is True and found.tied is False:
        yield "config.json ties the head to the input; the tensors hold a matrix of the head's own, which is taken"
    yield from _cache_disagreement(stated, found)


def _cache_disagreement(stated: Architecture, found: Architecture) -> Iterator[str]:
    if isinstance(stated.cache, MissingFact) or isinstance(found.cache, MissingFact):
        return
    said = {(term.kind, term.block): term for term in stated.cache}
    other = [(term, was) for term in found.cache if (was := said.get((term.kind, term.block), term)) != term]
    if other:
        term, was = other[0]
        yield (
            f"config.json states K and V of {was.key_values:,} and {was.value_values:,} values for block {term.block}; "
            f"the tensors make {term.key_values:,} and {term.value_values:,}, which is taken"
            + (f" (so in {len(other):,} blocks)" if len(other) > 1 else "")
        )


def _routed(tensors: Shapes) -> int | None:
    """Return the most outputs of a router."""
    routers = (
        shape[0]
        for name, shape in tensors.items()
        if name.endswith(_ROUTER_ENDS) and len(shape) == _MATRIX and _ROUTER.fullmatch(name)
    )
    return max(routers, default=None)


def _cache(architecture: Architecture, tensors: Shapes) -> tuple[CacheTerm, ...] | MissingFact:
    if isinstance(architecture.cache, MissingFact):
        return architecture.cache
    rows = _projections(tensors) if tensors else {}
    return tuple(_fitted(term, rows.get((term.block, "k")), rows.get((term.block, "v"))) for term in architecture.cache)


def _projections(tensors: Shapes) -> Mapping[tuple[int, str], int]:
    """Return the rows of the projections to K and V by block; a matrix of one column is packed and tells nothing."""
    return {
        (int(match[1]), match[2]): shape[0]
        for name, shape in tensors.items()
        if name.endswith(_PROJECTION_ENDS)
        and len(shape) == _MATRIX
        and shape[1] > 1
        and (match := _PROJECTION.fullmatch(name))
    }


def _fitted(term: CacheTerm, key_rows: int | None, value_rows: int | None) -> CacheTerm:
    """Return a term of K and V with the values that the projections make, in heads as wide as stated."""
    if term.kind not in {CacheKind.FULL, CacheKind.WINDOW} or not key_rows or key_rows == term.key_values:
        return term
    width = term.key_values // term.heads if term.heads else 0
    heads = key_rows // width if width and key_rows % width == 0 else 1
    values = value_rows or (term.value_values * key_rows // term.key_values if term.key_values else key_rows)
    return replace(term, heads=heads, key_values=key_rows, value_values=values)
