"""Random cases of replicas at sites: drawn again they are the same, and what is asked of one is told."""

from __future__ import annotations

import pytest

from benchmarks.replicated import random_case, tried


@pytest.mark.parametrize("seed", range(20))
def test_a_seed_draws_the_same_case_with_links_between_sites_alone(seed: int) -> None:
    problem, sites = random_case(seed, (5, 8), ruled=False)
    apart = {(pair.source, pair.target) for pair in problem.links.pairs}

    assert (problem, sites) == random_case(seed, (5, 8), ruled=False)
    assert (sites > 1) == bool(apart)
    assert all(int(one[1:]) % sites != int(other[1:]) % sites for one, other in apart)


def test_a_case_is_told_with_its_gap() -> None:
    case = tried(0, (4, 4), 60.0, ruled=True)

    assert ("optimal", 0.0) == (case.outcome, case.gap)
    assert case.proof != "none"
