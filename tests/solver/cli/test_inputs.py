"""Which cluster a command gets."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from solver.cli.inputs import cluster_of
from solver.cli.shared_flags import ClusterOptions
from solver.cluster import Reserve
from solver.errors import UsageError
from solver.example import example_cluster, sample_cluster_text
from tensors.units import GIB

if TYPE_CHECKING:
    from pathlib import Path


def test_nothing_named_means_the_built_in_example() -> None:
    assert example_cluster() == cluster_of(ClusterOptions(), "plan", has_model=False)


def test_a_model_without_a_cluster_is_refused_and_shows_a_file_to_start_from() -> None:
    with pytest.raises(UsageError) as caught:
        cluster_of(ClusterOptions(), "plan", has_model=True)

    expected = "layerfit plan: no cluster is named; expected --cluster FILE. Write a file like this and name it."
    assert expected == str(caught.value)
    assert sample_cluster_text() == caught.value.example


def test_flags_replace_parts_of_the_reserve_of_the_file(tmp_path: Path) -> None:
    """Each part alone, or both."""
    path = tmp_path / "cluster.toml"
    path.write_text(
        '[[node]]\nname = "a"\nmemory = "64 GiB"\nreserve = { fraction = 0.5, floor = "1 GiB" }', encoding="utf-8"
    )

    def reserve(options: ClusterOptions) -> Reserve:
        return cluster_of(options, "plan", has_model=True).nodes[0].reserve

    assert Reserve(Fraction(1, 2), GIB) == reserve(ClusterOptions(cluster=path))
    assert Reserve(Fraction(0), GIB) == reserve(ClusterOptions(cluster=path, reserve_fraction=Fraction(0)))
    assert Reserve(Fraction(1, 2), 0) == reserve(ClusterOptions(cluster=path, reserve_floor=0))
