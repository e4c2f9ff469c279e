"""Every chain of a few nodes, step by step, as long as what flows through it so far keeps the pace.

Exact for unlike links and nodes that share a step unevenly, where the seams of `layered` are only an upper bound. The
flow through a chain's first steps never grows as steps are added.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.states import TableError
from solver.flow.chains import Step
from solver.flow.measure import chain_tokens_per_second

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from fractions import Fraction

    from solver.flow.chains import Chain
    from solver.problem import Problem
    from solver.replicated.kinds import Kinds
    from solver.replicated.pace import Pace

__all__ = ["MOST_WALKED", "chains_within", "most_together"]

# So many nodes have 63 sets; each step measured takes a fraction of a millisecond.
MOST_WALKED = 6
_MOST_STEPS = 6_000


def chains_within(problem: Problem, kinds: Kinds, pace: Pace, spent: Callable[[], bool]) -> Iterator[Chain]:
    """Yield every chain within a pace, at most one of those that differ by the order of nodes in a step.

    Raises:
        TableError: there are too many steps to look at, or `spent` said that the time is up.
    """
    times = {name: kind.times for kind in kinds.kinds for name in kind.members}
    items = len(problem.items)
    waiting: list[tuple[Chain, tuple[str, ...]]] = [((), tuple(times))]
    looked = 0
    while waiting:
        chain, left = waiting.pop()
        start = chain[-1].end if chain else 0
        for size in range(len(left), 0, -1):
            for nodes in combinations(left, size):
                able = np.all([times[name][start] > 0 for name in nodes], axis=0)
                for end in np.flatnonzero(able).tolist():
                    if not pace.kept([(1, int(times[name][start, end])) for name in nodes]):
                        continue
                    looked += 1
                    if looked > _MOST_STEPS or spent():
                        raise TableError
                    longer = (*chain, Step(start, end, nodes))
                    if not pace.carried_by(chain_tokens_per_second(problem, longer)):
                        continue
                    if end == items:
                        yield longer
                    else:
                        waiting.append((longer, tuple(name for name in left if name not in nodes)))


def most_together(
    alone: Mapping[frozenset[str], tuple[Fraction, Chain]], allowed: Callable[[tuple[Chain, ...]], bool]
) -> tuple[Fraction, tuple[Chain, ...]] | None:
    """Return the chains without a node in common that carry most, of the best one for every set of nodes; or None.

    Whether chains are `allowed` side by side may depend on their nodes alone.
    """
    best: dict[frozenset[str], tuple[Fraction, tuple[Chain, ...]]] = {}
    for nodes, (carried, chain) in alone.items():
        for used, (amount, chains) in [(frozenset[str](), (0 * carried, ())), *best.items()]:
            if used & nodes or not allowed((*chains, chain)):
                continue
            both = used | nodes
            if both not in best or amount + carried > best[both][0]:
                best[both] = (amount + carried, (*chains, chain))
    return max(best.values(), key=lambda entry: entry[0], default=None)
