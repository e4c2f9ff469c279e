"""The most tokens a second that one chain over each set of nodes carries: exactly, or where links bind a bound.

For the nodes `left` and the items from `a` on, with a set T of them on the first step [a, b),

    best[left][a] = max over T, b of  min(rate of T on [a, b), best[left - T][b])

Where links bind, the set U on the next step is known too, and so is what its links from T carry:

    best[T, left][a] = max over U, b of  min(passed, crossed, best[U, left - U][b])
    passed  = Σ over T of min(rate on [a, b), links into U)
    crossed = Σ over U of min(links out of T, its best rate from b on)

Both sides are cuts of the flow, so that no chain carries more. Sets, steps and cuts are all tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from solver.sets.rates import members, subsets

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from solver.sets.rates import Rates
    from solver.sets.turns import Turns

__all__ = ["Chains", "chains_over", "linked_over", "work_of"]

# Steps as a set of nodes, the first item and the end.
Chain: TypeAlias = "list[tuple[int, int, int]]"

# By the set of the first step and the set that is left, what a chain carries from each item on.
_Table: TypeAlias = "dict[tuple[int, int], NDArray[np.float64]]"


@dataclass(frozen=True, eq=False)
class Chains:
    """`best` by set: what one chain over some of its nodes carries at most; `chain_of` returns one that does."""

    best: NDArray[np.float64]
    chain_of: Callable[[int], Chain]


def work_of(nodes: int, items: int, *, linked: bool) -> int:
    """Return how many numbers a pass looks at."""
    return int((4 if linked else 3) ** nodes) * (items + 1) ** 2


def chains_over(rates: Rates, turns: Turns, spent: Callable[[], bool]) -> Chains | None:
    """Return the best chain over every set with links left out; None if the time is up."""
    table = np.zeros((rates.full + 1, rates.items + 1))
    table[:, rates.items] = np.inf
    for left in range(1, rates.full + 1):
        if spent():
            return None
        best = table[left]
        for team in subsets(left):
            behind = table[turns.behind(team, left & ~team)]
            np.maximum(best, np.minimum(rates.together(team), behind).max(axis=1), out=best)
    best_from_start = table[:, 0].copy()

    def chain_of(left: int) -> Chain:
        steps, start = [], 0
        while start < rates.items:
            for team in subsets(left):
                rest = turns.behind(team, left & ~team)
                reached = np.minimum(rates.together(team)[start], table[rest])
                end = int(reached.argmax())
                if reached[end] >= table[left, start] > 0:
                    steps.append((team, start, end))
                    left, start = rest, end
                    break
            else:
                raise AssertionError(left)
        return steps

    return Chains(best_from_start, chain_of)


def linked_over(rates: Rates, turns: Turns, floor: float, spent: Callable[[], bool]) -> Chains | None:
    """Return the best chain over every set as far as links and the rules on next steps allow; None if the time is up.

    What is below the floor counts as nothing.
    """
    teams = [team for team in range(1, rates.full + 1) if rates.together(team).max() >= floor]
    pairs = {}
    for team in teams:
        if spent():
            return None
        pairs[team] = _pairs(rates, turns, team, teams, floor)
    table: _Table = {}
    best = np.zeros(rates.full + 1)
    for left in range(rates.full + 1):
        if spent():
            return None
        for team in teams:
            if team & left:
                continue
            found = _begun_with(rates, team, left, pairs[team], table, floor)
            if found.any():
                table[team, left] = found
                best[team | left] = max(best[team | left], found[0])
    for node in range(len(rates.nodes)):
        # What a set carries, larger ones carry.
        folded = best.reshape(-1, 2, 1 << node)
        np.maximum(folded[:, 1], folded[:, 0], out=folded[:, 1])

    def chain_of(nodes: int) -> Chain:
        begun = ((team, left) for team, left in table if (team | left) & ~nodes == 0)
        team, left = max(begun, key=lambda state: table[state][0])
        return _traced(rates, pairs, table, team, left)

    return Chains(best, chain_of)


def _traced(rates: Rates, pairs: dict[int, list[_Pair]], table: _Table, team: int, left: int) -> Chain:
    """Return the steps behind the first entry of a state."""
    steps: Chain = []
    start = 0
    while True:
        value = table[team, left][start]
        if rates.together(team)[start, rates.items] >= value:
            return [*steps, (team, start, rates.items)]
        for pair in pairs[team]:
            behind = None if pair.other & ~left else table.get((pair.other, left & pair.rest))
            if behind is None:
                continue
            reached = np.minimum(_passed(rates, team, pair.other)[start], np.minimum(behind, pair.crossed))
            if reached.max() >= value:
                end = int(reached.argmax())
                steps.append((team, start, end))
                team, left, start = pair.other, left & pair.rest, end
                break


def _begun_with(
    rates: Rates, team: int, left: int, pairs: list[_Pair], table: _Table, floor: float
) -> NDArray[np.float64]:
    """Return by the first item what a chain carries that begins with a team and goes on with what is left."""
    found = rates.together(team)[:, rates.items].copy()
    for pair in pairs:
        behind = None if pair.other & ~left else table.get((pair.other, left & pair.rest))
        if behind is None:
            continue
        value = np.minimum(behind, pair.crossed)
        if value.max() >= floor:
            np.maximum(found, np.minimum(_passed(rates, team, pair.other), value).max(axis=1), out=found)
    found[found < floor] = 0.0
    return found


@dataclass(frozen=True, slots=True)
class _Pair:
    """A set on the next step: `rest` may come after it, `crossed` is what gets into it by the boundary."""

    other: int
    rest: int
    crossed: NDArray[np.float64]


def _pairs(rates: Rates, turns: Turns, team: int, teams: list[int], floor: float) -> list[_Pair]:
    from_there = rates.each.max(axis=2)
    into = rates.links[list(members(team))].sum(axis=0)
    found = []
    for other in teams:
        if team & other or not turns.may_follow(team, other):
            continue
        nodes = list(members(other))
        crossed = np.minimum(into[nodes, None], from_there[nodes]).sum(axis=0)
        if crossed.max() >= floor:
            rest = turns.behind(team, turns.behind(other, rates.full & ~other)) & ~turns.left_by(team, other)
            found.append(_Pair(other, rest, crossed))
    return found


def _passed(rates: Rates, team: int, other: int) -> NDArray[np.float64]:
    """Return what a set passes by stage if it hands on to another, over its links to it."""
    nodes = list(members(team))
    together = rates.together(team)
    out = rates.links[np.ix_(nodes, list(members(other)))].sum(axis=1)
    if (out >= rates.each[nodes].max(axis=(1, 2))).all():
        return together
    return np.where(together > 0, np.minimum(rates.each[nodes], out[:, None, None]).sum(axis=0), 0.0)
