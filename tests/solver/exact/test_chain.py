"""The set-and-first search: its tables by hand, what it costs, and the walk to the canonical placement."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from support.problems import NO_RULES, problem_of, random_problem, with_times
from support.timed import GB, barred, joined, near, timed, within

from solver.exact.chain import NEVER, chain_search, cover_of, work_of
from solver.exact.chain_walk import fewest_nodes_within, least_time, walk
from solver.exact.states import TableError
from solver.limits import NO_LIMITS, Limits
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from solver.exact.chain import Cover
    from solver.problem import Problem

N = NEVER

# n0 reads 1 byte a nanosecond and n1 two; only n1 holds everything. A hop takes 1 ns.
PROBLEM = joined(timed(problem_of((4, 5, 6), (10, 15)), (GB, 2 * GB)), near(1), activation_bytes=0)
SMALLER = replace(PROBLEM, nodes=(PROBLEM.nodes[0], replace(PROBLEM.nodes[1], budget_bytes=11)))
MEASURED = timed(PROBLEM, (GB, (7, 2, 5)))


def placed(*stages: tuple[int, int, str]) -> Placement:
    return Placement(tuple(Stage(*stage) for stage in stages))


def covered(problem: Problem, limits: Limits = NO_LIMITS, *, timed_: bool = True) -> Cover:
    return cover_of(chain_search(problem), problem, limits, timed=timed_)


def tables(cover: Cover) -> list[list[list[list[int]]]]:
    """Return the times by level, first class, state and boundary."""
    return [[table.tolist() for table in level] for level in cover.tables]


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (PROBLEM, [[], [[[N, N, 6, N]], [[8, 6, 3, N]]], [[[11, 9, N, N]], [[12, 10, N, N]]]]),
        (SMALLER, [[], [[[N, N, 6, N]], [[N, 6, 3, N]]], [[[11, 9, N, N]], [[12, 10, N, N]]]]),
        (MEASURED, [[], [[[N, N, 6, N]], [[5, 2, 7, N]]], [[[7, 13, N, N]], [[9, 14, N, N]]]]),
        (
            joined(PROBLEM, near(1), ("n0", "n1", barred()), ("n1", "n0", near(5)), activation_bytes=0),
            [[], [[[N, N, 6, N]], [[8, 6, 3, N]]], [[[N, N, N, N]], [[16, 14, N, N]]]],
        ),
        (
            replace(PROBLEM, rules=replace(NO_RULES, min_blocks=2)),
            [[], [[[N, N, N, N]], [[8, 6, N, N]]]],
        ),
        (
            replace(PROBLEM, rules=replace(NO_RULES, order=("n1", "n0"))),
            [[], [[[N, N, 6, N]], [[8, 6, 3, N]]], [[], [[12, 10, N, N]]]],
        ),
    ],
    ids=["plain", "smaller", "measured", "a forbidden link", "two blocks", "an order"],
)
def test_cover_is_the_least_time_to_the_end_by_nodes_used_first_class_and_boundary(
    problem: Problem, expected: list[list[list[list[int]]]]
) -> None:
    """An empty rest is no stage; two blocks measured quicker than one are taken together."""
    assert expected == tables(covered(problem))


def test_without_times_every_step_that_is_allowed_takes_nothing() -> None:
    assert [[], [[[N, N, 0, N]], [[0, 0, 0, N]]], [[[0, 0, N, N]], [[0, 0, N, N]]]] == tables(
        covered(PROBLEM, timed_=False)
    )
    assert [[], [[[N, N, 0, N]], [[0, 0, 0, N]]], [[[0, 0, N, N]], [[0, 0, N, N]]]] == tables(
        covered(MEASURED, timed_=False)
    )


@pytest.mark.parametrize(
    ("problem", "limits", "expected"),
    [
        (PROBLEM, within(max_slowest_ns=5), [[], [[[N, N, N, N]], [[N, N, 3, N]]], [[[N, 9, N, N]], [[N, N, N, N]]]]),
        (MEASURED, within(max_slowest_ns=6), [[], [[[N, N, 6, N]], [[5, 2, N, N]]], [[[7, N, N, N]], [[9, N, N, N]]]]),
        (PROBLEM, within(max_nodes=1), [[], [[[N, N, 6, N]], [[8, 6, 3, N]]]]),
        (PROBLEM, within(max_load_bytes=6), [[], [[[N, N, 6, N]], [[N, N, 3, N]]], [[[N, 9, N, N]], [[N, 10, N, N]]]]),
        (
            joined(PROBLEM, near(1, GB), ("n1", "n0", near(1)), activation_bytes=9),
            within(max_slowest_ns=8),
            [[], [[[N, N, 6, N]], [[8, 6, 3, N]]], [[[N, N, N, N]], [[12, 10, N, N]]]],
        ),
    ],
    ids=["slowest", "slowest measured", "nodes", "loads", "a slow transfer"],
)
def test_limits_take_steps_away(problem: Problem, limits: Limits, expected: list[list[list[list[int]]]]) -> None:
    """One block is too slow on its own where two are not; a transfer that is too slow is no hop."""
    assert expected == tables(covered(problem, limits))


@pytest.mark.parametrize(
    ("problem", "least", "fewest"),
    [(PROBLEM, 8, 1), (SMALLER, 11, 2), (MEASURED, 5, 1), (problem_of((9,), (5,)), None, None)],
)
def test_the_least_time_and_the_fewest_nodes_that_reach_it(
    problem: Problem, least: int | None, fewest: int | None
) -> None:
    cover = covered(problem, timed_=problem.nodes[0].bytes_per_second is not None)

    assert least == least_time(cover)
    assert fewest == (fewest_nodes_within(cover, NEVER - 1) if least is None else fewest_nodes_within(cover, least))
    assert least is None or fewest_nodes_within(cover, least - 1) is None


@pytest.mark.parametrize(
    ("problem", "most_ns", "expected"),
    [
        (PROBLEM, 7, None),
        (PROBLEM, 8, placed((0, 3, "n1"))),
        (PROBLEM, 99, placed((0, 3, "n1"))),
        (SMALLER, 10, None),
        (SMALLER, 11, placed((0, 1, "n0"), (1, 3, "n1"))),
        (SMALLER, 12, placed((0, 1, "n0"), (1, 3, "n1"))),
        (SMALLER, 13, placed((0, 2, "n0"), (2, 3, "n1"))),
        (MEASURED, 5, placed((0, 3, "n1"))),
        (replace(SMALLER, rules=replace(NO_RULES, last="n0")), 12, placed((0, 2, "n1"), (2, 3, "n0"))),
        (replace(SMALLER, rules=replace(NO_RULES, order=("n1", "n0"))), 12, placed((0, 2, "n1"), (2, 3, "n0"))),
        (replace(SMALLER, rules=replace(NO_RULES, pins=((1, "n0"),))), 99, placed((0, 2, "n0"), (2, 3, "n1"))),
    ],
)
def test_the_walk_takes_the_class_listed_first_then_the_longest_run_that_still_ends_in_time(
    problem: Problem, most_ns: int, expected: Placement | None
) -> None:
    search = chain_search(problem)

    assert expected == walk(search, problem, cover_of(search, problem, NO_LIMITS, timed=True), most_ns)


def test_nodes_of_a_class_are_taken_in_the_order_listed() -> None:
    problem = timed(problem_of((1, 1, 1), (1, 1, 1)), (GB, GB, GB))
    search = chain_search(problem)

    assert placed((0, 1, "n0"), (1, 2, "n1"), (2, 3, "n2")) == walk(
        search, problem, cover_of(search, problem, NO_LIMITS, timed=True), 3
    )


@pytest.mark.parametrize("fifty", range(2))
def test_the_bytes_foretold_are_never_below_those_of_the_tables(fifty: int) -> None:
    """A search that is begun because it is small stays small."""
    for seed in range(50 * fifty, 50 * fifty + 50):
        random = Random(seed)
        problem = with_times(random_problem(random, 8, 6, ruled=seed % 2 == 1), random)
        if not problem.classes:
            continue
        _, foretold = work_of(problem)
        kept = sum(table.nbytes for level in covered(problem).tables for table in level)

        assert kept <= foretold


def test_the_work_foretold_grows_with_states_and_not_with_equal_nodes() -> None:
    """Twelve unlike nodes are thousands of states, twelve equal ones a dozen."""
    equal, _ = work_of(problem_of((1,) * 20, (5,) * 12))
    unlike, _ = work_of(problem_of((1,) * 20, tuple(range(5, 17))))

    assert 13 * 21 * 9 == equal
    assert 12 * 2**11 * 21 * 20 == unlike


def test_a_search_whose_time_is_up_says_so_before_the_next_level() -> None:
    problem = timed(problem_of((1, 1, 1), (9, 9, 9)), (GB, 2 * GB, 3 * GB))
    asked = iter((False, True))

    with pytest.raises(TableError):
        cover_of(chain_search(problem), problem, NO_LIMITS, timed=True, spent=lambda: next(asked))
