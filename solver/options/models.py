"""A model's headers as an artifact: exact bytes and weights, the type that holds most bytes, its cache a token."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.options.artifact import GGUF, Artifact, Shape
from solver.options.quantisation import quant_of
from solver.workload import EngineName, IndexerRule, Workload
from tensors.architecture import MissingFact
from tensors.cache import CacheKind, block_caches, cache_type, generic_settings, with_indexers
from tensors.errors import ArchitectureError
from tensors.packing import parameter_counts
from tensors.parts import part_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.options.option import Option
    from tensors.inventory import Inventory

__all__ = ["Offered", "artifact_of", "beyond_training", "is_companion", "offered", "told_apart", "workload_of"]

_PROJECTORS = frozenset({"clip"})
_ADAPTER = ".lora_"


@dataclass(frozen=True, slots=True)
class Offered:
    """An artifact with the headers behind it and what is asked of it; None where no header says its blocks."""

    artifact: Artifact
    inventory: Inventory | None
    workload: Workload | None


def offered(
    inventory: Inventory, context_tokens: int, cache_types: tuple[str, str] | None, bytes_per_token: int | None
) -> Offered:
    """Return a model as what is offered; `bytes_per_token` replaces the architecture's rule for its cache.

    Raises:
        ArchitectureError: the cache cannot be sized.
    """
    workload = workload_of(inventory, context_tokens, cache_types, bytes_per_token)
    return Offered(artifact_of(inventory, workload), inventory, workload)


def told_apart(offers: Sequence[Offered]) -> tuple[Offered, ...]:
    """Return what is offered in its order, with a number behind names that stood before: `X`, `X (2)`."""
    taken = {one.artifact.name for one in offers}
    seen: set[str] = set()
    found = []
    for one in offers:
        name, number = one.artifact.name, 1
        while name in seen or (number > 1 and name in taken):
            number += 1
            name = f"{one.artifact.name} ({number})"
        seen.add(name)
        found.append(one if number == 1 else replace(one, artifact=replace(one.artifact, name=name)))
    return tuple(found)


def is_companion(inventory: Inventory) -> bool:
    """Return whether files accompany a model and are none: an image projector, or an adapter by its tensors' names."""
    if inventory.architecture.family in _PROJECTORS:
        return True
    return any(_ADAPTER in tensor.name.lower() for tensor in inventory.tensors)


def beyond_training(offers: Sequence[Offered], options: Sequence[Option]) -> tuple[str, ...]:
    """Return a sentence on each trained length that a longest context among the options goes beyond."""
    longest: dict[str, int] = {}
    for option in options:
        longest[option.artifact.name] = max(longest.get(option.artifact.name, 0), option.longest_context or 0)
    beyond = {
        trained
        for one in offers
        if one.inventory is not None
        and (trained := one.inventory.architecture.context_tokens) is not None
        and longest.get(one.artifact.name, 0) > trained
    }
    return tuple(
        f"A context beyond the {tokens:,} tokens that a model was trained for is what memory has room for."
        for tokens in sorted(beyond)
    )


def workload_of(
    inventory: Inventory, context_tokens: int, cache_types: tuple[str, str] | None, bytes_per_token: int | None
) -> Workload:
    """Return the request of one sequence, with the cache types of the engine that serves this format."""
    engine = EngineName.LLAMACPP if inventory.format == GGUF else EngineName.VLLM
    key, value = cache_types or (engine.cache_type, engine.cache_type)
    return Workload(
        context_tokens=max(context_tokens, 1),
        sequences=1,
        cache_type_k=key,
        cache_type_v=value,
        indexer=IndexerRule.OPTIMIZED if inventory.format == GGUF else IndexerRule.CONSERVATIVE,
        resident_nextn=False,
        cache_bytes_per_token=bytes_per_token,
    )


def artifact_of(inventory: Inventory, workload: Workload) -> Artifact:
    """Return the artifact that a model's files are.

    Raises:
        ArchitectureError: the cache cannot be sized, and the workload does not give its bytes.
    """
    per_token = workload.cache_bytes_per_token
    return Artifact(
        name=_name(inventory),
        format=inventory.format,
        size_bytes=sum(file.size_bytes + file.missing_bytes for file in inventory.files),
        shards=len(inventory.files),
        quant=_quant(inventory),
        shape=Shape(
            cache_bytes_per_token=_bytes_per_token(inventory, workload) if per_token is None else per_token,
            kv_heads=inventory.architecture.kv_heads or 0,
            parameters=sum(parameter_counts(inventory)),
        ),
    )


def _name(inventory: Inventory) -> str:
    """Return what tells artifacts of one repository apart: the stem of a GGUF file, the name of a checkpoint."""
    first = inventory.files[0].name if inventory.files else inventory.name
    if inventory.format != GGUF:
        return inventory.name
    part = part_name(first)
    return part.stem if part else first.removesuffix(".gguf")


def _quant(inventory: Inventory) -> str:
    heaviest = _heaviest_type(inventory)
    if inventory.format != GGUF:
        return heaviest.lower()
    return heaviest or quant_of(_name(inventory))


def _heaviest_type(inventory: Inventory) -> str:
    sizes: Counter[str] = Counter()
    for tensor in inventory.tensors:
        sizes[tensor.type] += tensor.size_bytes
    return max(sizes, key=lambda name: (sizes[name], name), default="")


def _bytes_per_token(inventory: Inventory, workload: Workload) -> int:
    """Return the cache of the whole context over its tokens, rounded up: windows and states take their share of it."""
    terms = inventory.architecture.cache
    if isinstance(terms, MissingFact):
        raise ArchitectureError(inventory.name, terms.problem)
    settings = generic_settings(
        workload.context_tokens,
        workload.sequences,
        cache_type(workload.cache_type_k),
        cache_type(workload.cache_type_v),
    )
    trunk = (term for term in terms if term.kind is not CacheKind.INDEXER or term.block < inventory.trunk_blocks)
    kept = with_indexers(trunk, own=True, shared=workload.indexer is IndexerRule.CONSERVATIVE)
    total = sum(cache.cache_bytes for cache in block_caches(kept, inventory.trunk_blocks, settings))
    return -(-total // workload.context_tokens)
