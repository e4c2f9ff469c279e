"""Where a host memory is nearly full, what runs cost and what they put there are weighed together, without CP-SAT."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from support.pooled import best_pooled, crowded_problem
from support.problems import NO_LINKS, NO_RULES
from support.timed import askable

from solver.effort import Effort
from solver.exact.machines.answers import least
from solver.exact.machines.search import MachineSearch
from solver.limits import NO_LIMITS
from solver.objectives import OBJECTIVES
from solver.pools import Draws, Pool
from solver.problem import Block, Ends, Node, Problem
from solver.provers import ClosedForm, MachineProver
from solver.solution import Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from solver.solution import Solution

BRIEF = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
LISTS = (
    ("latency",),
    ("offload",),
    ("nodes", "offload", "balance"),
    ("latency", "offload"),
    ("offload", "latency"),
    ("nodes", "latency"),
)


def by_search_alone(problem: Problem, *names: str) -> Solution:
    """Solve a problem without CP-SAT."""
    wanted = tuple(OBJECTIVES[name] for name in names)
    return solve(problem, wanted, BRIEF, provers=(ClosedForm(), MachineProver(problem)))


def crowded_desk(ram: int, cards: tuple[int, ...], blocks: int = 60) -> Problem:
    """Build a machine with a processor and cards for blocks of attention, experts of three sizes and cache."""
    sizes = [2 + (number % 7 == 3) + (number % 11 == 5) for number in range(blocks)]
    made = tuple(
        Block(
            weight_bytes=1_000 * size + 170,
            cache_bytes=11,
            active_bytes=300 + 31 * size,
            cache_bytes_per_token=1,
            cache_fixed_bytes=0,
            expert_bytes=1_000 * size,
            expert_active_bytes=31 * size,
        )
        for size in sizes
    )
    nodes = [
        Node(f"card{number}", size, 10**9, None, "desk", Draws((f"card{number}",), (f"card{number}",), "ram", 10**8, 0))
        for number, size in enumerate(cards)
    ]
    pools = [Pool(node.name, node.budget_bytes, "desk") for node in nodes]
    nodes.append(Node("cpu", ram, 10**8, None, "desk", Draws(("ram",), ("cpu",), None, None, 0)))
    return Problem(
        blocks=made,
        ends=Ends(400, 400, 0, 50),
        nodes=tuple(nodes),
        activation_bytes=1,
        context_tokens=None,
        links=NO_LINKS,
        rules=NO_RULES,
        pools=(*pools, Pool("ram", ram, "desk")),
        shapes=(),
    )


@pytest.mark.parametrize("thirty", range(5))
def test_the_search_alone_agrees_with_trying_every_placement(thirty: int) -> None:
    proved = 0
    for seed in range(30 * thirty, 30 * thirty + 30):
        random = Random(seed)
        problem = crowded_problem(random, 5, random.choice((2, 3, 3)))
        asked = {objective.name for objective in askable(problem)}
        names = tuple(name for name in random.choice(LISTS) if name in asked)
        best = best_pooled(problem, tuple(OBJECTIVES[name] for name in names))
        found = by_search_alone(problem, *names)
        if best is None:
            assert Outcome.INFEASIBLE == found.outcome
            continue
        proved += 1
        assert (Outcome.OPTIMAL, best.values) == (found.outcome, tuple(level.value for level in found.levels))
        assert not found.canonical or best.placement == found.placement

    assert proved > 3


@pytest.mark.parametrize("cards", [(20_000,), (20_000, 13_000, 9_000)])
@pytest.mark.parametrize("names", LISTS)
def test_a_machine_whose_memories_are_all_but_full_is_proved(cards: tuple[int, ...], names: tuple[str, ...]) -> None:
    """Of the host memory, a hundredth more than what the cards cannot hold is there."""
    roomy = crowded_desk(10**6, cards)
    ram = (roomy.total_bytes - sum(cards)) * 101 // 100

    found = by_search_alone(crowded_desk(ram, cards), *names)

    assert (Outcome.OPTIMAL, True) == (found.outcome, found.canonical)


def test_a_host_memory_that_is_short_costs_time() -> None:
    """What goes into it is then no longer free to choose."""
    cards = (20_000, 13_000)
    short = crowded_desk(10**6, cards).total_bytes - sum(cards)
    times = [
        least(MachineSearch(crowded_desk(ram, cards)), "latency", NO_LIMITS, lambda: False).lower
        for ram in (10**6, short * 101 // 100, short * 1002 // 1000)
    ]

    assert [53_681, 53_681, 58_802] == times


def test_a_memory_one_byte_too_small_for_all_that_it_must_take_is_refuted() -> None:
    problem = crowded_desk(10**6, (20_000,))
    ram = problem.total_bytes - 20_000 - 1
    smaller = replace(problem, pools=(problem.pools[0], Pool("ram", ram, "desk")))

    assert Outcome.INFEASIBLE == by_search_alone(smaller, "latency").outcome
