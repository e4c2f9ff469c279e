"""The split rules of exo."""

from __future__ import annotations

import pytest
from support.rules import counts, equal, reason
from support.timed import barred, joined, near

from solver.baselines.exo import proportional


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
