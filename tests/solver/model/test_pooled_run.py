"""Runs of the model of shared memories: bounds, hints and odd sizes, and machines that could be exchanged."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from ortools.sat.python import cp_model
from support.pooled import every_pooled_placement, pooled_problem
from support.problems import NO_RULES, problem_of

from solver.effort import Clock, Effort
from solver.limits import NO_LIMITS
from solver.measures import nodes_used
from solver.model import pooled_run
from solver.model.pooled import build
from solver.model.pooled_sizes import placed_in, sizes_of
from solver.pools import Draws, Pool
from solver.problem import Block, Node, Placement, Problem, Stage
from solver.rules import violations


def clock() -> Clock:
    return Clock(Effort(60, None, 1, 0))


def unheard(_value: int, _bound: int) -> None:
    """Hear a value and a bound without a word."""


def desks(count: int) -> Problem:
    """Return six blocks of 4 bytes, 3 of them experts, and desks of two cards of 5 bytes beside a host of 9."""
    block = Block(4, 0, 4, None, 0, expert_bytes=3, expert_active_bytes=2)
    names = [f"desk{number}" for number in range(count)]
    return replace(
        problem_of((4,) * 6, ()),
        blocks=(block,) * 6,
        nodes=tuple(
            Node(
                f"{name}/{card}",
                5,
                10**9,
                None,
                name,
                Draws((f"{name}/v{card}",), (f"{name}/v{card}",), f"{name}/ram", 10**8, 0),
            )
            for name in names
            for card in range(2)
        ),
        pools=tuple(
            pool
            for name in names
            for pool in (Pool(f"{name}/v0", 5, name), Pool(f"{name}/v1", 5, name), Pool(f"{name}/ram", 9, name))
        ),
    )


def test_equal_machines_are_twins_unless_a_rule_names_a_device() -> None:
    problem = desks(3)
    named = replace(problem, rules=replace(NO_RULES, first="desk1/0"))

    assert (((0,), (1,), (2,)),) == sizes_of(problem, NO_LIMITS).twins
    assert (((0,), (3,)),) == sizes_of(named, NO_LIMITS).twins


def test_experts_of_one_weight_are_one_kind() -> None:
    assert ((0, 1, 2, 3, 4, 5),) == sizes_of(desks(1), NO_LIMITS).kinds


def test_cards_that_share_a_host_cannot_both_fill_it() -> None:
    """One desk holds 5 + 5 + 9 of 24 bytes; on two, cards of two blocks leave one's experts."""
    answer = pooled_run.minimise("offload", desks(2), NO_LIMITS, clock(), None, unheard, at_least=0)

    assert pooled_run.find(desks(1), NO_LIMITS, clock(), None).placement is None
    assert answer.placement is not None
    assert (6, True, 2) == (answer.lower, answer.settled, nodes_used(desks(2), answer.placement))


def test_a_known_bound_is_a_constraint_and_a_unit_is_rounded_up() -> None:
    """Experts weigh 3: told that 10 are left at least, a run leaves 12."""
    answer = pooled_run.minimise("offload", desks(2), NO_LIMITS, clock(), None, unheard, at_least=10)

    assert (12, True) == (answer.lower, answer.settled)


def test_the_bound_that_is_heard_of_is_in_bytes() -> None:
    heard: list[tuple[int, int]] = []
    answer = pooled_run.minimise(
        "offload", desks(2), NO_LIMITS, clock(), None, lambda value, bound: heard.append((value, bound)), at_least=0
    )

    assert answer.lower == heard[-1][0]
    assert all(bound <= 6 <= value for value, bound in heard)


def test_every_variable_is_hinted_and_the_hint_keeps_every_rule() -> None:
    """Whatever of the exchangeable placements is hinted: fixed to it, the model has a solution."""
    random = Random(5)
    tried = 0
    while tried < 25:
        problem = pooled_problem(random)
        placements = list(every_pooled_placement(problem))
        if not placements:
            continue
        tried += 1
        sizes = sizes_of(problem, NO_LIMITS)
        built, _ = build(problem, sizes)
        placed = placed_in(problem, sizes, random.choice(placements))
        assert placed is not None
        built.draft.hint(placed)
        model = built.draft.model
        solver = cp_model.CpSolver()
        solver.parameters.fix_variables_to_their_hinted_value = True
        solver.parameters.num_workers = 1

        assert len(model.proto.variables) == len(model.proto.solution_hint.vars)
        assert cp_model.OPTIMAL == solver.solve(model)


def test_the_later_of_two_machines_is_hinted_as_the_earlier() -> None:
    problem = desks(2)
    stages = tuple(Stage(2 * k, 2 * k + 2, f"desk{1 - k // 2}/{k % 2}", (2 * k,)) for k in range(3))
    placed = placed_in(problem, sizes_of(problem, NO_LIMITS), Placement(stages))

    assert placed is not None
    assert [0, 0, 1] == [held.c for held in placed.stages]


@pytest.mark.parametrize("name", ["latency", "throughput", "load", "nodes", "offload"])
def test_a_start_changes_no_answer(name: str) -> None:
    problem = desks(2)
    start = Placement(tuple(Stage(2 * k, 2 * k + 2, f"desk{1 - k // 2}/{k % 2}", (2 * k,)) for k in range(3)))
    cold, warm = (
        pooled_run.minimise(name, problem, NO_LIMITS, clock(), known, unheard, at_least=0) for known in (None, start)
    )

    assert () == violations(problem, start)
    assert (cold.lower, True) == (warm.lower, warm.settled)


def test_what_the_solver_does_not_minimise_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^balance$"):
        pooled_run.minimise("balance", desks(2), NO_LIMITS, clock(), None, unheard, at_least=0)


def test_a_limit_that_leaves_no_stage_is_settled_without_a_model() -> None:
    answer = pooled_run.find(
        replace(desks(1), rules=replace(NO_RULES, exclude=("desk0/0", "desk0/1"))), NO_LIMITS, clock(), None
    )

    assert (None, True) == (answer.placement, answer.settled)


def test_a_model_too_large_to_build_is_not_tried() -> None:
    many = replace(
        problem_of((1,) * 500, tuple(range(1, 501))),
        nodes=tuple(Node(f"n{d}", d + 1, None, None, "hall") for d in range(500)),
    )
    answer = pooled_run.find(many, NO_LIMITS, clock(), None)

    assert (None, False) == (answer.placement, answer.settled)


def test_times_of_years_are_no_failure() -> None:
    """Shares of times are left out where they would leave 64 bits."""
    problem = desks(2)
    slow = replace(problem, nodes=tuple(replace(node, bytes_per_second=1) for node in problem.nodes))
    blocks = tuple(replace(block, active_bytes=2**22, expert_active_bytes=0) for block in slow.blocks)
    answer = pooled_run.minimise("latency", replace(slow, blocks=blocks), NO_LIMITS, clock(), None, unheard, at_least=0)

    assert (6 * 2**22 * 10**9, True) == (answer.lower, answer.settled)
