"""What the closed forms are asked about: a target from MODEL or from flags, and the memories of a cluster's nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from solver.cli.shared_flags import DEFAULT_CONTEXT_TOKENS, EngineName
from solver.closed_form import NodeMemory, PooledMemory, ReservePolicy
from solver.closed_form.numbers import gib
from solver.closed_form.route import MemoryView
from solver.closed_form.target import CacheRequest, target_of_bytes, target_of_inventory
from solver.errors import UsageError
from solver.facts_file import BUILT_IN_FACTS, NamedFacts, read_facts
from tensors.errors import ArchitectureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.cli.closed_form_flags import SourceOptions
    from solver.cli.reading import ReadOptions
    from solver.cli.shared_flags import WorkloadOptions
    from solver.closed_form import Memory
    from solver.closed_form.target import Target
    from solver.cluster import Cluster, ClusterNode, Reserve
    from solver.workload import Workload
    from tensors.inventory import Inventory

__all__ = ["Asked", "SeamWidths", "asked", "memories", "pool_notes", "prefill_tokens", "seam_widths"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A target with the workload that its cache is sized for; `inventory` is there where a model was named."""

    target: Target
    workload: Workload
    inventory: Inventory | None


@dataclass(frozen=True, slots=True)
class SeamWidths:
    """What decides the bytes at a seam, and the name of its origin."""

    name: str
    hidden_size: int
    index_topk: int
    trained_tokens: int | None


def asked(
    command: str, model: str | None, source: SourceOptions, reading: ReadOptions, options: WorkloadOptions
) -> Asked:
    """Return what a command is asked about.

    Raises:
        UsageError: flags contradict each other, or neither MODEL nor flags say what is to be placed.
        InputError: a file or value cannot be meant.
    """
    _check_source(command, model, source)
    if model is not None:
        inventory = reading.read(model)
        workload = options.workload(EngineName.GENERIC, inventory.architecture.context_tokens)
        target = target_of_inventory(inventory, _request(workload), resident_nextn=workload.resident_nextn)
        return Asked(target, workload, inventory)
    if options.resident_nextn:
        raise UsageError(
            f"layerfit {command}, --resident-nextn: the weights are given in bytes, whatever they hold; "
            "expected MODEL beside it. Leave it out."
        )
    named = None if source.architecture is None else _facts(source.architecture)
    workload = options.workload(EngineName.GENERIC, None if named is None else named.context_tokens)
    if source.weight_bytes is None or (named is None and workload.cache_bytes_per_token is None):
        missing = "--weight-bytes" if source.weight_bytes is None else "--architecture"
        raise UsageError(f"layerfit {command}: {missing} is missing; expected it where no MODEL is named. Add it.")
    name = "weights as given" if named is None else named.name
    facts = None if named is None else named.facts
    return Asked(target_of_bytes(name, source.weight_bytes, facts, _request(workload)), workload, None)


def seam_widths(model: str | None, source: SourceOptions, reading: ReadOptions) -> SeamWidths:
    """Return the widths that a command about seams is asked about.

    Raises:
        UsageError: flags contradict each other, or neither MODEL nor flags name an architecture.
        ArchitectureError: the model's headers do not say how wide its activations are.
    """
    _check_source("seams", model, source)
    if model is not None:
        inventory = reading.read(model)
        architecture = inventory.architecture
        if architecture.hidden_size is None:
            raise ArchitectureError(
                inventory.name, "its headers name no hidden size; expected one. Give --architecture in place of MODEL."
            )
        return SeamWidths(
            inventory.name, architecture.hidden_size, architecture.index_topk or 0, architecture.context_tokens
        )
    if source.architecture is None:
        raise UsageError("layerfit seams: --architecture is missing; expected it where no MODEL is named. Add it.")
    named = _facts(source.architecture)
    return SeamWidths(named.name, named.facts.hidden_size, named.facts.index_topk, named.context_tokens)


def prefill_tokens(context: int | None, trained_tokens: int | None) -> int:
    """Return the context of a prefill: as given, else the default or the trained length when that is smaller."""
    if context is not None:
        return context
    return DEFAULT_CONTEXT_TOKENS if trained_tokens is None else min(DEFAULT_CONTEXT_TOKENS, trained_tokens)


def memories(cluster: Cluster, view: MemoryView) -> tuple[Memory, ...]:
    """Return the memory of every node, its pools kept apart or seen as one."""
    return tuple(_memory(node, view) for node in cluster.nodes)


def pool_notes(nodes: Sequence[Memory]) -> tuple[str, ...]:
    """Return what is particular about nodes whose pools are kept apart."""
    notes = []
    for node in nodes:
        if not isinstance(node, PooledMemory):
            continue
        host = node.pools[0]
        if host.placement_budget_bytes > 0:
            notes.append(
                f"{node.name}: {gib(host.placement_budget_bytes, 3)} of its budget are host memory beside its cards, "
                "where blocks live only if its processor takes them"
            )
        notes.extend(
            f"{pool.name}: its reserve takes all of it, so it adds nothing"
            for pool in node.pools
            if pool.placement_budget_bytes <= 0
        )
    return tuple(notes)


def _memory(node: ClusterNode, view: MemoryView) -> Memory:
    cards = [(group.memory_bytes, group.reserve) for group in node.gpus for _ in range(group.count)]
    host = _policy(node.reserve)
    if node.unified or not cards:
        return NodeMemory(node.name, node.memory_bytes, node.unified, host, node.ceiling_bytes)
    if view is MemoryView.COMBINED:
        return NodeMemory.from_host(
            node.name, node.memory_bytes, sum(size for size, _ in cards), unified=False, reserve=host
        )
    ram = NodeMemory(f"{node.name}/ram", node.memory_bytes, False, host, node.ceiling_bytes)
    gpus = (
        NodeMemory(f"{node.name}/gpu{index}", size, False, _policy(reserve))
        for index, (size, reserve) in enumerate(cards)
    )
    return PooledMemory(node.name, (ram, *gpus))


def _policy(reserve: Reserve) -> ReservePolicy:
    return ReservePolicy(reserve.fraction, reserve.floor_bytes)


def _check_source(command: str, model: str | None, source: SourceOptions) -> None:
    given = source.weight_bytes is not None or source.architecture is not None
    if model is not None and given:
        flag = "--architecture" if source.weight_bytes is None else "--weight-bytes"
        raise UsageError(f"layerfit {command}, {flag}: MODEL is named too; expected one of the two. Leave one out.")
    if model is None and not given:
        raise UsageError(
            f"layerfit {command}: no model is named; expected MODEL, or --weight-bytes with --architecture. Name one."
        )


def _facts(named: str) -> NamedFacts:
    built_in = BUILT_IN_FACTS.get(named.lower())
    return read_facts(Path(named)) if built_in is None else built_in


def _request(workload: Workload) -> CacheRequest:
    return CacheRequest(
        context_tokens=workload.context_tokens,
        sequences=workload.sequences,
        type_k=workload.cache_type_k,
        type_v=workload.cache_type_v,
        indexer=workload.indexer.value,
        bytes_per_token=workload.cache_bytes_per_token,
    )
