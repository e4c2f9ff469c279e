"""The machines: nodes with their pools and reserves, and the links between them, as a person wrote them down."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction  # noqa: TC003 - the document of a cluster is read by these annotations
from math import ceil

__all__ = ["Cluster", "ClusterLink", "ClusterNode", "GpuGroup", "Inside", "Reserve"]


@dataclass(frozen=True, slots=True)
class Reserve:
    """What of a pool no plan may use: the larger of a fraction (rounded up to a byte) and a floor."""

    fraction: Fraction
    floor_bytes: int

    def bytes_of(self, usable_bytes: int) -> int:
        """Return the reserve of a pool of this size."""
        return max(ceil(self.fraction * usable_bytes), self.floor_bytes)


@dataclass(frozen=True, slots=True)
class GpuGroup:
    """Equal discrete cards of one node. `memory_bytes` is 0 in a unified node, whose memory they share."""

    label: str
    memory_bytes: int
    count: int
    free_count: int | None
    bytes_per_second: int | None
    device: str | None
    reserve: Reserve


@dataclass(frozen=True, slots=True)
class Inside:
    """What a hop between two devices of one machine costs; a rate of None is not known and adds no time."""

    latency_ns: int
    bytes_per_second: int | None


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """One machine. `ceiling_bytes` limits what the GPU may take of a unified memory beside the reserve.

    `cpu` says that its processor may take blocks beside its cards. `inside` is None where hops between its devices cost
    nothing.
    """

    name: str
    memory_bytes: int
    unified: bool
    ceiling_bytes: int | None
    reserve: Reserve
    bytes_per_second: int | None
    fabric: str | None
    cpu: bool
    free_bytes: int | None
    gpus: tuple[GpuGroup, ...]
    address: str | None
    rpc_port: int | None
    head: bool
    model_path: str | None
    inside: Inside | None = None

    @property
    def reserve_bytes(self) -> int:
        """Return the reserve of the host or unified pool."""
        return self.reserve.bytes_of(self.memory_bytes)

    @property
    def budget_bytes(self) -> int:
        """Return what a plan may use of the host or unified pool: not above a ceiling, and below 0 if need be."""
        return self.pool_budget_bytes if self.ceiling_bytes is None else min(self.pool_budget_bytes, self.ceiling_bytes)

    @property
    def pool_budget_bytes(self) -> int:
        """Return what all devices together may use of the host or unified pool, which a ceiling does not lower."""
        return self.memory_bytes - self.reserve_bytes


@dataclass(frozen=True, slots=True)
class ClusterLink:
    """A directed link between two nodes; a rate of None is not known and adds no time."""

    source: str
    target: str
    latency_ns: int
    bytes_per_second: int | None
    forbidden: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes in the order listed, the default link and the links that differ from it."""

    nodes: tuple[ClusterNode, ...]
    latency_ns: int
    bytes_per_second: int | None
    links: tuple[ClusterLink, ...]

    def with_host_reserve(self, fraction: Fraction | None, floor_bytes: int | None) -> Cluster:
        """Return the cluster with these parts of the reserve of every host and unified memory; None keeps a part."""
        return replace(
            self,
            nodes=tuple(
                replace(
                    node,
                    reserve=Reserve(
                        fraction=node.reserve.fraction if fraction is None else fraction,
                        floor_bytes=node.reserve.floor_bytes if floor_bytes is None else floor_bytes,
                    ),
                )
                for node in self.nodes
            ),
        )
