"""The comparison of split rules over random cases."""

from __future__ import annotations

from benchmarks.baselines import BEST, Row, Tally, rows, tried
from solver.baselines import STRATEGIES
from solver.comparison import PLAN


def test_the_solver_has_every_plan_and_no_rule_is_better() -> None:
    """On a dozen cases; every rule has a row, and what fits was placed."""
    tallies, wrong = tried(12, 0, 20)
    found = {row.strategy: row for row in rows(tallies, 12)}

    assert [] == wrong
    assert [PLAN, *STRATEGIES, BEST] == list(found)
    assert (100.0, 1.0, 1.0) == (found[PLAN].fits_percent, found[PLAN].latency_worst, found[PLAN].fullest_worst)
    assert all(row.fits_percent <= row.places_percent for row in found.values())
    assert all(row.latency_median is None or row.latency_median >= 1 for row in found.values())


def test_a_rule_that_never_fits_has_no_ratios() -> None:
    assert [Row("a", 4, 0.0, 50.0, None, None, None, None, None, None)] == rows({"a": Tally(placed=2)}, 4)
