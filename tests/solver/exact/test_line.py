"""Where one stage may end: by hand, under every rule and limit, and from the other end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.problems import NO_LINKS, NO_RULES, problem_of
from support.timed import GB, growing, timed, within

from solver.exact.line import NO_GROUP, groups_of, line_of, time_prefix, windows_of
from solver.limits import NO_LIMITS
from solver.problem import Ends, Link, LinkPair

if TYPE_CHECKING:
    from solver.limits import Limits
    from solver.problem import Problem, Rules

NEAR = Link(latency_ns=5, bytes_per_second=None, forbidden=False)
PLAIN = problem_of((4, 5, 6, 7), (15, 9, 15))
TIED = problem_of((4, 4, 1), (15, 20), ends=Ends(input_bytes=6, output_bytes=6, tied_bytes=6, host_bytes=0))


def windows(problem: Problem, limits: Limits = NO_LIMITS, *, backwards: bool = False) -> list[list[tuple[int, ...]]]:
    """Return the lowest and highest ends of every group from boundaries 0 to the last, () where there is no end."""
    groups = groups_of(problem, by_time=True)
    line = line_of(problem, groups)
    found = windows_of(problem, groups, line.mirrored() if backwards else line, limits)
    return [
        [(low, high) if low <= high else () for low, high in zip(lows, highs, strict=True)]
        for lows, highs in zip(found.low.tolist(), found.high.tolist(), strict=True)
    ]


def reaches(problem: Problem, limits: Limits = NO_LIMITS, *, backwards: bool = False) -> list[list[int]]:
    """Return the farthest ends of every group from boundaries 0 to the last, without the column of no state."""
    groups = groups_of(problem, by_time=True)
    line = line_of(problem, groups)
    ends = windows_of(problem, groups, line.mirrored() if backwards else line, limits).farthest()
    found: list[list[int]] = ends[:, :-1].tolist()
    return found


def test_equal_budgets_are_one_group_in_the_order_listed() -> None:
    assert [(15, 2), (9, 1)] == [(group.node.budget_bytes, group.count) for group in groups_of(PLAIN, by_time=False)]


def test_a_node_that_a_rule_names_is_a_group_of_its_own() -> None:
    named = replace(PLAIN, rules=replace(NO_RULES, last="n2"))

    assert [(15, 1, False), (9, 1, False), (15, 1, True)] == [
        (group.node.budget_bytes, group.count, group.named) for group in groups_of(named, by_time=False)
    ]


def test_classes_that_links_or_speeds_tell_apart_are_one_group_to_memory() -> None:
    """Three classes of equal budget, one of them named by a rule: two groups."""
    problem = problem_of((4, 5), (15, 15, 15, 15), links=replace(NO_LINKS, pairs=(LinkPair("n0", "n3", NEAR),)))
    fast = tuple(replace(node, bytes_per_second=7 if node.name == "n2" else None) for node in problem.nodes)
    problem = replace(problem, nodes=fast, rules=replace(NO_RULES, first="n1"))
    groups = groups_of(problem, by_time=False)

    assert [["n0"], ["n1"], ["n2"], ["n3"]] == [[node.name for node in group.members] for group in problem.classes]
    assert [((0, 2, 3), 3), ((1,), 1)] == [(group.classes, group.count) for group in groups]


def test_classes_that_speeds_tell_apart_are_groups_of_their_own_to_times() -> None:
    """Links still are not told apart; a number of blocks measured counts to memory too, since it bars stages."""
    problem = timed(problem_of((4, 5), (15,) * 6), (GB, GB, 2 * GB, (3, 4), (3, 5), (3,)))
    problem = replace(problem, links=replace(NO_LINKS, pairs=(LinkPair("n0", "n1", NEAR),)))

    assert [(0, 1), (2,), (3,), (4,), (5,)] == [group.classes for group in groups_of(problem, by_time=True)]
    assert [(0, 1, 2), (3, 4), (5,)] == [group.classes for group in groups_of(problem, by_time=False)]


def test_a_stage_reaches_as_far_as_its_cap_holds() -> None:
    """Sums of 4, 5, 6, 7: 15 bytes hold three blocks from the start, 9 hold two; the end reaches itself."""
    assert [[3, 3, 4, 4, 4], [2, 2, 3, 4, 4]] == reaches(PLAIN)


def test_a_window_is_every_end_that_is_allowed() -> None:
    """One block at least; none from the end, nor where not even one block fits."""
    assert [[(1, 3), (2, 3), (3, 4), (4, 4), ()], [(1, 1), (2, 2), (), (), ()]] == windows(
        problem_of((4, 5, 6, 7), (15, 5))
    )


def test_a_cap_below_nothing_reaches_nothing_not_even_blocks_of_no_bytes() -> None:
    """Of budgets of 5 and 4 a headroom of 5 leaves 0 and less than nothing."""
    problem = problem_of((0, 0, 3), (5, 4))

    assert [[2, 2, 2, 3], [0, 1, 2, 3]] == reaches(problem, within(min_headroom_bytes=5))


def test_all_items_on_one_node_save_what_is_shared() -> None:
    """The input of 6 makes the first block 10, the head of 6 the last 7: 21 in all, 15 on one node."""
    assert [[3, 3, 3, 3], [3, 3, 3, 3]] == reaches(TIED)
    assert [[2, 3, 3, 3], [2, 3, 3, 3]] == reaches(TIED, within(max_load_bytes=14))


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (replace(NO_RULES, pins=((1, "n1"),)), [[1, 1, 4, 4, 4], [2, 2, 2, 3, 4]]),
        (replace(NO_RULES, pins=((1, "n1"), (2, "n0"))), [[0, 1, 4, 3, 4], [2, 2, 2, 3, 4], [1, 1, 2, 4, 4]]),
        (replace(NO_RULES, first="n1"), [[0, 3, 4, 4, 4], [2, 1, 2, 3, 4]]),
        (replace(NO_RULES, last="n1"), [[3, 3, 3, 3, 4], [0, 1, 2, 4, 4]]),
        (replace(NO_RULES, first="n1", exclude=("n1",)), [[0, 3, 4, 4, 4]]),
        (replace(NO_RULES, pins=((3, "n1"),), exclude=("n1",)), [[3, 3, 3, 3, 4]]),
        (replace(NO_RULES, min_blocks=2), [[3, 3, 4, 3, 4], [2, 1, 2, 3, 4]]),
        (replace(NO_RULES, min_blocks=3), [[3, 1, 2, 3, 4], [0, 1, 2, 3, 4]]),
    ],
    ids=[
        "a pin", "two pins", "first", "last", "first is excluded", "the pinned node is excluded", "two blocks",
        "three blocks",
    ],
)  # fmt: skip
def test_rules_shorten_what_a_stage_may_take(rules: Rules, expected: list[list[int]]) -> None:
    """A pinned node takes its block or nothing, and others stop before it."""
    assert expected == reaches(replace(PLAIN, rules=rules))


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (replace(NO_RULES, pins=((1, "n1"),)), [(2, 3), (2, 3), (), (), ()]),
        (replace(NO_RULES, pins=((1, "n1"), (2, "n1"))), [(3, 3), (3, 3), (), (), ()]),
        (replace(NO_RULES, min_blocks=2), [(2, 3), (3, 3), (4, 4), (), ()]),
        (replace(NO_RULES, last="n1"), [(), (), (4, 4), (4, 4), ()]),
        (replace(NO_RULES, first="n1"), [(1, 3), (), (), (), ()]),
    ],
    ids=["a pin", "two pins", "two blocks", "last", "first"],
)
def test_rules_also_say_how_much_a_stage_must_take(rules: Rules, expected: list[tuple[int, ...]]) -> None:
    """A budget of 15 for the node that the rules name."""
    problem = replace(problem_of((4, 5, 6, 7), (30, 15)), rules=rules)

    assert expected == windows(problem)[-1]


def test_a_stage_cut_short_by_a_rule_saves_nothing() -> None:
    """Seen from its end, the group that may not hold the first block must fit the rest with the head paid in full."""
    problem = problem_of((1, 1, 1), (9, 9), ends=Ends(input_bytes=0, output_bytes=9, tied_bytes=9, host_bytes=0))
    problem = replace(problem, rules=replace(NO_RULES, first="n0"))

    assert [[3, 3, 3, 3], [0, 2, 2, 3]] == reaches(problem, backwards=True)


TIMED = timed(PLAIN, (GB, (9, 3, 5), GB // 2), active=(4, 1, 6, 1))


def test_a_node_holds_no_more_blocks_than_were_measured() -> None:
    """Whatever its budget; a bandwidth sets no such limit."""
    problem = timed(problem_of((1, 1, 1, 1), (9, 9, 9)), (GB, (7, 7), ()))

    assert [[4, 4, 4, 4, 4], [2, 3, 4, 4, 4], [0, 1, 2, 3, 4]] == reaches(problem)


@pytest.mark.parametrize(
    ("slowest", "expected"),
    [
        (12, [[3, 3, 4, 4, 4], [2, 2, 3, 4, 4], [2, 2, 3, 4, 4]]),
        (7, [[2, 3, 4, 4, 4], [2, 2, 3, 4, 4], [0, 2, 2, 4, 4]]),
        (3, [[0, 2, 2, 4, 4], [2, 2, 3, 4, 4], [0, 2, 2, 4, 4]]),
        (1, [[0, 2, 2, 4, 4], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]),
    ],
)
def test_a_limit_on_times_shortens_stages_by_what_their_node_takes(slowest: int, expected: list[list[int]]) -> None:
    """4, 1, 6, 1 ns on the first, twice that on the last; two blocks are quicker than one on the second."""
    assert expected == reaches(TIMED, within(max_slowest_ns=slowest))


def test_times_are_turned_with_the_line() -> None:
    """From the end: 1, 6, 1, 4 ns, within 7."""
    problem = timed(problem_of((1, 1, 1, 1), (9,)), (GB,), active=(4, 1, 6, 1))

    assert [[2, 3, 4, 4, 4]] == reaches(problem, within(max_slowest_ns=7), backwards=True)


def test_the_time_of_the_first_blocks_is_the_sum_of_each_rounded_up() -> None:
    assert (0, 2, 3, 6, 7) == time_prefix(TIMED, replace(TIMED.nodes[0], bytes_per_second=2 * GB))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (1, [[3, 3, 3, 3], [2, 3, 3, 3]]),
        (2, [[2, 3, 3, 3], [2, 2, 3, 3]]),
        (5, [[2, 2, 2, 3], [1, 2, 2, 3]]),
        (9, [[1, 2, 2, 3], [0, 2, 2, 3]]),
    ],
)
def test_room_for_tokens_shortens_stages_by_their_caches(tokens: int, expected: list[list[int]]) -> None:
    """Blocks of 4, 2 and 4 with 1, 0 and 2 bytes a token, and 1 byte anyway on the last: 5, 2 and 7 with one token."""
    problem = growing(problem_of((4, 2, 4), (14, 9)), (1, 0, 2), fixed=(0, 0, 1))

    assert expected == reaches(problem, within(min_tokens=tokens))


def test_room_for_tokens_is_held_against_budgets_and_not_against_caps() -> None:
    """A limit on loads is on loads as they are: it leaves the first two blocks, and tokens could fill the budget."""
    problem = growing(problem_of((4, 4, 4), (20,)), (3, 3, 3))

    assert [[2, 3, 3, 3]] == reaches(problem, within(min_tokens=2, max_load_bytes=8))
    assert [[1, 2, 3, 3]] == reaches(problem, within(min_tokens=4, max_load_bytes=8))


def test_all_items_on_one_node_save_what_is_shared_for_tokens_too() -> None:
    """21 bytes less the tied 6, and 2 a token: 2 tokens fit 20, not 3."""
    problem = growing(TIED, (1, 0, 1))

    assert 3 == reaches(problem, within(min_tokens=2))[1][0]
    assert 2 == reaches(problem, within(min_tokens=3))[1][0]


def test_an_order_gives_ranks_to_the_groups_it_names_and_none_to_others() -> None:
    problem = replace(PLAIN, rules=replace(NO_RULES, order=("n2", "n0"), exclude=("n2",)))
    groups = groups_of(problem, by_time=False)

    assert (1, None) == line_of(problem, groups).ranks


def test_a_line_turned_twice_is_the_same_line() -> None:
    rules = replace(NO_RULES, pins=((1, "n1"),), first="n0", last="n2", order=("n0", "n1", "n2"))
    problem = replace(PLAIN, rules=rules)
    line = line_of(problem, groups_of(problem, by_time=False))
    once, twice = line.mirrored(), line.mirrored().mirrored()

    assert (4, ((1, 1),), 0, 2, (0, 1, 2), False) == (
        line.items,
        line.pins,
        line.first,
        line.last,
        line.ranks,
        line.backwards,
    )
    assert (4, ((2, 1),), 2, 0, (0, -1, -2), True) == (
        once.items,
        once.pins,
        once.first,
        once.last,
        once.ranks,
        once.backwards,
    )
    assert (line.pins, line.first, line.last, line.ranks) == (twice.pins, twice.first, twice.last, twice.ranks)
    assert NO_GROUP not in (line.first, line.last)
