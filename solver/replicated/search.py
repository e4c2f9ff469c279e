"""The search for the most tokens a second: one chain of teams first, proved as far as that goes, then several chains.

For one chain the knapsack of `packing` gives a pace that none betters, exactly. Its teams are cut and manned at once
where links do not bind; where they do, `layered` looks for the best pace between that bound and the best chain known.
Several chains are made of what one leaves over, of parts of the cluster that only thin links join, and of splits that
the bound of `splits` cannot exclude.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from solver.exact.states import TableError
from solver.flow.ceiling import least_pace_ns
from solver.flow.chains import chains_of, placement_of_chains
from solver.flow.measure import chain_tokens_per_second
from solver.measures import nodes_used
from solver.replicated.climb import climb
from solver.replicated.layered import layered_steps
from solver.replicated.pace import Pace
from solver.replicated.partitions import best_partition, is_small
from solver.replicated.parts import joined_parts
from solver.replicated.places import places_of
from solver.replicated.realise import cut, manned
from solver.replicated.splits import most_chains, split_at
from solver.replicated.state import Search
from solver.replicated.teams import useful_teams
from solver.replicated.walked import MOST_WALKED, chains_within, most_together
from solver.rules import violations

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.flow.chains import Chain
    from solver.problem import Placement, Problem
    from solver.replicated.packing import Team

__all__ = ["Found", "best_flow"]

# Paces closer than this are not told apart by halving; the last step is exact.
_CLOSE = Fraction(1, 2000)
# How far above the best a bound for several chains is looked for, in steps.
_ABOVE = tuple(Fraction(1000, 1000 + more) for more in (0, 2, 5, 10, 20, 50, 100, 200, 400))
_DEEPEST = 3
_NS = 10**9
# Far above any time between two tokens.
_ANY_NS = 2**100


@dataclass(frozen=True, slots=True)
class Found:
    """The best placement, None if none was found, and a pace in ns that no placement is below."""

    placement: Placement | None
    bound_ns: Fraction
    interrupted: bool


def best_flow(
    problem: Problem, start: Placement | None, spent: Callable[[], bool], late: Callable[[], bool]
) -> Found | None:
    """Return the best placement that is found in the time, and a bound; None if the nodes cannot hold the items.

    `start` is a placement to better, if there is one. Nothing but `spent` and `late` depends on time: the search ends
    when it is spent, small changes of its best end when it is late. An interrupt ends both, and the best stays.
    """
    fastest = least_pace_ns(problem)
    if fastest is None:
        return None
    search = Search(problem, fastest, start, spent)
    try:
        bound = _searched(search, 0)
        if bound is not None and search.best_ns is not None and search.best_ns > bound:
            with suppress(TableError):
                bound = max(bound, _every_placement(search))
            climb(search, late)
    except KeyboardInterrupt:
        return Found(search.best, fastest, interrupted=True)
    return None if bound is None else Found(search.best, bound, interrupted=False)


def _searched(search: Search, depth: int) -> Fraction | None:
    """Offer the best chain and chains, and return a pace that no placement is below; None if there is no placement."""
    bound = search.fastest_ns
    with suppress(TableError):
        packed = _packing_bound(search)
        if packed is None:
            return None
        bound = packed
        if search.best_ns is not None and search.best_ns > bound:
            climb(search, search.spent)
        bound = _one_chain(search, bound)
        bound = _every_chain(search, bound)
    if search.best_ns is not None and search.best_ns <= search.fastest_ns:
        return search.fastest_ns
    if search.one_chain or most_chains(search.times, search.kinds.counts, search.items) < 2:  # noqa: PLR2004 - several
        return bound
    split, excluded_ns = _splits(search)
    if depth < _DEEPEST:
        _several_chains(search, split, depth)
    return max(search.fastest_ns, min(bound, excluded_ns))


def _packing_bound(search: Search) -> Fraction | None:
    """Return the best pace of one chain with links left out, and offer its chain; None if no pace packs the items."""
    low = high = search.fastest_ns
    best = search.packed(search.packing(Pace(high, strict=False)))
    while best is None:
        if high >= search.slowest_ns:
            return None
        low, high = high, min(2 * high, search.slowest_ns)
        best = search.packed(search.packing(Pace(high, strict=False)))
    while True:
        high = best[1]
        close = (high - low) / high < _CLOSE
        pace = Pace(high, strict=True) if close else Pace((low + high) / 2, strict=False)
        if search.spent():
            raise TableError
        found = search.packed(search.packing(pace))
        if found is not None:
            best = found
        elif close:
            _offer_teams(search, best[0], Pace(high, strict=False))
            return high
        else:
            low = pace.ns


def _offer_teams(search: Search, teams: tuple[Team, ...], pace: Pace) -> bool:
    steps = cut(search.kinds, teams, search.items, pace)
    return steps is not None and search.offer_chain(manned(search.kinds, steps), pace)


def _one_chain(search: Search, bound: Fraction) -> Fraction:
    """Look for the best chain between a bound and the best placement known, and return the bound as far as raised.

    The quickest paces leave few teams to choose from: so the steps away from them begin small and grow, until a chain
    is found; from there on the space between is halved.
    """
    floor, step, found = bound, _CLOSE, False
    while search.best_ns is None or search.best_ns > bound:
        high = search.slowest_ns if search.best_ns is None else search.best_ns
        close = search.best_ns is not None and (high - floor) / high < _CLOSE
        if close:
            pace = Pace(high, strict=True)
        elif found:
            pace = Pace((floor + high) / 2, strict=False)
        else:
            pace = Pace(min(floor * (1 + step), high), strict=False)
            step *= 2
        found_now, excluded = _probe(search, pace)
        found |= found_now
        if excluded:
            bound = max(bound, pace.ns)
        if not found_now:
            floor = pace.ns
            if close or pace.ns >= search.slowest_ns:
                return bound
    return bound


def _probe(search: Search, pace: Pace) -> tuple[bool, bool]:
    """Return whether a chain within the pace was found, and whether it was shown that there is none."""
    if search.spent():
        raise TableError
    packing = search.packing(pace)
    packed = search.packed(packing)
    if packed is None:
        return False, True
    if _offer_teams(search, packed[0], pace):
        return True, False
    offer = useful_teams(search.kinds, search.times, packing)
    places = places_of(search.problem, search.kinds, offer.teams)
    alike = bool((search.kinds.slow_ns == search.kinds.quick_ns).all())
    for quick in (True,) if alike else (False, True):
        try:
            steps = layered_steps(
                search.kinds, offer.teams, packing, search.most_nodes, places, quick=quick, spent=search.spent
            )
        except TableError:
            return False, False
        if steps is None and quick:
            return False, offer.complete
        if steps is not None and search.offer_chain(manned(search.kinds, steps), pace):
            return True, False
    return False, False


def _every_chain(search: Search, bound: Fraction) -> Fraction:
    """Try every chain of a few nodes where one is still open, and return the bound as far as raised."""
    if search.best_ns is None or search.best_ns <= bound or sum(search.kinds.counts) > MOST_WALKED:
        return bound
    while True:
        pace = Pace(search.best_ns, strict=True)
        for chain in chains_within(search.problem, search.kinds, pace, search.spent):
            reached = search.offer(placement_of_chains((chain,)))
            if reached is not None and reached < pace.ns:
                break
        else:
            return max(bound, pace.ns)


def _every_placement(search: Search) -> Fraction:
    """Try every placement of very few nodes and items, offer the best, and return its pace.

    Raises:
        TableError: there are too many to try.
    """
    if sum(search.kinds.counts) > MOST_WALKED:
        raise TableError
    anything = Pace(Fraction(_ANY_NS), strict=False)
    alone: dict[frozenset[str], tuple[Fraction, Chain]] = {}
    for chain in chains_within(search.problem, search.kinds, anything, search.spent):
        if violations(search.problem, placement_of_chains((chain,))):
            continue
        nodes = frozenset(name for step in chain for name in step.nodes)
        carried = chain_tokens_per_second(search.problem, chain)
        if nodes not in alone or carried > alone[nodes][0]:
            alone[nodes] = (carried, chain)

    def allowed(chains: tuple[Chain, ...]) -> bool:
        # What chains put into a memory together depends on their cuts: leaving that out keeps the pace a bound.
        broken = violations(search.problem, placement_of_chains(chains))
        return all(violation.rule == "pools" for violation in broken)

    best = most_together(alone, allowed)
    if best is None:
        raise TableError
    search.offer(placement_of_chains(best[1]))
    return _NS / best[0]


def _splits(search: Search) -> tuple[tuple[int, ...] | None, Fraction]:
    """Return counts for a split into several chains that might be better, and a pace that no split is below."""
    promising: tuple[int, ...] | None = None
    if search.best_ns is None:
        return None, search.fastest_ns
    if is_small(search.times, search.kinds.counts):
        best = best_partition(search.times, search.kinds.counts, search.items, search.most_nodes)
        if best is not None:
            pace, parts = best
            return (parts[0] if len(parts) > 1 and pace < search.best_ns else None), pace
    for factor in _ABOVE:
        pace = search.best_ns * factor
        if pace <= search.fastest_ns:
            break
        try:
            split = split_at(search.times, search.kinds.counts, search.items, pace, search.spent)
        except TableError:
            break
        if split is None:
            return promising, pace
        promising = split
    return promising, search.fastest_ns


def _several_chains(search: Search, split: tuple[int, ...] | None, depth: int) -> None:
    """Offer chains side by side: what one leaves over, parts that thin links join, and a promising split."""
    names = [name for kind in search.kinds.kinds for name in kind.members]
    first = search.best
    if first is not None:
        used = {stage.node for stage in first.stages}
        _offer_together(search, [[name for name in names if name not in used]], depth, beside=first)
    parts = joined_parts(search.problem, names, search.fastest_ns)
    if len(parts) > 1:
        _offer_together(search, parts, depth)
    if split is not None:
        one = [name for kind, count in zip(search.kinds.kinds, split, strict=True) for name in kind.members[:count]]
        _offer_together(search, [one, [name for name in names if name not in one]], depth)


def _offer_together(search: Search, parts: list[list[str]], depth: int, beside: Placement | None = None) -> None:
    """Search parts of the nodes by themselves, and offer their chains together."""
    chains: list[Chain] = [] if beside is None else list(chains_of(beside))
    rules, every = search.problem.rules, [node.name for node in search.problem.nodes]
    for part in parts:
        used = nodes_used(search.problem, placement_of_chains(chains))
        left = None if rules.max_nodes is None else rules.max_nodes - used
        if not part or (left is not None and left < 1) or search.spent():
            continue
        barred = tuple(name for name in every if name not in part)
        smaller = replace(search.problem, rules=replace(rules, exclude=barred, max_nodes=left))
        fastest = least_pace_ns(smaller)
        if fastest is None:
            continue
        found = Search(smaller, fastest, None, search.spent)
        _searched(found, depth + 1)
        if found.best is not None:
            chains += chains_of(found.best)
    if chains:
        search.offer(placement_of_chains(chains))
