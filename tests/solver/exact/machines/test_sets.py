"""Least-cost sets of blocks agree with trying every set; among equals the first blocks are left."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from solver.exact.machines import sets as sets_module
from solver.exact.machines.sets import Choices, Needs, sets_of
from solver.exact.states import TableError

NEVER = 2**61


def least_by_trying(choices: Choices, counts: tuple[int, ...], excess: int, slack: int | None) -> int:
    """Return the least cost of any numbers of each kind that suffice."""
    costs = [
        sum(number * unit for number, unit in zip(numbers, choices.units, strict=True))
        for numbers in product(*(range(count + 1) for count in counts))
        if sum(n * size for n, size in zip(numbers, choices.relieved_bytes, strict=True)) >= excess
        and (slack is None or sum(n * time for n, time in zip(numbers, choices.penalties_ns, strict=True)) <= slack)
    ]
    return min(costs, default=NEVER)


def random_choices(random: Random) -> Choices:
    """Draw kinds of few sizes; of one size what takes longer costs no less."""
    kinds = sorted({(random.choice((3, 5, 8)), random.choice((-2, 0, 1, 4))) for _ in range(random.randint(1, 4))})
    by_time, by_size = random.choice(((0, 0), (0, 1), (1, 0), (100, 1), (1, 100)))
    return Choices(
        relieved_bytes=tuple(size for size, _ in kinds),
        penalties_ns=tuple(time for _, time in kinds),
        units=tuple(by_time * time + by_size * size for size, time in kinds),
        counts=tuple(random.randint(1, 4) for _ in kinds),
    )


@pytest.mark.parametrize("dtype", [np.int64, object])
@pytest.mark.parametrize("limited", [False, True])
def test_the_least_cost_of_every_stage_is_that_of_the_best_of_all_sets(dtype: type, limited: bool) -> None:
    """In 64 bits and in numbers of any size, with and without a limit on time."""
    for seed in range(150):
        random = Random(seed)
        choices = random_choices(random)
        stages = [tuple(random.randint(0, most) for most in choices.counts) for _ in range(6)]
        excess = [random.randint(-2, 40) for _ in stages]
        slack = [random.randint(-3, 12) for _ in stages] if limited else None
        needs = Needs(np.array(stages), np.array(excess), None if slack is None else np.array(slack))
        found = sets_of(choices, NEVER, dtype, slack=limited).least(needs)
        expected = [
            least_by_trying(choices, counts, excess[number], None if slack is None else slack[number])
            for number, counts in enumerate(stages)
        ]

        assert expected == [int(cost) for cost in found], seed


def test_more_combinations_than_a_list_can_hold_are_declined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets_module, "_MOST_COMBINATIONS", 9)
    choices = Choices((3, 5), (0, 0), (3, 5), (4, 1))
    with pytest.raises(TableError):
        sets_of(choices, NEVER, np.int64, slack=False)
