"""The longest-prefix search: when it applies, what it reaches, the chains it walks back, and the nodes it needs."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from support.problems import NO_LINKS, NO_RULES, every_placement, problem_of, random_problem
from support.timed import GB, askable, barred, growing, joined, near, timed, within

from solver.exact.canonical import placement_of
from solver.exact.line import groups_of
from solver.exact.prefix import (
    answers,
    cells_of,
    ends_of,
    enough_groups,
    find,
    lay_out_search,
    mirrored,
    nodes_allowed,
    reach,
)
from solver.limits import NO_LIMITS, kept_by
from solver.problem import LinkPair, Placement, Stage
from solver.rules import violations

if TYPE_CHECKING:
    from solver.exact.prefix import PrefixSearch
    from solver.limits import Limits
    from solver.problem import Problem, Rules

PLAIN = problem_of((4, 5, 6, 7), (15, 9, 15))
TIMED = timed(PLAIN, (GB, GB, (5, 9)))


def search_of(problem: Problem, *, by_time: bool = False) -> PrefixSearch:
    search = lay_out_search(problem, groups_of(problem, by_time=by_time), len(problem.nodes))
    assert search is not None
    return search


def found(problem: Problem, limits: Limits = NO_LIMITS, *, by_time: bool = False) -> Placement | None:
    search = search_of(problem, by_time=by_time)
    chain = find(search, problem, limits)
    return None if chain is None else placement_of(search, problem, chain)


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (PLAIN, (True, True)),
        (replace(PLAIN, rules=replace(NO_RULES, pins=((0, "n0"),), order=("n0", "n1"), max_nodes=2)), (True, True)),
        (replace(PLAIN, rules=replace(NO_RULES, min_blocks=2)), (False, False)),
        (replace(PLAIN, links=replace(NO_LINKS, pairs=(LinkPair("n0", "n1", barred()),))), (False, False)),
        (TIMED, (True, True)),
        (timed(PLAIN, (GB, GB, (5, 5, 9))), (True, True)),
        (timed(PLAIN, (GB, GB, (5, 4, 9))), (True, False)),
        (joined(TIMED, near(1, GB), ("n0", "n1", near(9, GB)), activation_bytes=3), (True, True)),
        (joined(TIMED, near(1, GB), ("n0", "n1", near(1)), activation_bytes=3), (True, False)),
    ],
    ids=[
        "plain", "rules it can follow", "a least number of blocks", "a forbidden link", "timed", "times that stay",
        "times that fall", "unlike latencies", "unlike rates",
    ],
)  # fmt: skip
def test_it_answers_where_more_is_never_worse(problem: Problem, expected: tuple[bool, bool]) -> None:
    """On memory alone, and on the slowest of all times."""
    assert expected == (answers(problem, by_time=False), answers(problem, by_time=True))


@pytest.mark.parametrize(
    ("problem", "expected"),
    [(problem_of((1,) * 40, (20,) * 400), True), (problem_of((1,) * 40, tuple(range(20, 44))), False)],
    ids=["400 equal", "24 unlike"],
)
def test_it_is_laid_out_where_the_states_are_few(problem: Problem, expected: bool) -> None:
    search = lay_out_search(problem, groups_of(problem, by_time=False), len(problem.nodes))

    assert expected == (search is not None) == (cells_of(search) > 0)


def test_reach_is_the_longest_prefix_of_every_combination_of_nodes() -> None:
    """Groups of 15 (two nodes) and 9 (one): states in the order 0, b, a, ab, aa, aab with a of 15 and b of 9."""
    search = search_of(PLAIN)
    longest, fewest = reach(search, ends_of(search, PLAIN, NO_LIMITS), 3, stop_at_end=False)

    assert ([0, 2, 3, 4, 4, 4], 2) == (longest[:-1].tolist(), fewest)


def test_levels_behind_the_first_that_holds_everything_are_left_out_when_told() -> None:
    search = search_of(PLAIN)
    longest, fewest = reach(search, ends_of(search, PLAIN, NO_LIMITS), 3, stop_at_end=True)

    assert ([0, 2, 3, 4, 4, 0], 2) == (longest[:-1].tolist(), fewest)


def test_from_the_other_end_reach_is_the_longest_suffix() -> None:
    """7, 6, 5, 4 bytes: 9 hold one, 15 two, 9 and then 15 everything."""
    search = mirrored(search_of(PLAIN))
    longest, fewest = reach(search, ends_of(search, PLAIN, NO_LIMITS), 3, stop_at_end=False)

    assert ([0, 1, 2, 4, 4, 4], 2) == (longest[:-1].tolist(), fewest)


def test_a_limit_on_times_shortens_the_reach() -> None:
    """Groups by time: 15 at 1 byte a ns, 9 the same, and 15 with one block in 5 ns and two in 9."""
    search = search_of(TIMED, by_time=True)
    longest, fewest = reach(search, ends_of(search, TIMED, within(max_slowest_ns=9)), 3, stop_at_end=False)

    assert ([0, 2, 2, 4, 2, 4, 3, 4], 2) == (longest[:-1].tolist(), fewest)


def test_a_chain_uses_the_fewest_nodes_and_obeys_the_rules() -> None:
    placement = found(PLAIN)

    assert placement is not None
    assert 2 == len(placement.stages)
    assert () == violations(PLAIN, placement)


@pytest.mark.parametrize(
    "limits",
    [
        within(max_nodes=1),
        within(max_load_bytes=8),
        within(max_nodes=0),
        within(max_load_bytes=-1),
        within(min_headroom_bytes=8),
        within(min_tokens=4),
        within(max_slowest_ns=4),
    ],
)
def test_limits_that_leave_nothing_leave_nothing(limits: Limits) -> None:
    assert found(growing(TIMED, (1, 1, 1, 1)), limits, by_time=True) is None


@pytest.mark.parametrize(
    "limits", [within(min_tokens=3), within(max_slowest_ns=9), within(min_headroom_bytes=4), within(max_load_bytes=13)]
)
def test_limits_that_leave_something_are_kept(limits: Limits) -> None:
    problem = growing(TIMED, (1, 1, 1, 1))
    placement = found(problem, limits, by_time=True)

    assert placement is not None
    assert () == violations(problem, placement)
    assert kept_by(problem, limits, placement)


@pytest.mark.parametrize(("slowest", "nodes"), [(None, 3), (8, 3), (7, 1), (0, 1)])
def test_only_one_node_is_allowed_where_every_transfer_is_too_slow(slowest: int | None, nodes: int) -> None:
    """8 bytes at one a nanosecond; a link without a rate takes no time to transfer."""
    slow = joined(TIMED, near(99, GB), activation_bytes=8)
    limits = NO_LIMITS if slowest is None else within(max_slowest_ns=slowest)

    assert nodes == nodes_allowed(slow, limits)
    assert 3 == nodes_allowed(joined(TIMED, near(99), activation_bytes=8), limits)
    assert min(nodes, 2) == nodes_allowed(slow, replace(limits, max_nodes=2))


def test_nodes_of_a_group_are_taken_in_the_order_listed() -> None:
    each_its_own = Placement((Stage(0, 1, "n0"), Stage(1, 2, "n1"), Stage(2, 3, "n2")))

    assert each_its_own == found(problem_of((1, 1, 1), (1, 1, 1)))


def test_blocks_of_no_bytes_need_no_node_of_their_own() -> None:
    assert Placement((Stage(0, 3, "n0"),)) == found(problem_of((3, 0, 0), (3, 3)))


@pytest.mark.parametrize(
    ("nodes", "rules", "expected"),
    [
        (1, NO_RULES, [(15, 1)]),
        (2, NO_RULES, [(15, 2)]),
        (3, NO_RULES, [(15, 2), (9, 1)]),
        (4, NO_RULES, [(15, 2), (9, 2)]),
        (5, NO_RULES, [(15, 2), (9, 2), (4, 1)]),
        (1, replace(NO_RULES, last="n4"), [(15, 1), (9, 1)]),
        (2, replace(NO_RULES, order=("n1", "n0")), [(15, 1), (9, 1), (15, 1), (9, 1)]),
    ],
    ids=["one", "two", "three", "four", "all", "a named one beside", "two named beside"],
)
def test_of_so_many_nodes_the_largest_are_enough_and_those_that_rules_name(
    nodes: int, rules: Rules, expected: list[tuple[int, int]]
) -> None:
    problem = replace(problem_of((4, 5), (15, 9, 15, 4, 9)), rules=rules)

    assert expected == [
        (group.node.budget_bytes, group.count) for group in enough_groups(problem, nodes, by_time=False)
    ]


@pytest.mark.parametrize(("problem", "by_time"), [(timed(PLAIN, (GB, GB, GB)), True), (TIMED, False)])
def test_no_node_stands_in_for_another_where_times_or_measured_blocks_count(problem: Problem, by_time: bool) -> None:
    """The larger one may be slower, or measured for fewer blocks."""
    assert groups_of(problem, by_time=by_time) == enough_groups(problem, 1, by_time=by_time)


@pytest.mark.parametrize("hundred", range(3))
def test_the_largest_nodes_alone_find_what_all_nodes_find(hundred: int) -> None:
    """With rules and under limits of every objective on memory and tokens: as few nodes, or none at all."""
    seen = {True: 0, False: 0}
    smaller = 0
    for seed in range(100 * hundred, 100 * hundred + 100):
        random = Random(seed)
        problem = random_problem(random, 8, 8, ruled=seed % 2 == 1)
        problem = growing(problem, tuple(random.choice((0, 1, 2)) for _ in problem.blocks))
        groups = groups_of(problem, by_time=False)
        search = lay_out_search(problem, groups, len(problem.nodes))
        if not groups or search is None:
            continue
        limits = random_limits(problem, random)
        whole = find(search, problem, limits)
        for nodes in range(1, len(problem.nodes) + 1):
            chosen = enough_groups(problem, nodes, by_time=False)
            part = lay_out_search(problem, chosen, nodes)
            smaller += chosen != groups
            assert part is not None
            chain = find(part, problem, replace(limits, max_nodes=min(nodes, limits.max_nodes or nodes)))
            fits = whole is not None and len(whole.stages) <= nodes
            seen[fits] += 1

            assert fits == (chain is not None)
            assert chain is None or whole is None or len(chain.stages) == len(whole.stages)
    assert min(*seen.values(), smaller) > 50


def random_limits(problem: Problem, random: Random) -> Limits:
    """Return limits that some placement of a part of the problem just keeps, so that they are tight."""
    part = replace(problem, nodes=problem.nodes[:4], rules=NO_RULES, links=NO_LINKS)
    placements = list(every_placement(part))
    limits = NO_LIMITS
    for objective in random.sample(askable(part), 2):
        if placements and objective.name not in {"latency", "throughput"}:
            limits = objective.at_most(limits, objective.cost(part, random.choice(placements)))
    return limits
