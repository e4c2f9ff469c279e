"""The engine that is none in particular: weights and cache are counted, the reserve covers the rest.

Input tensors (and those of no block) load the first stage, head tensors the last; a tied head costs the last stage a
copy of the embedding, paid once where one stage holds both ends. The context is per sequence and nothing is padded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.errors import InputError
from solver.problem import Block, Ends, Link, LinkPair, Links, Node, Problem, Rules
from solver.wording import counted
from solver.workload import IndexerRule
from tensors.architecture import MissingFact
from tensors.cache import BlockCache, CacheKind, block_caches, cache_type, generic_settings, with_indexers
from tensors.errors import ArchitectureError
from tensors.inventory import Part, Role
from tensors.units import format_bytes

if TYPE_CHECKING:
    from solver.cluster import Cluster, ClusterNode
    from solver.engines.servers.build import ServedProblem
    from solver.workload import Workload
    from tensors.inventory import Inventory

__all__ = ["EnginePlan", "active_weight_bytes", "generic", "is_token_table", "tied_bytes"]

# Activations cross a seam as 16-bit floats.
_ACTIVATION_VALUE_BYTES = 2


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """A problem as an engine sees it, and notes on what it counts and leaves out.

    `build` is whose rules those are (None for none in particular), `served` what figures of ranks are made from (None
    where there are no ranks).
    """

    problem: Problem
    notes: tuple[str, ...]
    build: str | None
    served: ServedProblem | None


def generic(inventory: Inventory, cluster: Cluster, workload: Workload, rules: Rules) -> EnginePlan:
    """Return the problem of placing a model on the host or unified pools of a cluster.

    Raises:
        ArchitectureError: the cache cannot be sized, and the workload does not give its bytes.
        InputError: the model has no blocks, or a node has cards of its own.
    """
    blocks = inventory.blocks()[: _placed(inventory, workload)]
    if not blocks:
        raise InputError(
            inventory.name, "it has no numbered blocks; expected a model of layers. Check that it is not an adapter."
        )
    caches = _caches(inventory, workload)
    tied = tied_bytes(inventory) if inventory.tied else 0
    head = inventory.part_bytes(Part.HEAD) + tied
    active = [
        active_weight_bytes(inventory, summary.weight_bytes, summary.expert_bytes) + cache.cache_bytes
        for summary, cache in zip(blocks, caches, strict=True)
    ]
    active[-1] += head
    problem = Problem(
        blocks=tuple(
            Block(
                weight_bytes=summary.weight_bytes,
                cache_bytes=cache.cache_bytes,
                active_bytes=active[index],
                cache_bytes_per_token=cache.bytes_per_token,
                cache_fixed_bytes=cache.fixed_bytes,
            )
            for index, (summary, cache) in enumerate(zip(blocks, caches, strict=True))
        ),
        ends=Ends(
            input_bytes=inventory.part_bytes(Part.INPUT) + inventory.part_bytes(Part.OTHER),
            output_bytes=head,
            tied_bytes=tied,
            host_bytes=0,
        ),
        nodes=tuple(_node(node) for node in cluster.nodes),
        activation_bytes=(inventory.architecture.hidden_size or 0) * _ACTIVATION_VALUE_BYTES,
        context_tokens=workload.context_tokens,
        links=_links(cluster),
        rules=rules,
    )
    return EnginePlan(problem=problem, notes=_notes(inventory, cluster, workload), build=None, served=None)


def tied_bytes(inventory: Inventory) -> int:
    """Return the bytes of the token embedding, which a tied head uses as its matrix."""
    return sum(
        tensor.size_bytes
        for tensor in inventory.tensors
        if tensor.part is Part.INPUT and tensor.role is Role.EMBEDDING and is_token_table(tensor.name)
    )


def is_token_table(name: str) -> bool:
    """Return whether an embedding of this name has a row for every token, not for positions, layers or kinds."""
    others = ("per_layer", "position", "token_type", "norm", "wpe")
    return not any(word in name.lower() for word in others)


def _placed(inventory: Inventory, workload: Workload) -> int:
    return inventory.trunk_blocks + (inventory.nextn_blocks if workload.resident_nextn else 0)


def _caches(inventory: Inventory, workload: Workload) -> tuple[BlockCache, ...]:
    placed = _placed(inventory, workload)
    if workload.cache_bytes_per_token is not None:
        return _given_caches(workload, workload.cache_bytes_per_token, inventory.trunk_blocks, placed)
    terms = inventory.architecture.cache
    if isinstance(terms, MissingFact):
        raise ArchitectureError(inventory.name, terms.problem)
    settings = generic_settings(
        workload.context_tokens,
        workload.sequences,
        cache_type(workload.cache_type_k),
        cache_type(workload.cache_type_v),
    )
    # A multi-token prediction block attends to everything: it keeps no indexer keys.
    of_trunk = (term for term in terms if term.kind is not CacheKind.INDEXER or term.block < inventory.trunk_blocks)
    kept = with_indexers(
        of_trunk,
        own=workload.indexer is not IndexerRule.NONE,
        shared=workload.indexer is IndexerRule.CONSERVATIVE,
    )
    return block_caches(kept, placed, settings)


def _given_caches(workload: Workload, bytes_per_token: int, trunk: int, placed: int) -> tuple[BlockCache, ...]:
    """Spread a given number of bytes a token evenly over the trunk blocks, to the byte."""

    def share(total: int, index: int) -> int:
        return (index + 1) * total // trunk - index * total // trunk if index < trunk else 0

    per_token = bytes_per_token * workload.sequences
    return tuple(
        BlockCache(
            cache_bytes=share(per_token * workload.context_tokens, index),
            bytes_per_token=-(-per_token // trunk) if index < trunk else 0,
            fixed_bytes=0,
        )
        for index in range(placed)
    )


def active_weight_bytes(inventory: Inventory, weight_bytes: int, expert_bytes: int) -> int:
    """Return the weights of a block that one token reads: all but the routed experts it does not use."""
    experts = inventory.architecture.experts
    if experts is None or experts.routed <= 0 or expert_bytes == 0:
        return weight_bytes
    return weight_bytes - expert_bytes + -(-expert_bytes * experts.used // experts.routed)


def _node(node: ClusterNode) -> Node:
    if node.gpus and not node.unified:
        raise InputError(
            f"node {node.name}",
            "it lists cards with memory of their own; expected one pool a node, since without an "
            "engine's rules blocks go to one pool. Name an engine, or give the memory that the model may use as the "
            "node's memory.",
        )
    return Node(
        name=node.name,
        budget_bytes=max(node.budget_bytes, 0),
        bytes_per_second=node.bytes_per_second,
        stage_ns=None,
    )


def _links(cluster: Cluster) -> Links:
    default = Link(latency_ns=cluster.latency_ns, bytes_per_second=cluster.bytes_per_second, forbidden=False)
    return Links(
        default=default,
        pairs=tuple(
            LinkPair(
                source=link.source,
                target=link.target,
                link=Link(link.latency_ns, link.bytes_per_second, forbidden=link.forbidden),
            )
            for link in cluster.links
        ),
    )


def _notes(inventory: Inventory, cluster: Cluster, workload: Workload) -> tuple[str, ...]:
    notes = list(inventory.notes)
    if inventory.nextn_blocks and not workload.resident_nextn:
        left = inventory.part_bytes(Part.NEXTN)
        notes.append(
            f"{counted(inventory.nextn_blocks, 'multi-token prediction block')} of {format_bytes(left)} in all "
            "left out: engines skip them unless told otherwise."
        )
    other = inventory.part_bytes(Part.OTHER)
    if other:
        notes.append(f"{format_bytes(other)} of tensors that belong to no block are loaded with the input.")
    notes.extend(
        f"{node.name}: the reserve of {format_bytes(node.reserve_bytes)} leaves nothing; no blocks go there."
        for node in cluster.nodes
        if node.budget_bytes <= 0
    )
    return tuple(notes)
