"""Single changes that make a problem fit: each is tried out here again, and so is the next smaller one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import NO_RULES, every_placement, problem_of
from support.strategies import ruled_problems

from solver.effort import Clock, Effort
from solver.objectives import OBJECTIVES
from solver.problem import Node, Problem
from solver.solve import solve
from solver.suggestions import fitting_changes
from solver.trials import Trials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.suggestions import Variants

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)


@dataclass(frozen=True, slots=True)
class Shrinking:
    """Variants of a problem whose blocks grow by a byte a token and whose reserve is a share of every budget."""

    problem: Problem
    memory_bytes: int
    reserve_fraction: Fraction
    cache_types: dict[str, int]
    idle_processors: tuple[str, ...] = ()

    def with_processors(self, machines: Sequence[str]) -> Problem | None:
        """Return the problem with one more node of a third of the memory for each machine."""
        extra = (Node(f"{name}/cpu", self.memory_bytes // 3, None, None) for name in machines)
        return replace(self.problem, nodes=(*self.problem.nodes, *extra))

    def with_context(self, context_tokens: int) -> Problem:
        """Return the problem at another context."""
        return at_context(self.problem, context_tokens)

    def with_cache_type(self, name: str) -> Problem | None:
        """Return the problem with the caches that are listed for a type, if any are."""
        if name not in self.cache_types:
            return None
        cache = self.cache_types[name]
        return replace(self.problem, blocks=tuple(replace(block, cache_bytes=cache) for block in self.problem.blocks))

    def with_reserve(self, fraction: Fraction) -> Problem:
        """Return the problem with this share of every memory in reserve."""
        budget = self.memory_bytes - -(-fraction.numerator * self.memory_bytes // fraction.denominator)
        return replace(self.problem, nodes=tuple(replace(node, budget_bytes=budget) for node in self.problem.nodes))


def changes(problem: Problem, variants: Variants | None = None) -> tuple[str, ...]:
    assert not fits(problem)
    return fitting_changes(problem, variants, Trials(Clock(EFFORT)))


def fits(problem: Problem) -> bool:
    return solve(problem, (OBJECTIVES["nodes"],), EFFORT).placement is not None


def grown(problem: Problem, name: str, added: int) -> Problem:
    nodes = tuple(
        replace(node, budget_bytes=node.budget_bytes + added) if node.name == name else node for node in problem.nodes
    )
    return replace(problem, nodes=nodes)


def with_one_more(problem: Problem, name: str) -> Problem:
    return replace(problem, nodes=(*problem.nodes, replace(problem.nodes_by_name[name], name="extra")))


def at_context(problem: Problem, tokens: int) -> Problem:
    """Return a problem with caches that grow by a byte a token."""
    return replace(
        problem,
        context_tokens=tokens,
        blocks=tuple(replace(block, cache_bytes=tokens, cache_bytes_per_token=1) for block in problem.blocks),
    )


def bytes_in(sentence: str) -> int:
    """Return the exact bytes that a sentence names."""
    found = re.search(r"\(([\d,]+) bytes\)", sentence) or re.search(r"([\d,]+) B\b", sentence)
    assert found is not None
    return int(found[1].replace(",", ""))


@settings(max_examples=150, deadline=None)
@given(problem=ruled_problems(most_blocks=4, most_nodes=3))
def test_each_change_fits_and_the_next_smaller_does_not(problem: Problem) -> None:
    """Memory is added to the node where least is needed; of the kinds of nodes, the smallest that helps is named."""

    def possible(changed: Problem) -> bool:
        return next(every_placement(changed), None) is not None

    if possible(problem):
        return
    for sentence in changes(problem):
        name = re.search(r"(?:memory for|B for|\) for|one more node like) (n\d)", sentence)
        assert name is not None
        if "one more node" not in sentence:
            added = bytes_in(sentence)
            assert possible(grown(problem, name[1], added))
            members = [member.name for group in problem.classes for member in group.members]
            assert ("more memory" in sentence) == bool(members)
            members = members or [node.name for node in problem.nodes if node.name not in problem.rules.exclude]
            assert not any(possible(grown(problem, other, added - 1)) for other in members)
        else:
            budget = problem.nodes_by_name[name[1]].budget_bytes
            assert budget == bytes_in(sentence)
            assert possible(with_one_more(problem, name[1]))
            smaller = [group for group in problem.classes if group.room_bytes < budget]
            assert not any(possible(with_one_more(problem, group.members[0].name)) for group in smaller)


def test_a_change_that_would_help_is_not_left_out() -> None:
    """Two nodes hold 11 of 12 bytes; blocks of 3 need one byte more on one node, or one node more."""
    assert (
        "With 1 B more memory for n1 it fits.",
        "With one more node like n1, with a budget of 5 B, it fits.",
    ) == changes(problem_of((3, 3, 3, 3), (6, 5)))


def test_nothing_is_suggested_where_nothing_helps() -> None:
    """Rules leave nothing, whatever the memory."""
    assert () == changes(problem_of((3, 3), (7, 7), rules=replace(NO_RULES, first="n0", last="n0", pins=((0, "n1"),))))


def test_the_smallest_kind_of_node_that_is_enough_is_suggested() -> None:
    """One more of 3 bytes does not take the block of 5."""
    problem = problem_of((5, 5, 5), (3, 7, 6))

    assert "With one more node like n2, with a budget of 6 B, it fits." == changes(problem)[-1]
    assert not fits(with_one_more(problem, "n0"))
    assert fits(with_one_more(problem, "n2"))


def test_memory_is_suggested_for_the_node_that_needs_least_of_it() -> None:
    """Blocks of 40 on 60, 79 and 50: one byte makes room for two on n1, and the others need 20 and 30."""
    problem = problem_of((40, 40, 40, 40), (60, 79, 50))

    assert "With 1 B more memory for n1 it fits." == changes(problem)[0]
    assert fits(grown(problem, "n1", 1))
    assert not fits(grown(problem, "n0", 19))


def test_of_nodes_that_need_the_same_the_first_listed_is_named() -> None:
    """They differ in speed alone."""
    problem = problem_of((3, 3, 3), (5, 5))
    nodes = (problem.nodes[0], replace(problem.nodes[1], bytes_per_second=7))

    assert "With 1 B more memory for n0 it fits." == changes(replace(problem, nodes=nodes))[0]


def test_sizes_are_exact_beside_their_units() -> None:
    assert "With 3.91 KiB (4,001 bytes) more memory for n0 it fits." == changes(problem_of((9001,), (5000,)))[0]


def test_a_node_that_is_added_gets_a_name_of_its_own() -> None:
    """Even where somebody uses the first that comes to mind."""
    nodes = (Node("a", 5, None, None), Node("a+0", 6, None, None))
    problem = replace(problem_of((3, 3, 3, 3), ()), nodes=nodes)

    assert "With one more node like a, with a budget of 5 B, it fits." == changes(problem)[-1]


def test_nothing_is_suggested_when_the_time_is_spent() -> None:
    """What has not been solved is not said to fit."""
    spent = Trials(Clock(replace(EFFORT, time_limit_seconds=0)))

    assert () == fitting_changes(problem_of((3, 3, 3, 3), (6, 5)), None, spent)


def test_the_longest_context_that_fits_is_suggested_in_steps_of_256() -> None:
    """Two blocks of 100 bytes and a byte a token on nodes of 1,000: 900 tokens fit, so 768 is the step below."""
    problem = at_context(problem_of((100, 100), (1000, 1000)), 4096)

    assert "With a context of 768 tokens a sequence in place of 4096 it fits." == changes(problem)[0]
    assert fits(at_context(problem, 768))
    assert not fits(at_context(problem, 1024))


@settings(max_examples=60, deadline=None)
@given(
    weights=st.lists(st.integers(0, 3000), min_size=1, max_size=4).map(tuple),
    budgets=st.lists(st.integers(1, 6000), min_size=1, max_size=3).map(tuple),
    tokens=st.integers(1, 5000),
)
def test_a_shorter_context_fits_and_the_next_longer_step_does_not(
    weights: tuple[int, ...], budgets: tuple[int, ...], tokens: int
) -> None:
    problem = at_context(problem_of(weights, budgets), tokens)
    if fits(problem):
        return
    found = [int(said[1]) for text in changes(problem) if (said := re.match(r"With a context of (\d+) tokens", text))]
    fitting = [step for step in range(256, tokens, 256) if fits(at_context(problem, step))]

    assert fitting[-1:] == found


@pytest.mark.parametrize(
    ("problem", "tokens"),
    [
        (problem_of((900, 900), (1000, 1000)), 4096),
        (problem_of((100, 100), (300, 300)), 256),
        (problem_of((100, 100), (300, 300)), 250),
    ],
    ids=["no step fits", "the least step is what was asked", "less than a step was asked"],
)
def test_no_shorter_context_is_suggested_where_none_fits(problem: Problem, tokens: int) -> None:
    assert not any("context" in sentence for sentence in changes(at_context(problem, tokens)))


def test_no_shorter_context_is_suggested_where_caches_do_not_say_how_they_grow() -> None:
    problem = at_context(problem_of((100, 100), (1000, 1000)), 4096)
    silent = replace(problem, blocks=(problem.blocks[0], replace(problem.blocks[1], cache_bytes_per_token=None)))

    assert not any("context" in sentence for sentence in changes(silent))


def test_no_shorter_context_is_suggested_where_no_context_is_known() -> None:
    assert not any("context" in sentence for sentence in changes(problem_of((3, 3, 3, 3), (6, 5))))


def shrinking(budget: int, **cache_types: int) -> Shrinking:
    """Return a problem of two blocks with caches of 400 bytes, on two nodes of 1,000 bytes with a reserve."""
    problem = problem_of((500, 500), (budget, budget))
    problem = replace(problem, blocks=tuple(replace(block, cache_bytes=400) for block in problem.blocks))
    return Shrinking(problem, 1000, Fraction(1000 - budget, 1000), cache_types)


def test_the_most_exact_smaller_type_of_the_cache_that_fits_is_suggested() -> None:
    """Types are tried from the most exact on, and those that are no smaller are passed over."""
    variants = shrinking(700, q8_0=300, q5_1=200, q4_0=100)

    assert "With a cache of type q5_1 it fits." == changes(variants.problem, variants)[0]


def test_no_type_of_the_cache_is_suggested_where_none_is_enough() -> None:
    variants = shrinking(550, q8_0=300, q4_0=100)

    assert not any("cache of type" in sentence for sentence in changes(variants.problem, variants))


def test_the_largest_smaller_reserve_that_fits_is_suggested() -> None:
    """Blocks of 900 bytes leave a tenth of 1,000; a reserve of a thousandth more would not."""
    variants = shrinking(750)

    assert "With a reserve of 10.0 % of each memory it fits." == changes(variants.problem, variants)[0]
    assert fits(variants.with_reserve(Fraction(100, 1000)))
    assert not fits(variants.with_reserve(Fraction(101, 1000)))


@pytest.mark.parametrize(("load", "share"), [(901, "9.9"), (998, "0.2"), (1000, "0.0")])
def test_a_reserve_is_suggested_to_a_tenth_of_a_percent(load: int, share: str) -> None:
    problem = problem_of((load, load), (890, 890))
    variants = Shrinking(problem, 1000, Fraction(110, 1000), {})

    assert f"With a reserve of {share} % of each memory it fits." == changes(problem, variants)[0]


def test_no_reserve_is_suggested_where_there_is_none_to_give_up_or_all_of_it_is_too_little() -> None:
    full = problem_of((1001, 1001), (1000, 1000))

    for reserve, budget in ((Fraction(0), 1000), (Fraction(1, 5), 800)):
        variants = Shrinking(replace(full, nodes=problem_of((), (budget, budget)).nodes), 1000, reserve, {})
        assert not any("reserve" in sentence for sentence in changes(variants.problem, variants))


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (330, "With cpu = true for a it fits: its processor then takes blocks too."),
        (331, "With cpu = true for a, b it fits: their processors then take blocks too."),
        (334, None),
    ],
)
def test_processors_are_suggested_where_they_are_enough(load: int, expected: str | None) -> None:
    """A third of 1,000 bytes holds one block beside three on the node, or beside two."""
    problem = problem_of((load,) * 4, (3 * 330,))
    variants = Shrinking(problem, 1000, Fraction(0), {}, ("a", "b", "c"))

    assert [expected] == [next((line for line in changes(problem, variants) if "cpu" in line), None)]


def test_changes_stand_in_the_order_of_what_they_cost() -> None:
    """A shorter context, another type, a smaller reserve, then hardware; each by itself."""
    problem = at_context(problem_of((100, 100), (700, 700)), 700)
    variants = Shrinking(problem, 1000, Fraction(3, 10), {"q8_0": 350})

    assert (
        "With a context of 512 tokens a sequence in place of 700 it fits.",
        "With a cache of type q8_0 it fits.",
        "With a reserve of 20.0 % of each memory it fits.",
        "With 900 B more memory for n0 it fits.",
    ) == changes(problem, variants)
