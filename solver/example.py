"""Cluster files that come with the package: the built-in example, and a short one to start from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from solver.cluster_file import parse_cluster

if TYPE_CHECKING:
    from solver.cluster import Cluster

__all__ = ["EXAMPLE_CLUSTER_NAME", "example_cluster", "example_cluster_text", "sample_cluster_text"]

EXAMPLE_CLUSTER_NAME = "example-cluster.toml"

_DATA = Path(__file__).with_name("data")


def example_cluster() -> Cluster:
    """Return ten unlike nodes of 32 to 128 GiB, the cluster of a plan that names none."""
    return parse_cluster(example_cluster_text(), EXAMPLE_CLUSTER_NAME)


def example_cluster_text() -> str:
    """Return the cluster file of the built-in example."""
    return _packaged(EXAMPLE_CLUSTER_NAME)


def sample_cluster_text() -> str:
    """Return a short cluster file to copy and change."""
    return _packaged("sample-cluster.toml")


def _packaged(name: str) -> str:
    return (_DATA / name).read_text(encoding="utf-8")
