"""What all split rules keep to, even splits, and the shares of llama.cpp."""

from __future__ import annotations

from random import Random

import pytest
from support.problems import random_problem, with_times
from support.rules import HEAD, MIB, counts, equal, reason

from solver.baselines import STRATEGIES, NoPlacement
from solver.problem import Placement
from solver.rules import cover, once


def test_every_rule_names_its_source_and_stands_under_its_name() -> None:
    assert all(name == strategy.name and strategy.source and strategy.title for name, strategy in STRATEGIES.items())


@pytest.mark.parametrize("seed", range(120))
def test_a_rule_covers_all_blocks_in_order_or_says_why_not(seed: int) -> None:
    """Whatever it is given: with and without speeds, rules, barred links, nodes without a budget."""
    random = Random(f"rules {seed}")
    problem = random_problem(random, 9, 6, ruled=True)
    problem = with_times(problem, random) if seed % 3 else problem
    for strategy in STRATEGIES.values():
        answer = strategy.place(problem)

        assert answer == strategy.place(problem)
        if isinstance(answer, NoPlacement):
            assert answer.reason.endswith(".")
            continue
        placement = Placement(answer)
        assert [] == [*cover(problem, placement), *once(problem, placement)]
        assert {stage.node for stage in answer} <= {node.name for node in problem.nodes}


@pytest.mark.parametrize(
    ("name", "blocks", "nodes", "expected"),
    [
        ("vllm", 22, 4, (5, 6, 6, 5)),
        ("vllm", 43, 10, (4, 4, 4, 4, 4, 4, 5, 5, 5, 4)),
        ("vllm", 7, 4, (2, 2, 2, 1)),
        ("sglang", 22, 4, (5, 5, 6, 6)),
        ("sglang", 8, 4, (2, 2, 2, 2)),
    ],
)
def test_even_splits_place_what_is_left_over(name: str, blocks: int, nodes: int, expected: tuple[int, ...]) -> None:
    assert expected == tuple(counts(name, equal(blocks, (1,) * nodes)).values())


def test_an_even_split_wants_a_block_for_every_node() -> None:
    assert "It wants a block on every node; 2 cannot be on 3." == reason("vllm", equal(2, (9, 9, 9)))
    assert "No node has a budget." == reason("sglang", equal(2, (0, 0)))


@pytest.mark.parametrize(
    ("shares", "expected"), [((3, 2), (49, 31)), ((30, 31, 20), (30, 31, 19)), ((10, 20, 10), (21, 40, 19))]
)
def test_llamacpp_splits_by_cumulative_shares(shares: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """The first two are what a build printed for these shares of 80 layers and the head."""
    budgets = tuple(share * 1000 * MIB for share in shares)

    assert expected == tuple(counts("llamacpp", equal(80, budgets, ends=HEAD)).values())


def test_llamacpp_may_put_the_head_alone_on_the_last_device() -> None:
    """81 slots for 80 layers: a share of 1.5 in 81 takes the last slot and no layer. Without bytes it is no stage."""
    budgets = (795 * MIB, 15 * MIB)

    assert "It puts the head on n1 without a block; a stage holds one at least." == reason(
        "llamacpp", equal(80, budgets, ends=HEAD)
    )
    assert {"n0": 80} == counts("llamacpp", equal(80, budgets))
