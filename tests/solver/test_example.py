"""The cluster files that come with the package."""

from __future__ import annotations

from collections import Counter

from solver.cluster_file import parse_cluster
from solver.example import example_cluster, sample_cluster_text
from tensors.units import GIB


def test_the_built_in_cluster_is_ten_unlike_nodes() -> None:
    """Every memory from 32 to 128 GiB is there, and no node could hold 200 GiB alone."""
    cluster = example_cluster()

    assert {32: 3, 48: 2, 64: 2, 96: 2, 128: 1} == Counter(node.memory_bytes // GIB for node in cluster.nodes)
    assert max(node.budget_bytes for node in cluster.nodes) < 200 * GIB < sum(n.budget_bytes for n in cluster.nodes)


def test_the_sample_cluster_file_can_be_used_as_it_is() -> None:
    """It is shown to whoever names a model and no cluster."""
    cluster = parse_cluster(sample_cluster_text(), "sample")

    assert ["desk", "strix"] == [node.name for node in cluster.nodes]
