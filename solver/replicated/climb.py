"""A placement made better by small changes: cuts moved, nodes added, exchanged or moved to another step, steps halved.

The searches look for whole chains of teams; where time ends before they have looked far, or links make nodes of a kind
unlike after all, a better placement is often a step away. Every change is measured exactly, and kept if better.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from solver.flow.chains import Step, chains_of, placement_of_chains

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solver.flow.chains import Chain
    from solver.replicated.state import Search

__all__ = ["climb"]

_MOST_TRIED = 1_500
_FARTHEST_CUT = 3

_Chains: TypeAlias = "tuple[Chain, ...]"


def climb(search: Search, late: Callable[[], bool]) -> None:
    """Offer changes of the best placement, and of what becomes the best, until none helps or it is late or many."""
    tried = 0
    while search.best is not None:
        before = search.best_ns
        for changed in _changes(chains_of(search.best), [name for kind in search.kinds.kinds for name in kind.members]):
            tried += 1
            if tried > _MOST_TRIED or late():
                return
            search.offer(placement_of_chains(changed))
            if search.best_ns != before:
                break
        else:
            return


def _changes(chains: _Chains, names: list[str]) -> Iterator[_Chains]:
    """Yield chains that differ in one place."""
    used = [node for chain in chains for step in chain for node in step.nodes]
    idle = [name for name in names if name not in used]
    for number, chain in enumerate(chains):
        for changed in (*_other_cuts(chain), *_with_one_more(chain, idle)):
            yield (*chains[:number], changed, *chains[number + 1 :])
    for one, other in combinations(used, 2):
        yield _exchanged(chains, {one: other, other: one})
    yield from _moved(chains)


def _other_cuts(chain: Chain) -> Iterator[Chain]:
    for place in range(len(chain) - 1):
        one, other = chain[place : place + 2]
        for cut in range(one.end - _FARTHEST_CUT, one.end + _FARTHEST_CUT + 1):
            if one.start < cut < other.end and cut != one.end:
                parts = (Step(one.start, cut, one.nodes), Step(cut, other.end, other.nodes))
                yield (*chain[:place], *parts, *chain[place + 2 :])


def _with_one_more(chain: Chain, idle: list[str]) -> Iterator[Chain]:
    """Yield chains with an idle node beside others, in the place of one, or on a part of their step."""
    for place, step in enumerate(chain):
        for name in idle:
            parts: list[tuple[Step, ...]] = [(Step(step.start, step.end, (*step.nodes, name)),)]
            parts += [
                (Step(step.start, step.end, tuple(name if node == other else node for node in step.nodes)),)
                for other in step.nodes
            ]
            for cut in range(step.start + 1, step.end):
                halves = (Step(step.start, cut, step.nodes), Step(cut, step.end, (name,)))
                parts += [halves, (Step(step.start, cut, (name,)), Step(cut, step.end, step.nodes))]
            for changed in parts:
                yield (*chain[:place], *changed, *chain[place + 1 :])


def _exchanged(chains: _Chains, places: dict[str, str]) -> _Chains:
    return tuple(
        tuple(Step(step.start, step.end, tuple(places.get(node, node) for node in step.nodes)) for step in chain)
        for chain in chains
    )


def _moved(chains: _Chains) -> Iterator[_Chains]:
    """Yield chains with one of several nodes of a step on another step."""
    steps = [(step, node) for chain in chains for step in chain if len(step.nodes) > 1 for node in step.nodes]
    for origin, node in steps:
        for goal in (step for chain in chains for step in chain if step != origin):
            yield tuple(
                tuple(
                    Step(step.start, step.end, tuple(other for other in step.nodes if other != node))
                    if step == origin
                    else Step(step.start, step.end, (*step.nodes, node))
                    if step == goal
                    else step
                    for step in chain
                )
                for chain in chains
            )
