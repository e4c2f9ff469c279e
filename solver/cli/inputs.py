"""What commands read: the cluster that flags name, or a refusal that shows how to write one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.cluster_file import read_cluster
from solver.errors import UsageError
from solver.example import example_cluster, sample_cluster_text

if TYPE_CHECKING:
    from solver.cli.shared_flags import ClusterOptions
    from solver.cluster import Cluster

__all__ = ["cluster_of"]


def cluster_of(options: ClusterOptions, command: str, *, has_model: bool) -> Cluster:
    """Return the cluster that flags name, with the reserve that flags give; the built-in one where nothing is named.

    Raises:
        UsageError: a model is named and no cluster.
        InputError: the cluster file cannot be read or meant.
    """
    if options.cluster is not None:
        cluster = read_cluster(options.cluster)
    elif has_model:
        raise UsageError(
            f"layerfit {command}: no cluster is named; expected --cluster FILE. Write a file like this and name it.",
            example=sample_cluster_text(),
        )
    else:
        cluster = example_cluster()
    return cluster.with_host_reserve(options.reserve_fraction, options.reserve_floor)
