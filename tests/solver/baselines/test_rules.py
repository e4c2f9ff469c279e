"""The split rules of engines against cases of their own tests, measured command lines, and cases worked by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest
from support.problems import problem_of, random_problem, with_times
from support.timed import barred, joined, near, timed

from solver.baselines import STRATEGIES, NoPlacement
from solver.baselines.cake import worker_layers
from solver.baselines.deepspeed import partition_balanced
from solver.baselines.exo import proportional
from solver.baselines.halda import fastest_first, memory_windows
from solver.problem import Ends, Placement
from solver.rules import cover, once

if TYPE_CHECKING:
    from solver.problem import Problem

MIB = 2**20


def counts(name: str, problem: Problem) -> dict[str, int]:
    """Return the blocks of every node that a rule uses, in the order of its stages."""
    answer = STRATEGIES[name].place(problem)
    assert not isinstance(answer, NoPlacement), answer.reason
    return {stage.node: stage.end - stage.start for stage in answer}


def reason(name: str, problem: Problem) -> str:
    answer = STRATEGIES[name].place(problem)
    assert isinstance(answer, NoPlacement)
    return answer.reason


def equal(blocks: int, budgets: tuple[int, ...], weight: int = 10, ends: Ends | None = None) -> Problem:
    """Return equal blocks on nodes n0, n1 and so on."""
    problem = problem_of((weight,) * blocks, budgets)
    return problem if ends is None else replace(problem, ends=ends)


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


HEAD = Ends(input_bytes=0, output_bytes=5, tied_bytes=0, host_bytes=0)


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


def test_the_ring_of_exo_orders_by_memory_and_cuts_at_rounded_shares() -> None:
    """Shares 0.6, 0.3 and 0.1 of 32 layers: cut below 19.2 and 28.8."""
    assert {"n2": 19, "n0": 9, "n1": 4} == counts("exo-ring", equal(32, (3000, 1000, 6000)))


def test_of_equal_memory_the_ring_of_exo_takes_the_last_name_first() -> None:
    """Shares 0.33333, 0.66666 and 0.99999 of 5 blocks."""
    assert {"n2": 1, "n1": 2, "n0": 2} == counts("exo-ring", equal(5, (100, 100, 100)))


def test_a_node_with_a_tiny_share_has_no_place_in_the_ring_of_exo() -> None:
    """0.99999 of 10 layers is 9: the last node takes the rest. Below half of the fifth digit it has none."""
    assert {"n0": 9, "n1": 1} == counts("exo-ring", equal(10, (99_999_000, 1_000)))
    assert {"n0": 10} == counts("exo-ring", equal(10, (99_999_900, 100)))


@pytest.mark.parametrize(
    ("memory", "layers", "expected"),
    [
        ((500, 500, 1000), 12, (3, 3, 6)),
        ((500, 500, 500), 12, (4, 4, 4)),
        ((312, 518, 1024), 12, (2, 3, 7)),
        ((900, 50, 50), 20, (18, 1, 1)),
        ((975, 12.5, 12.5), 20, (18, 1, 1)),
    ],
)
def test_exo_shares_layers_in_proportion_to_memory(
    memory: tuple[float, ...], layers: int, expected: tuple[int, ...]
) -> None:
    """The cases of its own tests (src/exo/master/tests/test_placement_utils.py)."""
    assert expected == proportional(layers, [part / sum(memory) for part in memory])


def test_exo_takes_the_fewest_nodes_with_the_most_memory() -> None:
    """120 bytes: no node alone, and of pairs the two largest, in the order listed."""
    assert {"n1": 5, "n3": 7} == counts("exo", equal(12, (50, 60, 40, 80)))


def test_the_check_of_exo_takes_layers_to_be_equal_and_knows_no_second_try() -> None:
    """12 blocks of 200 bytes: 4.5, 4.5 and 3 round to 5, 4 and 3, and 5 blocks do not go into 900 bytes."""
    assert "Its own check refuses 5 blocks on n0: it counts 1000 B, and 900 B are there." == reason(
        "exo", equal(12, (900, 900, 600), weight=200)
    )
    assert "No ring of its nodes has the memory for the model." == reason("exo", equal(12, (900, 900, 599), weight=200))


def test_a_ring_of_exo_uses_no_barred_link() -> None:
    """Also the link from its last node to its first, so that the largest pair is passed over."""
    problem = joined(equal(12, (50, 70, 40, 80)), near(1), ("n3", "n1", barred()), activation_bytes=0)

    assert {"n0": 5, "n3": 7} == counts("exo", problem)


def test_rings_that_are_too_many_are_not_tried() -> None:
    """Neither 20 of 40 nodes, nor 12 of which the last link never closes."""
    said = "There are more rings between its nodes than are tried here."
    names = [f"n{number}" for number in range(1, 12)]
    open_end = joined(equal(12, (10,) * 12), near(1), *((name, "n0", barred()) for name in names), activation_bytes=0)

    assert said == reason("exo", joined(equal(40, (20,) * 40), near(1), ("n3", "n1", barred()), activation_bytes=0))
    assert said == reason("exo", open_end)


def test_accelerate_keeps_room_for_the_largest_block_on_the_first_node() -> None:
    """The first holds 2 of 3 bytes each where 10 are free, since 3 must stay; the last has nothing behind it."""
    assert {"n0": 2, "n1": 3} == counts("accelerate", equal(5, (10, 10, 10), weight=3))
    assert {"n0": 3} == counts("accelerate", equal(3, (9,), weight=3))


def test_accelerate_goes_to_the_next_node_for_good() -> None:
    """A block of 8 does not fit behind 4 on the second node, and what follows does not go back."""
    assert {"n0": 1, "n1": 1, "n2": 2} == counts("accelerate", problem_of((2, 4, 8, 2), (10, 11, 12)))


def test_accelerate_leaves_to_the_processor_what_fits_nowhere() -> None:
    assert "It leaves 6 B to the processor and the disk, from block 3 on." == reason(
        "accelerate", equal(5, (6, 6), weight=3)
    )
    assert "It leaves 11 B to the processor and the disk, from the input on." == reason(
        "accelerate", equal(2, (5,), weight=3, ends=Ends(5, 0, 0, 0))
    )


def test_accelerate_may_put_an_end_alone_on_a_node() -> None:
    assert "It puts the head on n2 without a block; a stage holds one at least." == reason(
        "accelerate", equal(2, (9, 7, 5), weight=3, ends=HEAD)
    )
    assert "It puts the input on n0 without a block; a stage holds one at least." == reason(
        "accelerate", equal(3, (7, 9), weight=3, ends=Ends(4, 0, 0, 0))
    )


def test_a_tied_head_moves_nothing_but_itself() -> None:
    """It is with the input there, so that its own bytes are no module of their own."""
    assert {"n0": 2} == counts("accelerate", equal(2, (11, 9), weight=3, ends=Ends(5, 5, 5, 0)))
    assert {"n0": 1, "n1": 1} == counts("accelerate", equal(2, (13, 9), weight=3, ends=Ends(5, 5, 0, 0)))


def test_balanced_accelerate_fills_to_an_even_share_and_a_quarter_more_than_a_block() -> None:
    """15 // 3 + int(3.75) = 8: one block on the first, where 3 must stay free, two on the second."""
    assert {"n0": 1, "n1": 2, "n2": 2} == counts("accelerate-balanced", equal(5, (10, 10, 10), weight=3))
    assert {"n0": 3} == counts("accelerate-balanced", equal(3, (9,), weight=3))


A100, RTX5090, RTX4090 = 3120, 1048, 826


@pytest.mark.parametrize(
    ("layers", "capacities", "speeds", "expected"),
    [
        (36, (13,) * 6, (A100,) * 6, (12, 12, 12)),
        (22, (13, 13, 6, 6, 3, 3), (A100,) * 4 + (RTX4090,) * 2, (11, 11)),
        (14, (13, 5, 5, 3, 3), (A100, RTX5090, RTX5090, RTX4090, RTX4090), (10, 4)),
        (7, (6, 5, 5, 3, 3), (A100, RTX5090, RTX5090, RTX4090, RTX4090), (5, 2)),
    ],
)
def test_parallax_fills_its_first_pipeline_by_speed(
    layers: int, capacities: tuple[int, ...], speeds: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """The cases of its own tests (tests/scheduler_tests/test_layer_allocation.py), greedy allocator."""
    problem = timed(equal(layers, tuple(capacity * 10 for capacity in capacities)), speeds)

    assert expected == tuple(counts("parallax", problem).values())


def test_parallax_spares_large_nodes_where_a_small_one_does_alone() -> None:
    """Enough is left for another pipeline: of 20, 6 and 5 layers the last finishes 4 by itself."""
    problem = timed(equal(4, (200, 60, 50)), (A100, A100, A100))

    assert {"n2": 4} == counts("parallax", problem)


def test_parallax_counts_the_ends_on_the_first_and_the_last_node() -> None:
    """Of 60 bytes each, 15 are the input's and 25 the head's: room for 4, 6 and 3 layers."""
    problem = timed(equal(13, (60, 60, 60), ends=Ends(15, 25, 0, 0)), (A100, A100, A100))

    assert {"n0": 4, "n1": 6, "n2": 3} == counts("parallax", problem)
    assert "The nodes do not hold enough layers of mean size." == reason(
        "parallax", timed(equal(14, (60, 60, 60), ends=Ends(15, 25, 0, 0)), (A100, A100, A100))
    )


@pytest.mark.parametrize("name", ["parallax", "cake", "prima", "distilp", "petals", "swarm"])
def test_a_rule_by_speed_needs_the_speed_of_every_node(name: str) -> None:
    assert "It shares blocks out by speed, and none is known of n1." == reason(
        name, timed(equal(4, (90, 90)), (A100, None))
    )


def test_measured_times_are_a_speed() -> None:
    """One block in 10 ns is as fast as 10 bytes at a byte a nanosecond."""
    assert {"n0": 2, "n1": 2} == counts("parallax", timed(equal(4, (30, 30)), ((10, 20, 30, 40), 10**9)))


def best_by_the_letter(weights: list[int], parts: int) -> tuple[int, ...]:
    """Return the split of the dynamic programme as DeepSpeed states it, one state at a time."""
    infinity = float("inf")
    count = len(weights)
    sums = [0.0]
    for weight in weights:
        sums.append(sums[-1] + weight)
    largest = {(0, 0): 0.0}
    smallest: dict[tuple[int, int], float] = {}
    cost: dict[tuple[int, int], float] = {(0, 0): 0.0}
    place: dict[tuple[int, int], int] = {}
    for end in range(1, count + 1):
        for part in range(1, min(end, parts) + 1):
            for start in range(end):
                run = sums[end] - sums[start]
                upper = max(largest.get((start, part - 1), infinity), run)
                lower = min(smallest.get((start, part - 1), infinity), run)
                if cost.get((end, part), infinity) >= upper - lower:
                    cost[end, part], largest[end, part], smallest[end, part] = upper - lower, upper, lower
                    place[end, part] = start
    cuts = [count]
    for part in range(parts, 0, -1):
        cuts.append(place.get((cuts[-1], part), 0))
    cuts.reverse()
    return tuple(after - before for before, after in pairwise(cuts))


@pytest.mark.parametrize("seed", range(60))
def test_deepspeed_cuts_as_its_programme_does_state_by_state(seed: int) -> None:
    random = Random(f"deepspeed {seed}")
    weights = [random.choice((0, 1, 3, 10, 10, 17, 10**12)) for _ in range(random.randint(3, 14))]
    parts = random.randint(1, len(weights) - 1)

    assert best_by_the_letter(weights, parts) == partition_balanced(weights, parts)


def test_deepspeed_makes_stages_alike_and_not_the_largest_small() -> None:
    """A heavy last item stands alone; it sees neither memory nor speed."""
    assert (4, 1) == partition_balanced([0, 11, 19, 5, 300], 2)
    assert {"n0": 4, "n1": 1} == counts("deepspeed", problem_of((0, 11, 19, 5, 300), (100, 100)))


def test_prima_drops_devices_of_one_layer_but_never_the_first() -> None:
    """One each and 29 on the fastest; then only that and the head's device are left."""
    problem = timed(equal(32, (400, 400, 400, 400)), (200, 300, 900, 100))

    assert {"n0": 1, "n2": 31} == counts("prima", problem)
    assert {"n0": 1, "n1": 1, "n2": 29, "n3": 1} == counts("distilp", problem)


def test_the_first_device_of_prima_counts_a_hundredth_less() -> None:
    """So of equal devices it takes what it has room for."""
    assert {"n1": 1, "n0": 7} == dict(reversed(counts("distilp", timed(equal(8, (70, 80)), (1000, 1000))).items()))
    assert {"n0": 8} == counts("prima", timed(equal(8, (80, 80)), (1000, 1001)))


def test_what_would_be_streamed_from_disk_is_not_placed() -> None:
    said = "A part of the model would be streamed from disk; nothing is known of its speed."

    assert said == reason("prima", timed(equal(8, (40, 30)), (1000, 1000)))
    assert said == reason("distilp", timed(equal(8, (100, 5)), (1000, 1000)))


def test_the_device_of_the_head_has_both_ends() -> None:
    """25 bytes of ends leave room for 5 blocks on it."""
    problem = timed(equal(8, (75, 80), ends=Ends(5, 20, 0, 0)), (2000, 1000))

    assert {"n0": 5, "n1": 3} == counts("distilp", problem)


@pytest.mark.parametrize(
    ("layers", "memories", "expected"),
    [
        (32, (2.4, 8.0, 11.0, 1.9), (3, 11, 15, 3)),
        (10, (1.0, 1.0, 1.0), (4, 3, 3)),
        (11, (1.0, 1.0, 1.0), (3, 4, 4)),
        (20, (90.0, 5.0, 0.2), (18, 1, 1)),
    ],
)
def test_prima_without_its_solver_shares_by_memory(
    layers: int, memories: tuple[float, ...], expected: tuple[int, ...]
) -> None:
    """What rounding lacks goes on the largest, what it adds comes off the smallest, nought becomes one."""
    assert expected == memory_windows(layers, memories)


def test_rounding_may_leave_prima_without_a_layer_for_a_device() -> None:
    """8 layers on 5 equal devices: 1.6 rounds to 2 for each, and the 2 too many come off one."""
    assert {"n0": 1, "n1": 2} == counts("prima-memory", equal(3, (50, 50)))
    assert "Rounding leaves a device without a layer, which it does not allow." == reason(
        "prima-memory", equal(8, (50, 50, 50, 50, 50))
    )


def test_layers_go_to_the_fastest_device_with_room() -> None:
    assert (3, 1, 4) == fastest_first(8, (3, 9, 4), (2.0, 3.0, 1.0))


@pytest.mark.parametrize(
    ("layers", "master", "speeds", "rooms", "expected"),
    [
        (24, 10.0, [10.0], [240], [12]),
        (24, 10.0, [30.0, 10.0], [240, 240], [14, 5]),
        (24, 10.0, [20.0], [240], [16]),
        (24, 1.0, [100.0], [2], [2]),
        (48, 10.0, [30.0, 15.0, 5.0], [99, 99, 99], [24, 12, 4]),
        (24, 1.0, [1000.0], [0], [0]),
    ],
)
def test_cake_gives_workers_layers_by_speed_within_their_memory(
    layers: int, master: float, speeds: list[float], rooms: list[int], expected: list[int]
) -> None:
    """Cases of its own tests (cake-core/src/cake/sharding/default.rs), fastest worker first."""
    assert expected == worker_layers(layers, master, sum(speeds), speeds, rooms)


def test_the_master_of_cake_keeps_the_tail() -> None:
    problem = timed(equal(24, (240, 240, 240)), (1000, 1000, 3000))

    assert {"n2": 14, "n1": 5, "n0": 5} == counts("cake", problem)


def test_cake_hands_back_what_its_master_has_no_room_for() -> None:
    """A master with room for 4 of 24 layers: its only worker takes 20, as in its own tests."""
    assert {"n1": 20, "n0": 4} == counts("cake", timed(equal(24, (40, 240)), (1000, 1000)))
    assert {"n0": 3} == counts("cake", timed(equal(3, (10,)), (1000,)))


def test_cake_hands_nothing_back_to_a_worker_that_had_no_share() -> None:
    """It is too slow for a layer, so it is not asked again, and the master keeps more than it has room for."""
    assert {"n0": 2} == counts("cake", timed(equal(2, (10, 10)), (2000, 50)))


def test_cake_adds_up_the_speeds_of_its_workers_as_they_are_listed() -> None:
    """A share of half a layer: 29.4 in doubles added from the slowest is a digit more than from the fastest."""
    problem = timed(problem_of((7,) * 4, (7000,) * 4), (2, 6, 30, 60))

    assert {"n3": 3, "n2": 1} == counts("cake", problem)


def test_cake_may_give_a_worker_a_second_run() -> None:
    """What comes back goes to the first worker with room, behind what the others hold."""
    assert "It gives n1 a second run of blocks, behind those of other workers." == reason(
        "cake", timed(equal(24, (40, 240, 60)), (1000, 1000, 1000))
    )


def test_a_server_of_petals_joins_where_the_swarm_is_slowest_and_a_chain_passes_few() -> None:
    """Room for 4, 3 and 6 blocks of 8: [0, 4), then [4, 7), then [2, 8); the chain goes from n0 to n2."""
    assert {"n0": 4, "n2": 4} == counts("petals", timed(equal(8, (40, 30, 60)), (1000, 1000, 1000)))


def test_a_block_that_no_server_of_petals_holds_ends_the_chain() -> None:
    assert "No server holds block 7." == reason("petals", timed(equal(8, (40, 30)), (1000, 1000)))


def test_swarm_cuts_equal_stages_for_its_smallest_node_and_passes_the_fastest() -> None:
    """Room for 3 of 8 blocks asks for 4 stages; of equal speed the last listed comes first."""
    problem = timed(equal(8, (30, 80, 80, 80, 80)), (1000, 3000, 2000, 2000, 500))

    assert {"n1": 2, "n3": 2, "n2": 2, "n0": 2} == counts("swarm", problem)


def test_swarm_does_not_apply_where_stages_outnumber_nodes() -> None:
    assert "Its smallest node asks for 8 equal stages; there are 2 nodes." == reason(
        "swarm", timed(equal(8, (10, 80)), (1000, 1000))
    )
    assert "Its smallest node has no room for a block of mean size." == reason(
        "swarm", timed(equal(8, (9, 80)), (1000, 1000))
    )
