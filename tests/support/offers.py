"""Models offered for options and machines to offer them, and the question asked of both."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from solver.cluster import Cluster, ClusterLink, ClusterNode, GpuGroup, Reserve
from solver.effort import Effort
from solver.options import DEFAULT_POLICY
from solver.options.exact import Engines, ExactAnswer, exact_options
from solver.options.machines import pool_of_cluster
from solver.options.models import offered
from solver.options.simple import simple_options
from tensors import read
from tensors.synthetic import write

if TYPE_CHECKING:
    from solver.options.models import Offered

__all__ = ["ENGINES", "GB", "ask", "cluster", "node", "offer"]

GB = 10**9

# What engines say of a model depends on no pool.
ENGINES = Engines(Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0))


def node(
    name: str,
    cards: tuple[tuple[str, int, int, int | None], ...] = (),
    *,
    host_gb: int = 64,
    fabric: str | None = None,
    free_gb: int | None = None,
    unified: bool = False,
) -> ClusterNode:
    """Return a machine with (class, GB, count, free) cards; of every memory a tenth is in reserve."""
    reserve = Reserve(Fraction(1, 10), 0)
    return ClusterNode(
        name=name,
        memory_bytes=host_gb * GB,
        unified=unified,
        ceiling_bytes=None,
        reserve=reserve,
        bytes_per_second=None,
        fabric=fabric,
        cpu=False,
        free_bytes=None if free_gb is None else free_gb * GB,
        gpus=tuple(GpuGroup(label, size * GB, count, free, None, None, reserve) for label, size, count, free in cards),
        address=None,
        rpc_port=None,
        head=False,
        model_path=None,
    )


def cluster(*nodes: ClusterNode, links: tuple[ClusterLink, ...] = ()) -> Cluster:
    """Return machines and the links that differ; all others cost nothing."""
    return Cluster(nodes, latency_ns=0, bytes_per_second=None, links=links)


def ask(offers: list[Offered], machines: Cluster) -> ExactAnswer:
    """Return what arithmetic and the solver say at a context of 8,192 tokens."""
    simple = simple_options([one.artifact for one in offers], pool_of_cluster(machines), 8192, DEFAULT_POLICY)
    return exact_options(offers, machines, simple, ENGINES)


@lru_cache(maxsize=16)
def offer(name: str, context_tokens: int = 8192) -> Offered:
    """Return one of the built-in models as what is offered."""
    with tempfile.TemporaryDirectory() as folder:
        return offered(read(write(name, folder)[0]), context_tokens, None, None)
