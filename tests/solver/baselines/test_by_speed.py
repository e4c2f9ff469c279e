"""The split rules that go by speed: Parallax, DeepSpeed, prima.cpp and distilp."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from support.problems import problem_of
from support.rules import counts, equal, reason
from support.timed import timed

from solver.baselines.deepspeed import partition_balanced
from solver.baselines.halda import fastest_first, memory_windows
from solver.problem import Ends

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
