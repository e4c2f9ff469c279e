"""What a placement amounts to, worked by hand: loads, balance, times of stages and hops, and room for tokens."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.problems import problem_of
from support.timed import GB, growing, joined, near, timed

from solver.errors import InputError
from solver.measures import (
    block_ns,
    cache_tokens,
    hop_ns,
    imbalance,
    latency_ns,
    least_headroom,
    nodes_used,
    slowest_ns,
    stage_load,
    stage_ns,
    transfer_ns,
    weighted_imbalance,
)
from solver.problem import Block, Ends, Placement, Problem, Stage

ENDS = Ends(input_bytes=2, output_bytes=3, tied_bytes=2, host_bytes=1)
LOADED = problem_of((4, 4, 8), (20, 40), ends=ENDS)

# n0 reads 2 bytes a nanosecond and n2 3; n1 was measured for up to three blocks; of n3 nothing is known.
TIMED = joined(
    timed(problem_of((4, 4, 8, 2), (20, 20, 20, 20)), (2 * GB, (7, 4, 9), 3 * GB, None), active=(3, 3, 10, 1)),
    near(5, GB),
    ("n0", "n1", near(2)),
    ("n1", "n2", near(0, 2 * GB)),
    activation_bytes=3,
)


def placed(*stages: tuple[int, int, str]) -> Placement:
    return Placement(tuple(Stage(*stage) for stage in stages))


def test_imbalance_is_the_largest_load_over_the_share_and_weighted_by_budgets() -> None:
    problem = problem_of((6, 2), (20, 40))
    placement = placed((0, 1, "n0"), (1, 2, "n1"))

    assert Fraction(6 * 2, 8) == imbalance(problem, placement)
    assert Fraction(6, 20) / Fraction(8, 60) == weighted_imbalance(problem, placement)


def test_nothing_loaded_is_in_balance() -> None:
    problem, placement = problem_of((0,), (20,)), placed((0, 1, "n0"))

    assert [Fraction(1)] * 2 == [imbalance(problem, placement), weighted_imbalance(problem, placement)]


def test_the_load_of_a_stage_is_told_by_kind() -> None:
    load = stage_load(LOADED, Stage(0, 2, "n1"))

    assert (10, 0, 1, 11, 40) == (
        load.weight_bytes,
        load.cache_bytes,
        load.other_bytes,
        load.load_bytes,
        load.budget_bytes,
    )


def test_a_cache_is_a_part_of_the_load() -> None:
    problem = replace(LOADED, blocks=(Block(4, 5, 4, None, 0), *LOADED.blocks[1:]))

    assert (10, 5, 1) == (
        (load := stage_load(problem, Stage(0, 2, "n1"))).weight_bytes,
        load.cache_bytes,
        load.other_bytes,
    )


def test_a_node_is_counted_once() -> None:
    """Also where a placement that the rules reject uses it twice."""
    assert 2 == nodes_used(LOADED, placed((0, 1, "n0"), (1, 2, "n1"), (2, 3, "n0")))


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        (placed((0, 2, "n1"), (2, 3, "n0")), 9),
        (placed((0, 2, "n0"), (2, 3, "n1")), 9),
        (placed((0, 3, "n0")), 0),
        (placed((0, 3, "n1")), 20),
    ],
)
def test_headroom_is_what_the_fullest_node_has_left(placement: Placement, expected: int) -> None:
    """Loads of 11 and 11 on budgets of 20 and 40; 20 on one node, as the tied part is paid once."""
    assert expected == least_headroom(LOADED, placement)


@given(active=st.integers(0, 10**15), rate=st.integers(1, 10**15))
def test_the_time_of_a_block_is_rounded_up_to_a_nanosecond(active: int, rate: int) -> None:
    exact = Fraction(active * GB, rate)

    assert exact <= block_ns(active, rate) < exact + 1


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ((0, 1, "n0"), 2),
        ((0, 2, "n0"), 4),
        ((0, 4, "n0"), 10),
        ((2, 4, "n2"), 5),
        ((0, 1, "n1"), 7),
        ((2, 4, "n1"), 4),
        ((1, 4, "n1"), 9),
    ],
)
def test_a_stage_takes_the_sum_of_its_blocks_or_what_was_measured_for_so_many(
    stage: tuple[int, int, str], expected: int
) -> None:
    """Each block is rounded up by itself: twice 3 bytes at 2 a nanosecond are 4 ns. Two may be measured below one."""
    assert expected == stage_ns(TIMED, Stage(*stage))


def test_measured_times_come_before_a_bandwidth() -> None:
    nodes = tuple(replace(node, bytes_per_second=GB) for node in TIMED.nodes)

    assert 7 == stage_ns(replace(TIMED, nodes=nodes), Stage(2, 3, "n1"))


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ((0, 2, "n3"), "node n3: no time of a stage of 2 blocks is known; expected one. Give it."),
        ((0, 4, "n1"), "node n1: no time of a stage of 4 blocks is known; expected one. Give it."),
    ],
    ids=["neither bandwidth nor times", "more blocks than measured"],
)
@pytest.mark.parametrize("rate", [None, GB])
def test_a_time_that_is_not_known_is_refused(stage: tuple[int, int, str], message: str, rate: int | None) -> None:
    """A bandwidth does not stand in for times that were not measured."""
    nodes = tuple(replace(node, bytes_per_second=rate if node.stage_ns is not None else None) for node in TIMED.nodes)
    with pytest.raises(InputError) as caught:
        stage_ns(replace(TIMED, nodes=nodes), Stage(*stage))

    assert message == str(caught.value)


@pytest.mark.parametrize(
    ("source", "target", "transfer", "hop"),
    [("n0", "n2", 3, 8), ("n0", "n1", 0, 2), ("n1", "n0", 3, 8), ("n1", "n2", 2, 2)],
    ids=["the default", "no rate", "the default the other way", "a rate of its own"],
)
def test_a_hop_is_the_latency_and_the_transfer_of_its_direction(
    source: str, target: str, transfer: int, hop: int
) -> None:
    """3 bytes at 1 a nanosecond, and at 2, rounded up; a link without a rate adds nothing to its latency."""
    assert (transfer, hop) == (transfer_ns(TIMED, source, target), hop_ns(TIMED, source, target))


@pytest.mark.parametrize(
    ("placement", "latency", "slowest"),
    [
        (placed((0, 2, "n0"), (2, 3, "n1"), (3, 4, "n2")), 4 + 2 + 7 + 2 + 1, 7),
        (placed((0, 1, "n2"), (1, 4, "n0")), 1 + 8 + 8, 8),
        (placed((0, 3, "n1"), (3, 4, "n0")), 9 + 8 + 1, 9),
        (placed((0, 4, "n2")), 1 + 1 + 4 + 1, 7),
    ],
)
def test_one_token_passes_every_stage_and_hop_and_many_queue_at_the_slowest(
    placement: Placement, latency: int, slowest: int
) -> None:
    assert (latency, slowest) == (latency_ns(TIMED, placement), slowest_ns(TIMED, placement))


@pytest.mark.parametrize(("activation", "slowest"), [(8, 8), (9, 9), (40, 40)])
def test_a_transfer_can_be_the_slowest_and_the_latency_of_its_link_is_not_counted(
    activation: int, slowest: int
) -> None:
    """The slowest stage takes 8 ns, and a transfer as many as it has bytes, with 5 ns of latency beside it."""
    problem = replace(TIMED, activation_bytes=activation)

    assert slowest == slowest_ns(problem, placed((0, 1, "n2"), (1, 4, "n0")))


def test_nothing_to_read_still_takes_a_nanosecond() -> None:
    """A rate of tokens is one over the slowest, which is never 0."""
    problem = timed(problem_of((4, 4), (9, 9)), (GB, (0, 0)), active=(0, 0))

    assert (0, 1) == (latency_ns(problem, placed((0, 2, "n0"))), slowest_ns(problem, placed((0, 2, "n0"))))
    assert 1 == slowest_ns(problem, placed((0, 1, "n1"), (1, 2, "n0")))


GROWING = growing(problem_of((4, 4, 8, 2), (20, 43), ends=ENDS), (1, 0, 2, 1), fixed=(1, 0, 3, 0))


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        (placed((0, 2, "n0"), (2, 4, "n1")), (20 - 11 - 1) // 1),
        (placed((0, 2, "n1"), (2, 4, "n0")), (20 - 13 - 3) // 3),
        (placed((0, 1, "n0"), (1, 4, "n1")), (43 - 17 - 3) // 3),
        (placed((0, 4, "n1")), (43 - 22 - 4) // 4),
        (placed((0, 4, "n0")), 0),
    ],
    ids=["a stage each", "turned", "another cut", "the tied part once", "no room"],
)
def test_the_weakest_stage_sets_the_tokens(placement: Placement, expected: int) -> None:
    """Budget less weights, what stays on the host and what the cache takes anyway, over its growth for a token."""
    assert expected == cache_tokens(GROWING, placement)


def test_a_stage_whose_cache_does_not_grow_sets_no_limit() -> None:
    problem = growing(problem_of((4, 4, 8), (9, 9, 9)), (2, 0, 0))

    assert (9 - 4) // 2 == cache_tokens(problem, placed((0, 1, "n0"), (1, 2, "n1"), (2, 3, "n2")))


def test_what_caches_hold_now_is_not_what_they_could_hold() -> None:
    """Tokens are counted from an empty cache, whatever context the blocks are sized for."""
    problem: Problem = replace(
        GROWING, blocks=tuple(replace(block, cache_bytes=block.cache_fixed_bytes + 1) for block in GROWING.blocks)
    )
    placement = placed((0, 2, "n0"), (2, 4, "n1"))

    assert cache_tokens(GROWING, placement) == cache_tokens(problem, placement)
