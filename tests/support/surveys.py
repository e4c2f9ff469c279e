"""Recorded machines as surveys, and as nodes of a cluster file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.cluster_file import parse_cluster
from solver.machine.survey import Survey, survey
from solver.machine.table import built_in_table
from solver.machine.text import cluster_text

if TYPE_CHECKING:
    from solver.cluster import Cluster, ClusterNode
    from support.machines import (
        RecordedMachine,
    )

__all__ = ["GIB", "KIB", "MIB", "TABLE", "cards_of", "node_of", "parsed", "seen"]

KIB = 2**10
MIB = 2**20
GIB = 2**30
TABLE = built_in_table()


def seen(machine: RecordedMachine, name: str | None = None) -> Survey:
    """Return what is made of a machine."""
    return survey(machine, TABLE, name)


def node_of(machine: RecordedMachine) -> ClusterNode:
    """Return the node that the text of a machine is read as."""
    (node,) = parsed(machine).nodes
    return node


def parsed(machine: RecordedMachine) -> Cluster:
    """Return the cluster that the text of a machine is read as."""
    return parse_cluster(cluster_text(seen(machine)), "nodes.toml")


def cards_of(machine: RecordedMachine) -> list[tuple[str, int, int, int | None, str | None]]:
    """Return class, memory in bytes, count, how many are free, and first device of every group."""
    return [
        (group.label, group.memory_bytes, group.count, group.free_count, group.device)
        for group in node_of(machine).gpus
    ]
