"""Measured compute buffers lie inside their intervals, which are narrow; so do those of families taken as unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.llamacpp_compute import Tally, tallies
from solver.engines.llamacpp.compute import compute_interval, unseen_interval

if TYPE_CHECKING:
    from benchmarks.llamacpp_rows import Row
    from tensors.inventory import Inventory

EVERY = 6
"""Rows that are looked at: one in so many, over all families; the benchmark looks at all."""


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
