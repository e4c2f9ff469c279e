"""How far one stage reaches: by hand, under every rule, and from the other end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.problems import NO_LINKS, NO_RULES, problem_of

from solver.exact.line import NO_GROUP, farthest_ends, groups_of, line_of
from solver.problem import Ends, Link, LinkPair, Problem, Rules

NEAR = Link(latency_ns=5, bytes_per_second=None, forbidden=False)
PLAIN = problem_of((4, 5, 6, 7), (15, 9, 15))
TIED = problem_of((4, 4, 1), (15, 20), ends=Ends(input_bytes=6, output_bytes=6, tied_bytes=6, host_bytes=0))


def reaches(problem: Problem, *caps: int) -> list[list[int]]:
    """Return the farthest ends of every group from boundaries 0 to the last, without the column of no state."""
    groups = groups_of(problem)
    return farthest_ends(line_of(problem, groups), caps)[:, :-1].tolist()


def test_equal_budgets_are_one_group_in_the_order_listed() -> None:
    assert [(15, 2), (9, 1)] == [(group.budget_bytes, group.count) for group in groups_of(PLAIN)]


def test_a_node_that_a_rule_names_is_a_group_of_its_own() -> None:
    named = replace(PLAIN, rules=replace(NO_RULES, last="n2"))

    assert [(15, 1), (9, 1), (15, 1)] == [(group.budget_bytes, group.count) for group in groups_of(named)]


def test_classes_that_links_or_speeds_tell_apart_are_one_group_to_memory() -> None:
    """Three classes of equal budget, one of them named by a rule: two groups."""
    problem = problem_of((4, 5), (15, 15, 15, 15), links=replace(NO_LINKS, pairs=(LinkPair("n0", "n3", NEAR),)))
    fast = tuple(replace(node, bytes_per_second=7 if node.name == "n2" else None) for node in problem.nodes)
    problem = replace(problem, nodes=fast, rules=replace(NO_RULES, first="n1"))
    groups = groups_of(problem)

    assert [["n0"], ["n1"], ["n2"], ["n3"]] == [[node.name for node in group.members] for group in problem.classes]
    assert [((0, 2, 3), 3), ((1,), 1)] == [(group.classes, group.count) for group in groups]


def test_a_stage_reaches_as_far_as_its_cap_holds() -> None:
    """Sums of 4, 5, 6, 7: 15 bytes hold three blocks from the start, 9 hold two; the end reaches itself."""
    assert [[3, 3, 4, 4, 4], [2, 2, 3, 4, 4]] == reaches(PLAIN, 15, 9)


def test_a_cap_below_nothing_reaches_nothing_not_even_blocks_of_no_bytes() -> None:
    problem = problem_of((0, 0, 3), (5, 4))

    assert [[2, 2, 2, 3], [0, 1, 2, 3]] == reaches(problem, 0, -1)


def test_all_items_on_one_node_save_what_is_shared() -> None:
    """The input of 6 makes the first block 10, the head of 6 the last 7: 21 in all, 15 on one node."""
    assert [[3, 3, 3, 3], [3, 3, 3, 3]] == reaches(TIED, 15, 20)
    assert [[2, 3, 3, 3], [2, 3, 3, 3]] == reaches(TIED, 14, 14)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (replace(NO_RULES, pins=((1, "n1"),)), [[1, 1, 4, 4, 4], [2, 2, 2, 3, 4]]),
        (replace(NO_RULES, pins=((1, "n1"), (2, "n0"))), [[0, 1, 4, 3, 4], [2, 2, 2, 3, 4], [1, 1, 2, 4, 4]]),
        (replace(NO_RULES, first="n1"), [[0, 3, 4, 4, 4], [2, 1, 2, 3, 4]]),
        (replace(NO_RULES, last="n1"), [[3, 3, 3, 3, 4], [0, 1, 2, 4, 4]]),
        (replace(NO_RULES, first="n1", exclude=("n1",)), [[0, 3, 4, 4, 4]]),
        (replace(NO_RULES, pins=((3, "n1"),), exclude=("n1",)), [[3, 3, 3, 3, 4]]),
    ],
    ids=["a pin", "two pins", "first", "last", "first is excluded", "the pinned node is excluded"],
)
def test_rules_shorten_what_a_stage_may_take(rules: Rules, expected: list[list[int]]) -> None:
    """A pinned node takes its block or nothing, and others stop before it."""
    problem = replace(PLAIN, rules=rules)

    assert expected == reaches(problem, *(group.budget_bytes for group in groups_of(problem)))


def test_a_stage_cut_short_by_a_rule_saves_nothing() -> None:
    """Seen from its end, the group that may not hold the first block must fit the rest with the head paid in full."""
    problem = problem_of((1, 1, 1), (9, 9), ends=Ends(input_bytes=0, output_bytes=9, tied_bytes=9, host_bytes=0))
    problem = replace(problem, rules=replace(NO_RULES, first="n0"))
    line = line_of(problem, groups_of(problem)).mirrored()

    assert [[3, 3, 3, 3], [0, 2, 2, 3]] == farthest_ends(line, [9, 9])[:, :-1].tolist()


def test_an_order_gives_ranks_to_the_groups_it_names_and_none_to_others() -> None:
    problem = replace(PLAIN, rules=replace(NO_RULES, order=("n2", "n0"), exclude=("n2",)))
    groups = groups_of(problem)

    assert (1, None) == line_of(problem, groups).ranks


def test_a_line_turned_twice_is_the_same_line() -> None:
    rules = replace(NO_RULES, pins=((1, "n1"),), first="n0", last="n2", order=("n0", "n1", "n2"))
    problem = replace(PLAIN, rules=rules)
    line = line_of(problem, groups_of(problem))
    twice = line.mirrored().mirrored()

    assert line.prefix.tolist() == twice.prefix.tolist()
    assert (line.pins, line.first, line.last, line.ranks) == (twice.pins, twice.first, twice.last, twice.ranks)
    assert NO_GROUP not in (line.first, line.last)
