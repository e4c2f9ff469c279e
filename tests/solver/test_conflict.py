"""The smallest set of rules that leaves nothing: none of it can be spared, and all of it is needed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from support.problems import NO_LINKS, NO_RULES, every_placement, problem_of
from support.strategies import ruled_problems

from solver.conflict import conflicting_rules, without_rules
from solver.effort import Clock, Effort
from solver.problem import Link, LinkPair, Problem, Rules
from solver.trials import Trials

if TYPE_CHECKING:
    from collections.abc import Sequence

BARRED = Link(latency_ns=0, bytes_per_second=None, forbidden=True)
NO_WAY = tuple(LinkPair(source, target, BARRED) for source, target in (("n0", "n1"), ("n1", "n0")))


def trials(seconds: float = 60) -> Trials:
    return Trials(Clock(Effort(time_limit_seconds=seconds, deterministic_limit=None, workers=1, seed=0)))


def conflict_of(rules: Rules, problem: Problem | None = None) -> tuple[str, ...]:
    asked = problem_of((3, 3, 3), (7, 7)) if problem is None else problem
    return conflicting_rules(replace(asked, rules=rules), trials())


def keeping(problem: Problem, texts: Sequence[str]) -> Problem:
    """Return the problem with the rules of these texts alone, read from the texts by themselves."""
    own, kept = problem.rules, set(texts)
    allowed = tuple(pair for pair in problem.links.pairs if not pair.link.forbidden)
    rules = Rules(
        pins=tuple((block, node) for block, node in own.pins if f"block {block} on {node}" in kept),
        first=own.first if f"first {own.first}" in kept else None,
        last=own.last if f"last {own.last}" in kept else None,
        order=own.order if f"order {', '.join(own.order)}" in kept else (),
        exclude=tuple(node for node in own.exclude if f"exclude {node}" in kept),
        max_nodes=own.max_nodes if any(text.startswith("at most ") for text in kept) else None,
        min_blocks=own.min_blocks if any(text.startswith("at least ") for text in kept) else 1,
    )
    links = problem.links if "the forbidden links" in kept else replace(problem.links, pairs=allowed)
    return replace(problem, rules=rules, links=links)


def possible(problem: Problem) -> bool:
    """Return whether there is a placement, by trying every one."""
    return next(every_placement(problem), None) is not None


@settings(max_examples=120, deadline=None)
@given(problem=ruled_problems())
def test_a_conflict_leaves_nothing_and_without_any_one_of_it_something(problem: Problem) -> None:
    """Where memory alone leaves nothing, no rule is needed for that."""
    if possible(problem):
        return
    found = conflicting_rules(problem, trials())

    assert not possible(keeping(problem, found))
    assert (found == ()) == (not possible(without_rules(problem)))
    for left_out in range(len(found)):
        assert possible(keeping(problem, (*found[:left_out], *found[left_out + 1 :])))


@settings(max_examples=100, deadline=None)
@given(problem=ruled_problems())
def test_without_rules_memory_is_all_there_is(problem: Problem) -> None:
    bare = without_rules(problem)

    assert NO_RULES == bare.rules
    assert not bare.has_forbidden_links
    assert [pair for pair in problem.links.pairs if not pair.link.forbidden] == list(bare.links.pairs)
    assert (problem.blocks, problem.ends, problem.nodes) == (bare.blocks, bare.ends, bare.nodes)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (replace(NO_RULES, pins=((1, "n0"), (1, "n1"))), ("block 1 on n0", "block 1 on n1")),
        (replace(NO_RULES, pins=((1, "n1"), (0, "n0"), (2, "n0"))), ("block 0 on n0", "block 2 on n0")),
        (replace(NO_RULES, first="n0", last="n0"), ("first n0", "last n0")),
        (replace(NO_RULES, first="n1", order=("n0", "n1")), ("first n1", "order n0, n1")),
        (replace(NO_RULES, last="n1", exclude=("n1",)), ("exclude n1",)),
        (replace(NO_RULES, max_nodes=1), ("at most 1 node",)),
        (replace(NO_RULES, min_blocks=2), ("at least 2 blocks a node",)),
        (replace(NO_RULES, first="n0", min_blocks=4, pins=((2, "n1"),)), ("at least 4 blocks a node",)),
    ],
)
def test_every_kind_of_rule_is_named_as_it_was_given(rules: Rules, expected: tuple[str, ...]) -> None:
    assert expected == conflict_of(rules)


def test_three_pins_of_which_any_two_are_possible_are_a_conflict() -> None:
    """Each node takes all blocks, and a node takes one run alone."""
    rules = replace(NO_RULES, pins=((0, "n0"), (2, "n0"), (1, "n1")))

    assert ("block 0 on n0", "block 2 on n0", "block 1 on n1") == conflict_of(rules, problem_of((3, 3, 3), (9, 9)))


def test_a_count_of_nodes_above_one_is_in_the_plural() -> None:
    problem = problem_of((3, 3, 3), (3, 3, 3))

    assert ("at most 2 nodes",) == conflict_of(replace(NO_RULES, max_nodes=2), problem)


def test_forbidden_links_count_as_one_rule() -> None:
    problem = replace(problem_of((3, 3, 3), (7, 7)), links=replace(NO_LINKS, pairs=NO_WAY))

    assert ("the forbidden links",) == conflict_of(NO_RULES, problem)


def test_rules_that_have_nothing_to_do_with_it_are_left_out() -> None:
    """Block 1 on either node is no hindrance, and neither is the order."""
    rules = replace(NO_RULES, pins=((1, "n0"),), order=("n0", "n1"), first="n1")

    assert ("first n1", "order n0, n1") == conflict_of(rules)


def test_rules_stay_where_the_time_is_spent() -> None:
    """They leave nothing; that none of them can be spared is not claimed by the set."""
    rules = replace(NO_RULES, first="n0", last="n0", pins=((1, "n0"),))
    problem = replace(problem_of((3, 3, 3), (7, 7)), rules=rules)

    assert ("block 1 on n0", "first n0", "last n0") == conflicting_rules(problem, trials(seconds=0))
