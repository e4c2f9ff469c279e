"""Ranks of a placement, and a case that people measured: Llama 70B in 8 bits on eight cards of 24 GB.

There the even cut gave 1476 pages and a balanced one 3078 (vllm-project/vllm, pull request 6920).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from support.problems import NO_RULES
from support.served import REQUEST, cards, llama_70b_fp8, small_model

from solver.effort import Effort
from solver.engines.servers.ranks import default_placement, served_figures
from solver.engines.sglang import sglang
from solver.engines.vllm import PROFILE, vllm
from solver.measures import stage_load
from solver.objectives import objectives_named
from solver.problem import Placement, Stage
from solver.solution import Outcome
from solver.solve import solve
from tensors.inventory import Part
from tensors.units import GIB

if TYPE_CHECKING:
    from solver.engines.servers.build import ServedProblem

RANKS = 8
PAGE = 16 * 8 * (128 + 128) * 2
EVEN, REPORTED = 1476, 3078


@pytest.fixture(scope="module")
def eight_cards() -> ServedProblem:
    """Return the case, its cards calibrated so that the last rank of the even cut has room for 1476.5 pages."""
    llama = llama_70b_fp8()
    last = sum(block.weight_bytes for block in llama.blocks()[70:]) + llama.part_bytes(Part.HEAD)
    budget = last + EVEN * 10 * PAGE + 5 * PAGE
    settings = replace(PROFILE.settings(), overhead_bytes=0)
    return vllm(llama, cards(("l4", RANKS, f"{-(-budget * 10 // 9)} B")), REQUEST, NO_RULES, settings)


def cut(served: ServedProblem, counts: tuple[int, ...]) -> Placement:
    ends = [sum(counts[:rank]) for rank in range(len(counts) + 1)]
    return Placement(
        tuple(Stage(*run, device.name) for run, device in zip(pairwise(ends), served.devices, strict=False))
    )


def best_pages(served: ServedProblem) -> int:
    """Return the most pages that the weakest rank of any cut into eight has room for, by trying every cut."""

    @cache
    def pages(start: int, end: int) -> int:
        ends = [0, start, end, 80] if 0 < start and end < 80 else [0, end, 80] if start == 0 else [0, start, 80]
        counts = tuple(after - before for before, after in pairwise(ends))
        rank = served_figures(served, cut(served, counts)).ranks[1 if start else 0]
        return rank.units or 0

    @cache
    def best(start: int, ranks: int) -> int:
        if ranks == 1:
            return pages(start, 80)
        return max(min(pages(start, end), best(end, ranks - 1)) for end in range(start + 1, 80 - ranks + 2))

    return best(0, RANKS)


def test_the_even_cut_leaves_the_measured_pages_at_the_ends(eight_cards: ServedProblem) -> None:
    even = default_placement(eight_cards, tuple(device.name for device in eight_cards.devices))
    figures = served_figures(eight_cards, even)

    assert [10] * 8 == [rank.end - rank.start for rank in figures.ranks]
    assert [EVEN, *[4682] * 6, EVEN] == [rank.units for rank in figures.ranks]
    assert (EVEN, EVEN * 16, Fraction(EVEN, 512)) == (figures.units, figures.tokens, figures.concurrency)
    assert figures.fits


def test_the_best_cut_leaves_about_as_much_as_was_measured(eight_cards: ServedProblem) -> None:
    """Every cut is tried. Nine blocks at each end, and ten or eleven between."""
    best = best_pages(eight_cards)
    balanced = served_figures(eight_cards, cut(eight_cards, (9, 10, 10, 10, 10, 11, 11, 9)))

    assert 3070 == best == balanced.units
    assert abs(REPORTED - best) * 100 < REPORTED
    assert {5, 6} == {rank.rank for rank in balanced.ranks if rank.units == best}
    assert 5 == balanced.weakest


def test_the_solver_finds_the_best_cut(eight_cards: ServedProblem) -> None:
    """It makes the tokens of the weakest rank most, and proves that no cut has more."""
    solution = solve(eight_cards.problem, objectives_named("tokens"), Effort(60.0, None, 1, 0))
    figures = served_figures(eight_cards, solution.placement)  # type: ignore[arg-type]

    assert Outcome.OPTIMAL == solution.outcome
    assert best_pages(eight_cards) == figures.units == int(solution.levels[0].value) // 16


def test_room_by_the_problem_is_room_by_the_ranks(eight_cards: ServedProblem) -> None:
    """(budget - weights) // bytes a token, as an objective on tokens computes it, is the pages times 16, rounded."""
    problem = eight_cards.problem
    for counts in (
        (10,) * 8,
        (9, 10, 10, 10, 10, 11, 11, 9),
        (1, 1, 1, 1, 1, 1, 1, 73),
        (9, 11, 11, 11, 11, 11, 11, 5),
    ):
        placement = cut(eight_cards, counts)
        figures = served_figures(eight_cards, placement)
        for stage, rank in zip(placement.stages, figures.ranks, strict=True):
            load = stage_load(problem, stage)
            growth = sum(block.cache_bytes_per_token or 0 for block in problem.blocks[stage.start : stage.end])

            assert (rank.units or 0) == max(load.budget_bytes - load.weight_bytes, 0) // growth // 16


def test_weights_that_do_not_fit_leave_less_than_nothing_and_no_page(eight_cards: ServedProblem) -> None:
    figures = served_figures(eight_cards, cut(eight_cards, (73, 1, 1, 1, 1, 1, 1, 1)))

    assert figures.ranks[0].available_bytes < 0
    assert (0, 0, Fraction(0)) == (figures.units, figures.tokens, figures.concurrency)
    assert (0, False) == (figures.weakest, figures.fits)


def test_a_request_fits_where_all_its_sequences_do() -> None:
    """Two pages of 16 tokens a sequence; each of four blocks takes 2048 bytes a page."""
    request = replace(REQUEST, context_tokens=32)
    settings = replace(PROFILE.settings(), overhead_bytes=GIB // 2)
    for sequences in (59_000, 61_000):
        served = vllm(
            small_model(), cards(("desk", 1, "2 GiB"), reserve="0.25"), replace(request, sequences=sequences), NO_RULES,
            settings,
        )  # fmt: skip
        figures = served_figures(served, default_placement(served, ("desk",)))

        assert (GIB - 4 * 2**20 - 2 * 8192) // (4 * 2048) == figures.units
        assert (figures.units >= 2 * sequences) == figures.fits


def test_a_rank_says_its_place_its_cards_and_what_the_engine_asks_of_each() -> None:
    settings = replace(PROFILE.settings(2), overhead_bytes=2**20)
    served = vllm(small_model(), cards(("a", 2, "1 GiB"), ("b", 4, "1 GiB")), REQUEST, NO_RULES, settings)
    figures = served_figures(served, default_placement(served, ("b/gpu2", "a")))

    assert [
        (0, "b/gpu2", "b", ("b/gpu2", "b/gpu3"), 0, 2),
        (1, "a", "a", ("a/gpu0", "a/gpu1"), 2, 4),
    ] == [(r.rank, r.device, r.machine, r.cards, r.start, r.end) for r in figures.ranks]
    requested = -(-GIB * 9 // 10)
    assert [(requested, 2**20 + 4096, 2**20, requested - 2**21 - 4096)] * 2 == [
        (r.requested_bytes, r.weight_bytes, r.overhead_bytes, r.available_bytes) for r in figures.ranks
    ]


def test_ranks_of_sglang_share_the_least_memory_that_any_has_left() -> None:
    served = sglang(llama_70b_fp8(), cards(("l4", RANKS, "40 GiB")), REQUEST, NO_RULES)
    figures = served_figures(served, cut(served, (4, 11, 11, 11, 11, 11, 11, 10)))
    least = min(rank.available_bytes for rank in figures.ranks)

    assert figures.ranks[7].available_bytes == least
    assert least // (11 * 4096) == figures.tokens
    assert figures.tokens < min(rank.units or 0 for rank in figures.ranks)
