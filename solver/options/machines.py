"""A cluster as pool nodes for the arithmetic, and pool nodes as a cluster for the solver."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from solver.cluster import Cluster, ClusterNode, GpuGroup, Reserve
from solver.options.pool import GB, PoolNode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from solver.options.policy import Policy

__all__ = ["cluster_of_pool", "pool_of_cluster", "unified_class"]


def unified_class(memory_bytes: int) -> str:
    """Return the class of a unified memory whose card nobody names, with its size as classes have it."""
    return f"unified-{round(memory_bytes / GB)}g"


def pool_of_cluster(cluster: Cluster) -> tuple[PoolNode, ...]:
    """Return a cluster's machines as pool nodes: one for every group of equal cards, the first with the host's memory.

    The GPU of a unified memory is one card with what a ceiling leaves of it.
    """
    return tuple(row for node in cluster.nodes for row in _rows(node))


def cluster_of_pool(nodes: Sequence[PoolNode], policy: Policy) -> Cluster:
    """Return pool nodes as machines whose reserves are what the policy's shares leave; links cost nothing."""
    return Cluster(nodes=tuple(_machine(node, policy) for node in nodes), latency_ns=0, bytes_per_second=None, links=())


def _rows(node: ClusterNode) -> Iterator[PoolNode]:
    fabric = node.fabric or ""
    if node.unified:
        limit = node.memory_bytes if node.ceiling_bytes is None else min(node.memory_bytes, node.ceiling_bytes)
        label = node.gpus[0].label if node.gpus else unified_class(node.memory_bytes)
        free = node.gpus[0].free_count if node.gpus else None
        yield PoolNode(node.name, label, fabric, limit, 1, free, node.memory_bytes, node.free_bytes)
        return
    if not node.gpus:
        yield PoolNode(node.name, "", fabric, 0, 0, 0, node.memory_bytes, node.free_bytes)
    for number, group in enumerate(node.gpus):
        host, free_host = (node.memory_bytes, node.free_bytes) if number == 0 else (0, 0)
        yield PoolNode(
            node.name, group.label, fabric, group.memory_bytes, group.count, group.free_count, host, free_host
        )


def _machine(node: PoolNode, policy: Policy) -> ClusterNode:
    has_cards = node.gpu_class and node.gpus > 0 and node.gpu_memory_bytes > 0
    group = GpuGroup(
        label=node.gpu_class,
        memory_bytes=node.gpu_memory_bytes,
        count=node.gpus,
        free_count=node.free_gpus,
        bytes_per_second=None,
        device=None,
        reserve=_left_by(policy.gpu_share),
    )
    return ClusterNode(
        name=node.name,
        memory_bytes=node.host_memory_bytes,
        unified=False,
        ceiling_bytes=None,
        reserve=_left_by(policy.host_share),
        bytes_per_second=None,
        fabric=node.fabric or None,
        cpu=False,
        free_bytes=node.host_free_bytes,
        gpus=(group,) if has_cards else (),
        address=None,
        rpc_port=None,
        head=False,
        model_path=None,
    )


def _left_by(share: Fraction) -> Reserve:
    return Reserve(fraction=Fraction(1) - share, floor_bytes=0)
