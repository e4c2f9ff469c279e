"""What floats stand for: the exact amounts whose floats are as good as equal to one that a search over sets ended with.

Whatever chains carry at most is one of a few kinds of sums (`chains`), or the sum of one for each of several chains. So
the largest exact one among those that floats do not tell from the best is a bound without rounding.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from solver.measures import transfer_ns
from solver.sets.rates import members, subsets

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from solver.sets.rates import Rates

__all__ = ["ROUNDED", "amount_at_most", "near"]

_NS = 10**9

ROUNDED = 1e-12
"""Sums of a few floats are exact to some 10^-15; what is closer than this is as good as equal."""


def near(amounts: NDArray[np.float64], value: float) -> NDArray[np.bool_]:
    """Return which amounts floats do not tell from a value."""
    close: NDArray[np.bool_] = np.abs(amounts - value) <= ROUNDED * value
    return close


def amount_at_most(rates: Rates, value: float, spent: Callable[[], bool], *, linked: bool) -> Fraction | None:
    """Return the largest exact amount whose float is as good as a value; None if the time is up."""
    best = Fraction(0)
    for team in range(1, rates.full + 1):
        if spent():
            return None
        best = max(best, *_together(rates, team, value), Fraction(0))
        if linked:
            for other in subsets(rates.full & ~team):
                best = max(best, *_passed(rates, team, other, value), *_crossed(rates, team, other, value), Fraction(0))
    return best


def _together(rates: Rates, team: int, value: float) -> set[Fraction]:
    nodes = list(members(team))
    there = np.unique(rates.times[nodes][:, near(rates.together(team), value)].T, axis=0)
    return {sum((Fraction(_NS, int(time)) for time in times), Fraction(0)) for times in there}


def _passed(rates: Rates, team: int, other: int, value: float) -> set[Fraction]:
    """Return sums over nodes of what passes them or their links to the next step, whichever is less."""
    nodes, targets = list(members(team)), list(members(other))
    out = rates.links[np.ix_(nodes, targets)].sum(axis=1)
    passed = np.where(rates.together(team) > 0, np.minimum(rates.each[nodes], out[:, None, None]).sum(axis=0), 0.0)
    there = np.unique(rates.times[nodes][:, near(passed, value)].T, axis=0)
    if not len(there):
        return set()
    links = [_links(rates, [node], targets) for node in nodes]
    return {
        sum((_least(Fraction(_NS, int(time)), link) for time, link in zip(times, links, strict=True)), Fraction(0))
        for times in there
    }


def _crossed(rates: Rates, team: int, other: int, value: float) -> set[Fraction]:
    """Return sums over nodes of the next step of what gets into them or passes them at their best."""
    nodes, targets = list(members(team)), list(members(other))
    into = rates.links[np.ix_(nodes, targets)].sum(axis=0)
    best = rates.each[targets].max(axis=2)
    there = np.flatnonzero(near(np.minimum(into[:, None], best).sum(axis=0), value))
    links = [_links(rates, nodes, [target]) for target in targets] if len(there) else []
    found = set()
    for boundary in there.tolist():
        times = rates.times[targets, boundary]
        least = [Fraction(_NS, int(row[row > 0].min())) if (row > 0).any() else Fraction(0) for row in times]
        found.add(sum((_least(rate, link) for rate, link in zip(least, links, strict=True)), Fraction(0)))
    return found


def _least(rate: Fraction, link: Fraction | None) -> Fraction:
    return rate if link is None else min(rate, link)


def _links(rates: Rates, sources: list[int], targets: list[int]) -> Fraction | None:
    """Return what links between nodes carry together; None where one takes no time."""
    total = Fraction(0)
    for source, target in ((rates.nodes[one].name, rates.nodes[other].name) for one in sources for other in targets):
        if rates.problem.link(source, target).forbidden:
            continue
        time = transfer_ns(rates.problem, source, target)
        if not time:
            return None
        total += Fraction(_NS, time)
    return total
