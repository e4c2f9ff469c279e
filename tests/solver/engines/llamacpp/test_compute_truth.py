"""Measured compute buffers lie inside their intervals, which are narrow; so do those of families taken as unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.llamacpp_compute import Tally, tallies
from benchmarks.llamacpp_models import read_models, unpack_headers
from benchmarks.llamacpp_rows import read_rows
from solver.engines.llamacpp.compute import compute_interval, unseen_interval

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.llamacpp_rows import Row
    from tensors.inventory import Inventory

EVERY = 6
"""Rows that are looked at: one in so many, over all families; the benchmark looks at all."""


@pytest.fixture(scope="module")
def rows(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    headers = tmp_path_factory.mktemp("headers")
    unpack_headers(data_folder / "llamacpp_truth", headers)
    return read_rows(data_folder / "llamacpp_truth", headers)


@pytest.fixture(scope="module")
def models(rows: list[Row]) -> dict[str, Inventory]:
    return read_models(rows)


def test_measured_buffers_lie_in_narrow_intervals(rows: list[Row], models: dict[str, Inventory]) -> None:
    """At least 95 % of rows with every buffer inside; median width a quarter at most, 90th centile 0.6 at most."""
    found = tallies(rows[::EVERY], models, compute_interval)

    assert found["all"].meets_targets
    assert [] == [label for label, tally in found.items() if tally.share_inside < 1 and label in _SIMPLE]


def test_families_that_were_never_seen_would_do(rows: list[Row], models: dict[str, Inventory]) -> None:
    """Rows inside, and the 90th centile of widths; their median is a third, as what is not known may be that much."""
    unseen: Tally = tallies(rows[:: EVERY * 2], models, unseen_interval)["all"]

    assert unseen.share_inside >= 0.95
    assert unseen.median_width <= 0.35
    assert unseen.width_90 <= 0.6


_SIMPLE = {"llama", "qwen2", "qwen3", "gemma3", "phi3", "gpt-oss", "qwen3moe", "glm4moe"}
