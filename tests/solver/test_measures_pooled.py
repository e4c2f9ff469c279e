"""What a placement amounts to where devices share memories and leave experts with hosts, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.pooled import best_pooled, canonical_key, every_pooled_placement, pooled_problems
from support.problems import problem_of
from support.timed import GB

from solver.errors import InputError
from solver.measures import (
    PoolLoad,
    cache_tokens,
    largest_load,
    latency_ns,
    nodes_used,
    offload_bytes,
    pool_loads,
    stage_load,
    stage_ns,
)
from solver.objectives import OBJECTIVES
from solver.pools import Draws, Pool
from solver.problem import Block, Ends, Node, Placement, Problem, Shape, Stage

# Block i weighs 10 with experts of 6, and caches 2 for each token, 4 at present; of 5 active bytes 3 are of experts.
BLOCK = Block(10, 4, 5, 2, 0, expert_bytes=6, expert_active_bytes=3)
HALF = Block(5, 4, 3, 2, 0, expert_bytes=3, expert_active_bytes=2)

# One card at one byte a nanosecond and a host at a tenth of it; the processor draws on the host memory; `both` is two
# cards in another machine as one device, `alone` a node with one memory.
DESK = replace(
    problem_of((10,) * 4, (), ends=Ends(1, 3, 3, 2)),
    blocks=(BLOCK,) * 4,
    nodes=(
        Node("card", 40, GB, None, "desk", Draws(("desk/card",), ("desk/card",), "desk/ram", GB // 10, 0)),
        Node("cpu", 50, GB // 10, None, "desk", Draws(("desk/ram",), ("desk/cpu",), None, None, 0)),
        Node("both", 30, GB, None, "rack", Draws(("c0", "c1"), ("c0", "c1"), "rack/ram", GB // 5, 1)),
        Node("alone", 60, GB, None),
    ),
    pools=(
        Pool("desk/card", 40, "desk"),
        Pool("desk/ram", 50, "desk"),
        Pool("c0", 30, "rack"),
        Pool("c1", 30, "rack"),
        Pool("rack/ram", 50, "rack"),
    ),
    shapes=(Shape((HALF,) * 4, Ends(1, 2, 2, 2)),),
)
ALL = Placement(
    (Stage(0, 1, "card", (0,)), Stage(1, 2, "cpu"), Stage(2, 3, "both", (2,)), Stage(3, 4, "alone")),
)


def test_what_stays_with_the_host_is_no_load_of_the_device() -> None:
    loads = [stage_load(DESK, stage) for stage in ALL.stages]

    assert [(5, 4, 0), (10, 4, 0), (2, 4, 0), (13, 4, 0)] == [
        (load.weight_bytes, load.cache_bytes, load.other_bytes) for load in loads
    ]
    assert 17 == largest_load(DESK, ALL)


def test_every_rank_of_a_group_puts_its_load_into_its_card_and_its_experts_into_the_host() -> None:
    assert {
        "desk/card": PoolLoad(5, 4, 0, 0),
        "desk/ram": PoolLoad(10, 4, 2, 6),
        "c0": PoolLoad(2, 4, 0, 0),
        "c1": PoolLoad(2, 4, 0, 0),
        "rack/ram": PoolLoad(0, 0, 0, 6),
        "alone": PoolLoad(13, 4, 0, 0),
    } == pool_loads(DESK, ALL)


def test_what_stays_on_the_first_host_is_a_load_of_a_device_that_has_no_host_beside_it() -> None:
    whole = Placement((Stage(0, 4, "cpu"),))

    assert {"desk/ram": PoolLoad(41, 16, 2, 0)} == pool_loads(DESK, whole)


def test_left_with_hosts_are_experts_of_devices_and_whole_blocks_beside_them() -> None:
    """6 of the card, 10 on the processor, 3 of each rank; a memory that nothing is left in counts for nothing."""
    assert 6 + 10 + 2 * 3 == offload_bytes(DESK, ALL)
    assert 0 == offload_bytes(DESK, Placement((Stage(0, 4, "alone"),)))


def test_machines_are_counted_not_devices() -> None:
    assert 3 == nodes_used(DESK, ALL)


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (Stage(0, 2, "card"), 10),
        (Stage(0, 2, "card", (1,)), 5 + 2 + 30),
        (Stage(0, 2, "card", (0, 1)), 2 * (2 + 30)),
        (Stage(0, 2, "cpu"), 100),
        (Stage(0, 2, "both", (0,)), 3 + 1 + 10),
    ],
)
def test_experts_that_stay_with_the_host_are_read_at_its_rate(stage: Stage, expected: int) -> None:
    assert expected == stage_ns(DESK, stage)


def test_the_time_of_one_token_counts_every_memory() -> None:
    assert 32 + 50 + 11 + 5 == latency_ns(DESK, ALL)


def test_a_host_memory_of_no_known_rate_prices_no_experts() -> None:
    nodes = (replace(DESK.nodes[0], draws=Draws(("desk/card",), ("desk/card",), "desk/ram", None, 0)), *DESK.nodes[1:])
    with pytest.raises(InputError) as caught:
        stage_ns(replace(DESK, nodes=nodes), ALL.stages[0])

    assert "node card: the rate of its host memory is not known; expected one, to price experts. Give it." == str(
        caught.value
    )


def test_the_room_for_tokens_is_that_of_the_weakest_memory() -> None:
    """The host memory holds 10 of the processor's block, 6 of experts and 2 that stay: 32 of 50 are for 2 a token."""
    wide = replace(
        DESK,
        nodes=tuple(replace(node, budget_bytes=99) for node in DESK.nodes),
        pools=tuple(replace(pool, budget_bytes=99) if pool.name in ("c0", "c1") else pool for pool in DESK.pools),
    )

    assert (30 - 2) // 2 == cache_tokens(DESK, ALL)
    assert (50 - 10 - 6 - 2) // 2 == cache_tokens(wide, ALL)


@settings(max_examples=50)
@given(problem=pooled_problems(timed=True), data=st.data())
def test_with_as_much_in_its_caches_a_placement_is_allowed_and_with_one_token_more_it_is_not(
    problem: Problem, data: st.DataObject
) -> None:
    """The room for tokens is what the rules find when every cache is as long."""
    allowed = list(every_pooled_placement(problem))
    assume(allowed)
    placement = data.draw(st.sampled_from(allowed))
    assume(any(block.cache_bytes_per_token for block in problem.blocks))
    tokens = cache_tokens(problem, placement)
    assume(tokens > 0)

    assert placement in every_pooled_placement(_filled(problem, tokens))
    assert placement not in every_pooled_placement(_filled(problem, tokens + 1))


def _filled(problem: Problem, tokens: int) -> Problem:
    """Return the problem with caches of so many tokens."""
    return replace(
        problem,
        blocks=_cached(problem.blocks, tokens),
        shapes=tuple(replace(shape, blocks=_cached(shape.blocks, tokens)) for shape in problem.shapes),
    )


def _cached(blocks: tuple[Block, ...], tokens: int) -> tuple[Block, ...]:
    return tuple(
        replace(block, cache_bytes=block.cache_fixed_bytes + (block.cache_bytes_per_token or 0) * tokens)
        for block in blocks
    )


def test_of_equals_the_answer_leaves_least_with_the_host_then_takes_fewest_stages() -> None:
    """Both could hold all blocks, the card by leaving two blocks' experts: the other does without."""
    problem = replace(DESK, nodes=(DESK.nodes[0], DESK.nodes[3]))
    best = best_pooled(problem, (OBJECTIVES["nodes"],))

    assert best is not None
    assert Placement((Stage(0, 4, "alone"),)) == best.placement


def test_of_equals_the_answer_leaves_the_earliest_blocks_with_the_host() -> None:
    problem = replace(DESK, nodes=DESK.nodes[:1])
    best = best_pooled(problem, (OBJECTIVES["offload"],))

    assert best is not None
    assert Placement((Stage(0, 4, "card", (0, 1, 2)),)) == best.placement
    assert canonical_key(problem, best.placement) < canonical_key(problem, Placement((Stage(0, 4, "card", (0, 1, 3)),)))
