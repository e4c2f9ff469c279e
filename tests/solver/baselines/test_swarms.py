"""The split rules of cake, Petals and SWARM."""

from __future__ import annotations

import pytest
from support.problems import problem_of
from support.rules import counts, equal, reason
from support.timed import timed

from solver.baselines.cake import worker_layers


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
