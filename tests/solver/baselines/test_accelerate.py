"""The split rules of accelerate."""

from __future__ import annotations

from support.problems import problem_of
from support.rules import HEAD, counts, equal, reason

from solver.problem import Ends


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
