"""The longest-prefix search: when it applies, what it reaches, and the chains it walks back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.problems import NO_LINKS, NO_RULES, problem_of

from solver.exact.canonical import canonical_placement, placement_of
from solver.exact.line import farthest_ends
from solver.exact.prefix import applies, find, prefix_search, reach
from solver.objectives import NO_LIMITS, Limits
from solver.problem import Link, LinkPair, Placement, Problem, Stage
from solver.rules import violations

BARRED = Link(latency_ns=0, bytes_per_second=None, forbidden=True)
PLAIN = problem_of((4, 5, 6, 7), (15, 9, 15))


def at_most(**limits: int) -> Limits:
    return replace(NO_LIMITS, **limits)  # type: ignore[arg-type]


def found(problem: Problem, limits: Limits = NO_LIMITS) -> Placement | None:
    search = prefix_search(problem)
    chain = find(search, problem, limits)
    return None if chain is None else placement_of(search, problem, chain)


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (PLAIN, True),
        (replace(PLAIN, rules=replace(NO_RULES, pins=((0, "n0"),), order=("n0", "n1"), max_nodes=2)), True),
        (replace(PLAIN, rules=replace(NO_RULES, min_blocks=2)), False),
        (replace(PLAIN, links=replace(NO_LINKS, pairs=(LinkPair("n0", "n1", BARRED),))), False),
        (problem_of((1,) * 40, (20,) * 400), True),
        (problem_of((1,) * 40, tuple(range(20, 44))), False),
    ],
    ids=["plain", "rules it can follow", "a least number of blocks", "a forbidden link", "400 equal", "24 unlike"],
)
def test_it_applies_where_more_is_never_worse_and_the_states_are_few(problem: Problem, expected: bool) -> None:
    assert expected is applies(problem)


def test_reach_is_the_longest_prefix_of_every_combination_of_nodes() -> None:
    """Groups of 15 (two nodes) and 9 (one): states in the order 0, b, a, ab, aa, aab with a of 15 and b of 9."""
    search = prefix_search(PLAIN)
    longest, fewest = reach(search, farthest_ends(search.line, [15, 9]), 3, stop_at_end=False)

    assert ([0, 2, 3, 4, 4, 4], 2) == (longest[:-1].tolist(), fewest)


def test_levels_behind_the_first_that_holds_everything_are_left_out_when_told() -> None:
    search = prefix_search(PLAIN)
    longest, fewest = reach(search, farthest_ends(search.line, [15, 9]), 3, stop_at_end=True)

    assert ([0, 2, 3, 4, 4, 0], 2) == (longest[:-1].tolist(), fewest)


def test_a_chain_uses_the_fewest_nodes_and_obeys_the_rules() -> None:
    placement = found(PLAIN)

    assert placement is not None
    assert 2 == len(placement.stages)
    assert () == violations(PLAIN, placement)


@pytest.mark.parametrize(
    "limits", [at_most(max_nodes=1), at_most(max_load_bytes=8), at_most(max_nodes=0), at_most(max_load_bytes=-1)]
)
def test_limits_that_leave_nothing_leave_nothing(limits: Limits) -> None:
    assert found(PLAIN, limits) is None
    assert canonical_placement(prefix_search(PLAIN), PLAIN, limits) is None


def test_nodes_of_a_group_are_taken_in_the_order_listed() -> None:
    each_its_own = Placement((Stage(0, 1, "n0"), Stage(1, 2, "n1"), Stage(2, 3, "n2")))

    assert each_its_own == found(problem_of((1, 1, 1), (1, 1, 1)))


def test_blocks_of_no_bytes_need_no_node_of_their_own() -> None:
    assert Placement((Stage(0, 3, "n0"),)) == found(problem_of((3, 0, 0), (3, 3)))


def test_the_canonical_answer_takes_the_class_listed_first_then_the_longest_run_then_the_lowest_number() -> None:
    """Two nodes hold four blocks of one byte as 3 + 1, 2 + 2 or 1 + 3, on n0 and n2 (equal) and n1 (larger)."""
    problem = problem_of((1, 1, 1, 1), (3, 3, 3))
    larger = replace(problem, nodes=(*problem.nodes[:2], replace(problem.nodes[2], budget_bytes=4)))

    assert Placement((Stage(0, 3, "n0"), Stage(3, 4, "n1"))) == canonical_placement(
        prefix_search(problem), problem, NO_LIMITS
    )
    assert Placement((Stage(0, 4, "n2"),)) == canonical_placement(prefix_search(larger), larger, NO_LIMITS)
