"""States of a search, laid out by hand and against plain counting."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.exact.states import lay_out, size_of

# Two nodes of a first group and one of a second: the state ab is 2·a + b.
TWO_AND_ONE = lay_out((2, 1), (None, None), 3)


def test_a_state_is_a_number_with_a_digit_a_group() -> None:
    every = np.arange(6, dtype=np.int32)

    assert ((2, 1), 6) == (TWO_AND_ONE.strides, TWO_AND_ONE.size)
    assert [[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1]] == [TWO_AND_ONE.digits(every, group).tolist() for group in range(2)]


def test_levels_hold_the_states_of_so_many_nodes_in_ascending_order() -> None:
    assert [[0], [1, 2], [3, 4], [5]] == [level.tolist() for level in TWO_AND_ONE.levels]


def test_a_source_is_the_state_without_one_node_of_a_group() -> None:
    """6 stands for no state: there is no node of that group to take away."""
    assert [[[6], [6]], [[6, 0], [0, 6]], [[1, 2], [2, 6]], [[3], [4]]] == [
        sources.tolist() for sources in TWO_AND_ONE.sources
    ]


def test_levels_end_at_the_most_nodes() -> None:
    assert [[0], [1, 2]] == [level.tolist() for level in lay_out((2, 1), (None, None), 1).levels]
    assert [[0]] == [level.tolist() for level in lay_out((2, 1), (None, None), 0).levels]
    assert 4 == len(lay_out((2, 1), (None, None), 99).levels)


def test_a_group_may_have_more_nodes_than_a_short_integer_counts() -> None:
    assert [[0], [1], [2]] == [level.tolist() for level in lay_out((100_000,), (None,), 2).levels]


def test_a_group_does_not_come_last_once_one_that_follows_it_is_used() -> None:
    """Ranks 1 and 0: the second group comes first in the order, so it never comes last where the first is used."""
    states = lay_out((1, 1), (1, 0), 2)

    assert [[[4], [4]], [[4, 0], [0, 4]], [[1], [4]]] == [sources.tolist() for sources in states.sources]


def test_a_group_without_a_rank_may_come_anywhere() -> None:
    states = lay_out((1, 1, 1), (None, 0, 1), 3)

    assert [[3], [8], [6]] == states.sources[3].tolist()


@pytest.mark.parametrize(("counts", "expected"), [((), 1), ((3,), 4), ((1, 1, 1), 8), ((2, 0, 4), 15)])
def test_there_are_as_many_states_as_products_of_counts(counts: tuple[int, ...], expected: int) -> None:
    assert expected == size_of(counts)


@settings(max_examples=60)
@given(
    counts=st.lists(st.integers(0, 3), min_size=1, max_size=4),
    ranks=st.lists(st.none() | st.integers(0, 3), min_size=4, max_size=4),
    most=st.integers(0, 8),
)
def test_every_way_of_using_nodes_is_a_state_with_the_sources_that_the_order_leaves(
    counts: list[int], ranks: list[int | None], most: int
) -> None:
    states = lay_out(counts, ranks[: len(counts)], most)
    every = list(product(*(range(count + 1) for count in counts)))

    assert len(states.levels) == min(most, sum(counts)) + 1
    for level, (numbers, sources) in enumerate(zip(states.levels, states.sources, strict=True)):
        expected = [number for number, used in enumerate(every) if sum(used) == level]

        assert expected == numbers.tolist()
        for group in range(len(counts)):
            assert [source_of(every, number, group, ranks) for number in expected] == sources[group].tolist()


def source_of(every: list[tuple[int, ...]], number: int, group: int, ranks: list[int | None]) -> int:
    """Return the number of the state without one node of a group, or how many states there are for none."""
    used, rank = every[number], ranks[group]
    later = (
        other_rank is not None and rank is not None and other_rank > rank and used[other] > 0
        for other, other_rank in enumerate(ranks[: len(used)])
    )
    if used[group] == 0 or any(later):
        return len(every)
    return every.index(tuple(count - (other == group) for other, count in enumerate(used)))
