"""The one answer among equals, by hand, and the same where only the largest nodes are looked at."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from support.problems import NO_RULES, best_by_trying, problem_of, random_problem
from support.timed import GB, growing, timed, within

from solver.exact import canonical, prefix
from solver.exact.canonical import canonical_placement
from solver.exact.line import groups_of
from solver.exact.prefix import cells_of, enough_groups, find, lay_out_search
from solver.limits import NO_LIMITS
from solver.objectives import OBJECTIVES, objectives_named
from solver.problem import Placement, Stage

if TYPE_CHECKING:
    from solver.limits import Limits
    from solver.problem import Problem, Rules

PLAIN = problem_of((4, 5, 6, 7), (15, 9, 15))


def placed(*stages: tuple[int, int, str]) -> Placement:
    return Placement(tuple(Stage(*stage) for stage in stages))


def chosen(problem: Problem, limits: Limits = NO_LIMITS, *, by_time: bool = False) -> Placement | None:
    """Return the canonical placement on the fewest nodes that the search finds."""
    search = lay_out_search(problem, groups_of(problem, by_time=by_time), len(problem.nodes))
    assert search is not None
    chain = find(search, problem, limits)
    return None if chain is None else canonical_placement(problem, limits, len(chain.stages), by_time=by_time)


def test_the_canonical_answer_takes_the_class_listed_first_then_the_longest_run_then_the_lowest_number() -> None:
    """Two nodes hold four blocks of one byte as 3 + 1, 2 + 2 or 1 + 3, on n0 and n2 (equal) and n1 (larger)."""
    problem = problem_of((1, 1, 1, 1), (3, 3, 3))
    larger = replace(problem, nodes=(*problem.nodes[:2], replace(problem.nodes[2], budget_bytes=4)))

    assert placed((0, 3, "n0"), (3, 4, "n1")) == chosen(problem)
    assert placed((0, 4, "n2")) == chosen(larger)


@pytest.mark.parametrize(
    ("rules", "limits", "expected"),
    [
        (NO_RULES, NO_LIMITS, placed((0, 3, "n0"), (3, 4, "n2"))),
        (NO_RULES, within(max_load_bytes=13), placed((0, 2, "n0"), (2, 4, "n2"))),
        (NO_RULES, within(min_headroom_bytes=4), placed((0, 1, "n1"), (1, 3, "n0"), (3, 4, "n2"))),
        (replace(NO_RULES, last="n0"), NO_LIMITS, placed((0, 2, "n1"), (2, 4, "n0"))),
        (replace(NO_RULES, first="n1"), NO_LIMITS, placed((0, 2, "n1"), (2, 4, "n0"))),
        (replace(NO_RULES, pins=((1, "n2"),)), NO_LIMITS, placed((0, 3, "n2"), (3, 4, "n0"))),
        (replace(NO_RULES, order=("n2", "n1", "n0")), NO_LIMITS, placed((0, 2, "n1"), (2, 4, "n0"))),
    ],
    ids=["plain", "a load", "headroom", "last", "first", "a pin", "an order"],
)
def test_rules_and_limits_narrow_the_choice(rules: Rules, limits: Limits, expected: Placement) -> None:
    assert expected == chosen(replace(PLAIN, rules=rules), limits)


def test_a_limit_on_tokens_or_times_narrows_it_too() -> None:
    problem = timed(growing(PLAIN, (1, 1, 1, 1)), (GB, GB, 2 * GB))

    assert placed((0, 2, "n0"), (2, 4, "n2")) == chosen(problem, within(min_tokens=1))
    assert placed((0, 2, "n0"), (2, 4, "n2")) == chosen(problem, within(max_slowest_ns=10), by_time=True)
    assert placed((0, 1, "n0"), (1, 2, "n1"), (2, 4, "n2")) == chosen(problem, within(max_slowest_ns=7), by_time=True)


def test_classes_that_only_speeds_tell_apart_are_still_taken_in_the_order_listed() -> None:
    """To memory they are one group; the answer names classes."""
    problem = timed(problem_of((1, 1, 1, 1), (2, 2, 2)), (None, GB, None))

    assert placed((0, 2, "n0"), (2, 4, "n2")) == chosen(problem)


@pytest.mark.parametrize("limits", [within(max_load_bytes=8), within(max_load_bytes=-1), within(max_nodes=0)])
@pytest.mark.parametrize("fewest", [1, 2, 3])
def test_limits_that_leave_nothing_leave_nothing_to_choose(limits: Limits, fewest: int) -> None:
    assert canonical_placement(PLAIN, limits, fewest, by_time=False) is None


@pytest.mark.parametrize("hundred", range(3))
def test_the_largest_nodes_left_answer_as_one_pass_over_all_states_does(
    hundred: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where tables of all nodes would be too large: the limit is lowered until they are."""
    forced = 0
    for seed in range(100 * hundred, 100 * hundred + 100):
        random = Random(seed)
        problem = random_problem(random, 10, 8)
        problem = growing(problem, tuple(random.choice((0, 1, 3)) for _ in problem.blocks))
        limits = within(max_load_bytes=max(problem.total_bytes * random.randint(15, 100) // 100, 1))
        if seed % 3 == 0:
            limits = replace(limits, min_tokens=random.randint(1, 9), min_headroom_bytes=random.randint(0, 3))
        groups = groups_of(problem, by_time=False)
        search = lay_out_search(problem, groups, len(problem.nodes)) if groups else None
        chain = None if search is None else find(search, problem, limits)
        if chain is None:
            continue
        fewest = len(chain.stages)
        expected = canonical_placement(problem, limits, fewest, by_time=False)
        with monkeypatch.context() as patch:
            patch.setattr(prefix, "_MOST_CELLS", cells_of(search) - 1)
            patch.setattr(canonical, "_Everywhere", unused)
            fewer = enough_groups(problem, fewest, by_time=False)
            forced += fewer != groups

            assert (None if fewer == groups else expected) == canonical_placement(
                problem, limits, fewest, by_time=False
            )
    assert forced > 10


def unused(*_: object) -> object:
    """Stand for the pass over all states, which must not be made."""
    raise AssertionError("all states were looked at")


def test_the_largest_nodes_do_not_stand_in_where_a_rule_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = replace(problem_of((1, 1, 1, 1), (3, 3, 4)), rules=replace(NO_RULES, last="n0"))
    monkeypatch.setattr(prefix, "_MOST_CELLS", 1)

    assert canonical_placement(problem, NO_LIMITS, 2, by_time=False) is None


@pytest.mark.parametrize("wanted", ["load", "headroom", "tokens", "balance"])
def test_among_placements_of_equal_value_it_is_the_first_in_the_canonical_order(wanted: str) -> None:
    """Against every placement, within the value that the best of them has."""
    tried = 0
    for seed in range(60):
        random = Random(seed)
        problem = random_problem(random, 6, 4)
        problem = growing(problem, tuple(1 + index % 2 for index in range(len(problem.blocks))))
        best = best_by_trying(problem, objectives_named(wanted))
        if best is not None:
            tried += 1
            cost = OBJECTIVES[wanted].cost(problem, best.placement)

            assert best.placement == chosen(problem, OBJECTIVES[wanted].at_most(NO_LIMITS, cost))
    assert tried > 30
