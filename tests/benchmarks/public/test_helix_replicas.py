"""Replicated stages on Helix's clusters: proved, and worth what Helix's own program says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("highspy", reason="the referee is HiGHS, of the extra bench")

from benchmarks.public.helix import chain_problem, layout_of, read_instance
from benchmarks.public.helix_referee import flow_in_program
from solver.effort import Effort
from solver.objectives import objectives_named
from solver.solution import Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from pathlib import Path

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)


@pytest.fixture(scope="session")
def helix(data_folder: Path) -> Path:
    """Return Helix's folder of the public instances."""
    folder = data_folder / "instances" / "helix"
    if not folder.is_dir():
        pytest.skip(f"no public instances at {folder}")
    return folder


@pytest.mark.parametrize(
    ("name", "tokens_per_second", "proof"),
    [
        ("cluster10_llama30b_quality", 286.58741, "exact search"),
        ("cluster24_llama70b", 2045.64105, "closed form"),
        ("3cluster24_llama70b_noprune", 1754.38189, "exact search"),
        ("single_a100_llama30b", 1044.53335, "closed form"),
        ("single_l4_llama30b", 252.64985, "exact search"),
        ("single_t4_llama30b", 397.68507, "closed form"),
    ],
)
def test_no_placement_with_replicas_carries_more(helix: Path, name: str, tokens_per_second: float, proof: str) -> None:
    problem = chain_problem(read_instance(helix, name))
    allowed = replace(problem, rules=replace(problem.rules, replicas=True))
    found = solve(allowed, objectives_named("throughput"), EFFORT)

    assert found.placement is not None
    assert Outcome.OPTIMAL == found.outcome
    assert proof == found.levels[0].proof
    assert pytest.approx(tokens_per_second, rel=1e-6) == flow_in_program(helix, name, layout_of(found.placement))
