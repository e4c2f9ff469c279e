"""Tokens a second of replicas and chains, and the rules that they keep to."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import chain as joined
from itertools import combinations
from random import Random

import pytest
from support.problems import NO_LINKS, every_placement, problem_of
from support.replicated import REPLICAS, every_replicated_placement, replicated_problem
from support.timed import timed

from solver.flow.ceiling import least_pace_ns, options_of, pace_for
from solver.flow.chains import Step, chains_of, placement_of_chains
from solver.flow.maximum import Network
from solver.flow.measure import pace_ns, tokens_per_second
from solver.flow.stages import stage_times
from solver.measures import slowest_ns
from solver.problem import Link, LinkPair, Links, Placement, Problem, Stage
from solver.rules import Violation, violations

NS = 10**9
# Four blocks; n0 and n1 take 10 ns for two of them, n2 and n3 20 ns.
FOUR = replace(
    timed(problem_of((1, 1, 1, 1), (9, 9, 9, 9)), ((5, 10), (5, 10), (10, 20), (10, 20))),
    rules=REPLICAS,
)
PAIRS = (Step(0, 2, ("n0", "n2")), Step(2, 4, ("n1", "n3")))


def linked(*pairs: tuple[str, str, int | None]) -> Problem:
    """Return FOUR with links that pass a token in so many ns, None for a forbidden one; all others take no time."""
    return replace(
        FOUR,
        activation_bytes=1,
        links=Links(
            NO_LINKS.default,
            tuple(
                LinkPair(source, target, Link(0, None if ns is None else NS // ns, forbidden=ns is None))
                for source, target, ns in pairs
            ),
        ),
    )


def test_rates_of_replicas_add() -> None:
    assert Fraction(NS, 10) + Fraction(NS, 20) == tokens_per_second(FOUR, placement_of_chains((PAIRS,)))


def test_chains_side_by_side_add() -> None:
    apart = (
        tuple(Step(s.start, s.end, s.nodes[:1]) for s in PAIRS),
        tuple(Step(s.start, s.end, s.nodes[1:]) for s in PAIRS),
    )

    assert Fraction(NS, 10) + Fraction(NS, 20) == tokens_per_second(FOUR, placement_of_chains(apart))


def test_every_pair_of_nodes_across_a_seam_has_a_link_of_its_own() -> None:
    """n0 sends 100 tokens a microsecond over two links of 40, n2 its 50 over another two."""
    thin = linked(*((source, target, 25) for source in ("n0", "n2") for target in ("n1", "n3")))

    assert Fraction(NS, 25) * 2 + Fraction(NS, 20) == tokens_per_second(thin, placement_of_chains((PAIRS,)))


def test_a_forbidden_link_carries_nothing() -> None:
    barred = linked(("n0", "n1", None), ("n2", "n3", None))

    assert Fraction(NS, 20) * 2 == tokens_per_second(barred, placement_of_chains((PAIRS,)))


def test_tokens_are_shared_as_links_allow_and_not_by_speed() -> None:
    """All that n2 and n3 can pass to each other is 10; the rest goes by n0."""
    uneven = linked(("n2", "n3", 100), ("n2", "n1", None))

    assert Fraction(NS, 10) + Fraction(NS, 100) == tokens_per_second(uneven, placement_of_chains((PAIRS,)))


@pytest.mark.parametrize("seed", range(40))
def test_a_chain_of_single_nodes_is_as_quick_as_its_slowest_part(seed: int) -> None:
    problem = replicated_problem(Random(seed))
    single = replace(problem, rules=replace(problem.rules, replicas=False))

    for placement in every_placement(single):
        if not violations(single, placement):
            assert slowest_ns(single, placement) == pace_ns(single, placement) == pace_ns(problem, placement)


@pytest.mark.parametrize("seed", range(60))
def test_the_most_that_flows_is_the_least_cut(seed: int) -> None:
    """By trying every cut of a small network."""
    random = Random(seed)
    inner = range(2, random.randint(2, 6))
    arcs = [
        (source, target, random.choice((0, 1, 2, 3, 5, 10**30)))
        for source in (0, *inner)
        for target in (1, *inner)
        if source != target and random.random() < 0.7
    ]
    network = Network()
    for arc in arcs:
        network.add(*arc)
    sides = ({0, *side} for side in joined.from_iterable(combinations(inner, size) for size in range(len(inner) + 1)))

    assert min(sum(c for s, t, c in arcs if s in side and t not in side) for side in sides) == network.maximum(0, 1)


def test_stages_in_a_row_with_the_same_blocks_are_one_step() -> None:
    placement = Placement(
        (Stage(0, 2, "n0"), Stage(0, 2, "n2"), Stage(2, 4, "n1"), Stage(0, 4, "n3", chain=1)),
    )

    assert ((PAIRS[0], Step(2, 4, ("n1",))), (Step(0, 4, ("n3",)),)) == chains_of(placement)
    assert placement == placement_of_chains(chains_of(placement))


@pytest.mark.parametrize(
    ("problem", "placement", "broken"),
    [
        (FOUR, placement_of_chains((PAIRS,)), ()),
        (
            FOUR,
            placement_of_chains(((PAIRS[0], Step(3, 4, ("n1",))),)),
            (Violation("cover", "chain 0 has [3, 4) where [2, …) was due"),),
        ),
        (FOUR, placement_of_chains(((PAIRS[0],),)), (Violation("cover", "chain 0 ends at 2 of 4"),)),
        (
            FOUR,
            Placement((Stage(0, 2, "n0"), Stage(2, 4, "n1"), Stage(0, 2, "n2", chain=2), Stage(2, 4, "n3", chain=2))),
            (Violation("cover", "chains are numbered 0, 2 where 0, 1, … in a row were due"),),
        ),
        (FOUR, Placement(()), (Violation("cover", "there is no chain for 4 items"),)),
        (
            FOUR,
            placement_of_chains(((Step(0, 2, ("n0", "n2")), Step(2, 4, ("n1", "n0"))),)),
            (Violation("once", '"n0" takes two stages'),),
        ),
        (
            linked(("n0", "n1", None), ("n0", "n3", None)),
            placement_of_chains((PAIRS,)),
            (Violation("hops", 'every link from "n0" to the next step is forbidden'),),
        ),
        (
            linked(("n0", "n3", None), ("n2", "n3", None)),
            placement_of_chains((PAIRS,)),
            (Violation("hops", 'every link to "n3" from the step before is forbidden'),),
        ),
        (
            replace(FOUR, rules=replace(REPLICAS, replicas=False)),
            Placement((Stage(0, 2, "n0", chain=1), Stage(2, 4, "n1", chain=1))),
            (Violation("cover", "there are several chains where one is allowed"),),
        ),
        (
            replace(FOUR, rules=replace(REPLICAS, first="n0", last="n1")),
            placement_of_chains((PAIRS,)),
            (
                Violation("first", 'the first stage is on "n2", not on "n0"'),
                Violation("last", 'the last stage is on "n3", not on "n1"'),
            ),
        ),
        (
            replace(FOUR, rules=replace(REPLICAS, pins=((0, "n0"),))),
            placement_of_chains((PAIRS,)),
            (Violation("pins", 'block 0 is on "n2", pinned to "n0"'),),
        ),
    ],
)
def test_replicas_and_chains_break_rules_with_a_witness(
    problem: Problem, placement: Placement, broken: tuple[Violation, ...]
) -> None:
    assert broken == violations(problem, placement)


def test_every_replica_must_hold_the_whole_stage() -> None:
    small = replace(FOUR, nodes=(*FOUR.nodes[:2], replace(FOUR.nodes[2], budget_bytes=1), FOUR.nodes[3]))

    assert (Violation("memory", '"n2" would hold 2 bytes with a budget of 1'),) == violations(
        small, placement_of_chains((PAIRS,))
    )


@pytest.mark.parametrize("seed", range(40))
def test_no_placement_is_quicker_than_the_ceiling(seed: int) -> None:
    problem = replicated_problem(Random(seed))
    least = least_pace_ns(problem)

    for placement in every_replicated_placement(problem):
        if not violations(problem, placement):
            assert least is not None
            assert least <= pace_ns(problem, placement)


def test_the_ceiling_is_where_nodes_that_pass_all_tokens_carry_all_blocks() -> None:
    """Three nodes hold 2 blocks in 4 ns or 3 in 9, one holds 4 in 4: within 7 ns the three carry 3 · 7/9 each."""
    kinds = [(((2, 4), (3, 9)), 3), (((4, 4),), 1)]

    assert Fraction(2) == pace_for(kinds, 5, None)
    assert Fraction(4) == pace_for(kinds, 10, None)
    assert Fraction(7) == pace_for(kinds, 11, None)
    assert Fraction(9) == pace_for(kinds, 13, None)
    assert pace_for(kinds, 14, None) is None
    assert Fraction(9) == pace_for(kinds, 7, 2)


@pytest.mark.parametrize("seed", range(30))
def test_options_are_the_stages_that_no_other_betters(seed: int) -> None:
    problem = replicated_problem(Random(seed))
    weights = [block.active_bytes for block in problem.blocks]
    for node in problem.nodes:
        times = stage_times(problem, node)
        stages = {
            (sum(weights[start:end]), int(times[start, end]))
            for start in range(len(weights))
            for end in range(start + 1, len(weights) + 1)
            if times[start, end]
        }
        best = {
            one for one in stages if one[0] and not any(o != one and o[0] >= one[0] and o[1] <= one[1] for o in stages)
        }

        assert sorted(best, key=lambda option: option[1]) == list(options_of(times, weights))
