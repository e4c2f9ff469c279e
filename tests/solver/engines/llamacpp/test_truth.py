"""Every measured run of a real llama.cpp, to the byte."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from benchmarks.llamacpp_check import check, emulation_of
from solver.engines.llamacpp.compute import compute_interval
from solver.engines.llamacpp.fit import Fitting, fitting

if TYPE_CHECKING:
    from benchmarks.llamacpp_rows import Row
    from tensors.inventory import Inventory

COUNTED_RUNS = 1850
"""Runs that ended well, were not fitted and did not draft: 1764 real ones and 86 dry ones."""


def test_every_run_is_emulated_to_the_byte(rows: list[Row], models: dict[str, Inventory]) -> None:
    """Slots, contexts, caches, states, tensors of every device, what the host maps and keeps; no family refused."""
    counted = [row for row in rows if row.counts]
    outcomes = [(row, check(row, models)) for row in counted]

    assert COUNTED_RUNS == len(counted)
    assert [] == [(row.model, row.options, outcome.differences) for row, outcome in outcomes if outcome.differences]
    assert [] == [row.model for row, outcome in outcomes if outcome.refused]
    assert 51 == len({models[str(row.path)].architecture.family for row in counted})


def test_runs_that_drafted_are_emulated_to_the_byte(rows: list[Row], models: dict[str, Inventory]) -> None:
    """Those with blocks to draft with; a model without any is refused here as it was there."""
    drafted = [row for row in rows if row.drafts]
    outcomes = Counter((row.log["rc"], bool(check(row, models).differences)) for row in drafted)

    assert {(0, False): 14, (1, True): 3} == outcomes


def test_runs_that_the_engine_refused_are_refused(rows: list[Row], models: dict[str, Inventory]) -> None:
    """Cache types that do not go together or need what is off; micro-batches that do not split among sequences.

    No crash behind the load is.
    """
    ended = [row for row in rows if row.log["rc"] in (1, -6, -4) and "-fit on" not in row.options]
    outcomes = Counter((row.log["rc"], "refused" in "".join(check(row, models).differences)) for row in ended)

    assert {(1, True): 16, (-6, True): 4, (-6, False): 8, (-4, False): 10} == outcomes


def test_whether_fitting_acts_is_told_of_every_run_that_was_fitted(
    rows: list[Row], models: dict[str, Inventory]
) -> None:
    """Those that the engine left alone are emulated to the byte, and the others differ from what was asked for."""
    fitted = [row for row in rows if "-fit on" in row.options and row.has_buffers]
    outcomes: Counter[tuple[Fitting, bool]] = Counter()
    for row in fitted:
        emulation = emulation_of(row, models, compute_interval)
        said = fitting(emulation.request, emulation.assignment.devices, emulation.rows)
        outcomes[said, bool(check(row, models).differences)] += 1

    assert {(Fitting.ACTS, True): 76, (Fitting.LEAVES, False): 28} == outcomes
