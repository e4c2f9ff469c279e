"""Nodes of a cluster with nothing but a memory."""

from __future__ import annotations

from fractions import Fraction

from solver.cluster import ClusterNode, Reserve
from tensors.units import GIB

__all__ = ["HOST", "memory_node"]

HOST = Reserve(Fraction(1, 5), 8 * GIB)


def memory_node(name: str, memory_bytes: int, reserve: Reserve = HOST) -> ClusterNode:
    """Return a node with nothing but a memory."""
    return ClusterNode(
        name=name,
        memory_bytes=memory_bytes,
        unified=False,
        ceiling_bytes=None,
        reserve=reserve,
        bytes_per_second=None,
        fabric=None,
        cpu=False,
        free_bytes=None,
        gpus=(),
        address=None,
        rpc_port=None,
        head=False,
        model_path=None,
    )
