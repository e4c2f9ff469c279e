"""The search with replicas and chains against trying every placement, and its bounds against each other."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random
from typing import TYPE_CHECKING

import pytest
from support.problems import NO_RULES
from support.replicated import REPLICAS, best_pace, replicated_problem, ruled_replicated_problem, sites

from solver.effort import Effort
from solver.errors import InputError
from solver.exact.states import TableError
from solver.flow.ceiling import least_pace_ns
from solver.flow.measure import pace_ns
from solver.objectives import OBJECTIVES, objectives_named
from solver.pools import Draws, Pool
from solver.replicated.kinds import kinds_of
from solver.replicated.pace import Pace
from solver.replicated.packing import best_times, pack
from solver.replicated.partitions import best_partition
from solver.replicated.search import best_flow
from solver.replicated.splits import most_chains, split_at
from solver.replicated.teams import useful_teams
from solver.solution import Outcome, Solution
from solver.solve import solve

if TYPE_CHECKING:
    from solver.problem import Problem

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
NS = 10**9


def solved(problem: Problem) -> Solution:
    return solve(problem, objectives_named("throughput"), EFFORT)


def never() -> bool:
    return False


@pytest.mark.parametrize("seed", range(120))
def test_small_questions_are_proved_and_as_good_as_trying_every_placement(seed: int) -> None:
    problem = replicated_problem(Random(seed))
    best = best_pace(problem)
    found = solved(problem)

    if best is None:
        assert Outcome.INFEASIBLE == found.outcome
        return
    assert found.placement is not None
    assert best == pace_ns(problem, found.placement)
    assert Outcome.OPTIMAL == found.outcome
    assert NS / Fraction(best) == found.levels[0].value == found.levels[0].bound


@pytest.mark.parametrize("seed", range(150))
def test_pins_ends_orders_machines_and_barred_links_are_searched_for(seed: int) -> None:
    """Nothing fits, or the best placement of all is found and proved."""
    problem = ruled_replicated_problem(Random(seed))
    best = best_pace(problem)
    found = solved(problem)

    if best is None:
        assert Outcome.INFEASIBLE == found.outcome
        return
    assert found.placement is not None
    assert (best, Outcome.OPTIMAL) == (pace_ns(problem, found.placement), found.outcome)


def test_sites_of_their_own_hold_a_chain_each_rather_than_cross_thin_links() -> None:
    """Four nodes a site are two pairs of replicas, or two chains."""
    found = solved(sites(4, 10**4))

    assert Outcome.OPTIMAL == found.outcome
    assert Fraction(4 * NS, 10) == found.levels[0].value


def test_replicas_beside_a_thin_seam_are_links_side_by_side() -> None:
    """One site cannot hold the blocks alone: two nodes each side have four links of 25 ns, one of them one."""
    crossing = sites(2, 25)
    lone = replace(crossing, nodes=tuple(replace(node, stage_ns=(3, 5, 8, 10)) for node in crossing.nodes))
    halves = replace(lone, rules=replace(REPLICAS, max_nodes=None))
    single = replace(lone, rules=replace(REPLICAS, exclude=("n1", "n3")))

    assert Fraction(NS, 25) == solved(single).levels[0].value
    assert Fraction(2 * NS, 10) == solved(halves).levels[0].value


@pytest.mark.parametrize("seed", range(60))
def test_a_packing_holds_as_many_items_as_the_best_split_into_teams(seed: int) -> None:
    """By a plain knapsack over every team."""
    random = Random(seed)
    counts = tuple(random.randint(0, 3) for _ in range(random.randint(1, 3)))
    times = [sorted(random.randint(1, 30) for _ in range(random.randint(1, 5))) for _ in counts]
    pace = Pace(Fraction(random.randint(1, 30), random.randint(1, 3)), strict=random.random() < 0.5)
    held: dict[tuple[int, ...], int] = {}
    every = list(product(*(range(count + 1) for count in counts)))
    for whole in every:
        held[whole] = 0
        for team in every[1:]:
            rest = tuple(one - other for one, other in zip(whole, team, strict=True))
            if min(rest) >= 0:
                held[whole] = max(held[whole], held[rest] + longest(team, times, pace))

    packing = pack(times, counts, 12, pace)

    assert {whole: min(amount, 12) for whole, amount in held.items()} == {
        whole: int(packing.held[whole]) for whole in every
    }


def longest(team: tuple[int, ...], times: list[list[int]], pace: Pace) -> int:
    used = [(count, row) for count, row in zip(team, times, strict=True) if count]
    lengths = range(1, min(len(row) for _, row in used) + 1)
    return max((k for k in lengths if pace.kept([(count, row[k - 1]) for count, row in used])), default=0)


@pytest.mark.parametrize("seed", range(40))
def test_no_split_that_is_excluded_is_in_the_best_partition(seed: int) -> None:
    """What the grid excludes for several chains, exact fractions over every split do not reach."""
    random = Random(seed)
    counts = tuple(random.randint(1, 4) for _ in range(random.randint(1, 2)))
    times = [sorted(random.randint(1, 30) for _ in range(random.randint(2, 4))) for _ in counts]
    items = random.randint(2, 6)
    best = best_partition(times, counts, items, None)
    if best is None or len(best[1]) == 1:
        return
    pace, parts = best

    assert len(parts) <= most_chains(times, counts, items)
    assert split_at(times, counts, items, pace, never) is not None


def test_a_strict_pace_is_told_from_one_that_is_just_met() -> None:
    """Three replicas of 3 ns share tokens at exactly 1 ns, which floats may miss."""
    assert Pace(Fraction(1), strict=False).kept([(3, 3)])
    assert not Pace(Fraction(1), strict=True).kept([(3, 3)])
    assert Pace(Fraction(1) + Fraction(1, 10**15), strict=True).kept([(3, 3)])
    assert not Pace(Fraction(1) - Fraction(1, 10**15), strict=False).kept([(3, 3)])


def test_nodes_whose_thin_links_differ_are_one_kind_and_others_are_told_apart() -> None:
    problem = sites(2, 10**4)
    uneven = replace(
        problem,
        links=replace(
            problem.links,
            pairs=tuple(
                replace(pair, link=replace(pair.link, bytes_per_second=NS // 10**4 - 999 * number))
                for number, pair in enumerate(problem.links.pairs)
            ),
        ),
    )
    fastest = least_pace_ns(uneven)
    assert fastest is not None
    kinds = kinds_of(uneven, fastest)

    assert not kinds.free
    assert (("n0", "n1"), ("n2", "n3")) == tuple(kind.members for kind in kinds.kinds)
    assert kinds.slow_ns[0, 1] > kinds.quick_ns[0, 1]


def test_teams_that_waste_more_than_there_is_to_spare_are_not_offered() -> None:
    problem = sites(2, 10**4)
    fastest = least_pace_ns(problem)
    assert fastest is not None
    kinds = kinds_of(problem, fastest)
    times = best_times(kinds)
    offer = useful_teams(kinds, times, pack(times, kinds.counts, 8, Pace(Fraction(5), strict=False)))

    assert offer.complete
    assert {(1, 0), (0, 1), (2, 0), (0, 2), (1, 1)} >= set(offer.teams)


def test_too_many_kinds_of_nodes_are_left_alone() -> None:
    with pytest.raises(TableError):
        pack([[1]] * 23, [1] * 23, 4, Pace(Fraction(5), strict=False))


@pytest.mark.parametrize("name", sorted(set(OBJECTIVES) - {"throughput"}))
def test_other_objectives_are_refused_by_name(name: str) -> None:
    with pytest.raises(InputError) as caught:
        solve(sites(1, 25), objectives_named(name), EFFORT)

    assert (
        f"objective {name}: replicas are allowed, which only the objective throughput knows; expected that alone. "
        "Ask for throughput, or leave the rule replicas out."
    ) == str(caught.value)


def test_replicas_are_refused_where_experts_may_stay_with_a_host() -> None:
    problem = sites(1, 25)
    hosted = replace(
        problem,
        blocks=tuple(replace(block, expert_bytes=1, expert_active_bytes=1) for block in problem.blocks),
        nodes=(replace(problem.nodes[0], draws=Draws(("n0",), ("n0",), "ram", NS, 0)), problem.nodes[1]),
        pools=(Pool("n0", 4, "n0"), Pool("ram", 9, "n0")),
    )
    with pytest.raises(InputError) as caught:
        solve(hosted, objectives_named("throughput"), EFFORT)

    assert (
        "rule replicas: node n0 may leave experts with its host; expected replicas of whole stages, since this version "
        "does not share the tokens of such. Leave the rule or the host memory out."
    ) == str(caught.value)


def test_equal_questions_get_equal_placements() -> None:
    problem = sites(3, 40)

    assert solved(problem).placement == solved(problem).placement


def test_an_interrupt_keeps_the_best_so_far() -> None:
    """One chain of single nodes is there before anything is interrupted."""
    asked = iter([False] * 3)

    def interrupting() -> bool:
        if next(asked, True):
            raise KeyboardInterrupt
        return False

    problem = sites(3, 40)
    start = solve(replace(problem, rules=NO_RULES), objectives_named("throughput"), EFFORT).placement
    found = best_flow(problem, start, interrupting, never)

    assert found is not None
    assert found.interrupted
    assert found.placement is not None


def test_a_link_that_is_slower_than_every_stage_is_proved_to_be_what_binds() -> None:
    """Two nodes at two sites hold a half each, and one link joins them."""
    problem = replace(sites(4, 10**5), rules=replace(REPLICAS, exclude=("n1", "n2", "n3", "n5", "n6", "n7")))
    found = solved(problem)

    assert Outcome.OPTIMAL == found.outcome
    assert Fraction(NS, 10**5) == found.levels[0].value
