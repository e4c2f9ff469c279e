"""The tables of a cluster file and their keys, as msgspec checks them: unknown keys are refused."""

from __future__ import annotations

from typing import Final

import msgspec

from solver.cluster_values import (
    Amount,
    Count,
    Latency,
    Name,
    NodeCount,
    PairLatency,
    Port,
    Rate,
    Share,
    Size,
    Text,
)

__all__ = ["TABLES", "ClusterTable", "GpuTable", "LinksTable", "NodeTable", "PairTable", "ReserveTable"]


class _Table(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A table whose absent keys are None, and whose unknown keys are refused with their path."""


class GpuReserveTable(_Table, frozen=True):
    """[reserve.gpu]."""

    fraction: Share | None = None
    floor: Amount | None = None


class ReserveTable(_Table, frozen=True):
    """[reserve], or a node's own."""

    fraction: Share | None = None
    floor: Amount | None = None
    gpu: GpuReserveTable = GpuReserveTable()


class GpuTable(_Table, frozen=True, rename={"label": "class"}):
    """One entry of a node's gpu list."""

    label: Text
    memory: Amount | None = None
    count: NodeCount | None = None
    free_count: Count | None = None
    bandwidth: Rate | None = None
    device: Text | None = None


class InsideTable(_Table, frozen=True):
    """A node's own: hops between its devices."""

    latency: Latency | None = None
    rate: Rate | None = None


class NodeTable(_Table, frozen=True):
    """[[node]]."""

    name: Name
    memory: Size
    count: NodeCount | None = None
    unified: bool = False
    ceiling: Size | None = None
    bandwidth: Rate | None = None
    fabric: Text | None = None
    address: Text | None = None
    rpc_port: Port | None = None
    head: bool = False
    model_path: Text | None = None
    cpu: bool = False
    free: Amount | None = None
    gpu: tuple[GpuTable, ...] = ()
    inside: InsideTable | None = None
    reserve: ReserveTable = ReserveTable()


class PairTable(_Table, frozen=True, rename={"source": "from", "target": "to"}):
    """One entry of the list of links that differ."""

    source: Name
    target: Name
    latency: PairLatency | None = None
    rate: Rate | None = None
    both: bool = False


class LinksTable(_Table, frozen=True):
    """[links]."""

    latency: Latency | None = None
    rate: Rate | None = None
    pair: tuple[PairTable, ...] = ()


class ClusterTable(_Table, frozen=True):
    """The whole file."""

    reserve: ReserveTable = ReserveTable()
    node: tuple[NodeTable, ...] = ()
    links: LinksTable = LinksTable()


TABLES: Final[dict[str, type[msgspec.Struct]]] = {
    "": ClusterTable,
    "reserve": ReserveTable,
    "reserve.gpu": GpuReserveTable,
    "node[]": NodeTable,
    "node[].gpu[]": GpuTable,
    "node[].inside": InsideTable,
    "node[].reserve": ReserveTable,
    "node[].reserve.gpu": GpuReserveTable,
    "links": LinksTable,
    "links.pair[]": PairTable,
}
"""Tables by path, where [] stands for each of a list."""
