"""Tokens a second of replicated stages and parallel chains, exactly.

A chain carries the maximum flow from its first step to its last: through a node at most 10^9 over the time of its
stage, over a link between two nodes of consecutive steps at most 10^9 over its transfer, over a forbidden link nothing.
Every pair of nodes across a seam has a link of its own. Chains have no node in common and add up.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import TYPE_CHECKING

from solver.flow.chains import chains_of
from solver.flow.maximum import Network
from solver.measures import slowest_ns, stage_ns, transfer_ns
from solver.problem import Stage

if TYPE_CHECKING:
    from solver.flow.chains import Chain
    from solver.problem import Placement, Problem

__all__ = ["chain_tokens_per_second", "pace_ns", "tokens_per_second"]

_NS = 10**9
_SOURCE, _SINK = -1, -2


def pace_ns(problem: Problem, placement: Placement) -> int | Fraction:
    """Return the time between two tokens in a steady flow: the slowest stage or transfer, or what replicas share.

    Raises:
        ZeroDivisionError: no token gets through, which the rule on hops excludes.
    """
    if not problem.rules.replicas:
        return slowest_ns(problem, placement)
    return _NS / tokens_per_second(problem, placement)


def tokens_per_second(problem: Problem, placement: Placement) -> Fraction:
    """Return the tokens a second of all chains together."""
    return sum((chain_tokens_per_second(problem, chain) for chain in chains_of(placement)), Fraction(0))


def chain_tokens_per_second(problem: Problem, chain: Chain) -> Fraction:
    """Return the most tokens a second that one chain carries."""
    numbers = {node: number for number, node in enumerate(node for step in chain for node in step.nodes)}
    passing = {
        node: max(1, stage_ns(problem, Stage(step.start, step.end, node))) for step in chain for node in step.nodes
    }
    crossing = {
        (source, target): transfer_ns(problem, source, target)
        for step, following in pairwise(chain)
        for source in step.nodes
        for target in following.nodes
        if not problem.link(source, target).forbidden
    }
    # In this unit every capacity is a whole number.
    unit = lcm(*passing.values(), *(time for time in crossing.values() if time))
    unlimited = sum(unit // time for time in passing.values())
    network = Network()
    for node, time in passing.items():
        network.add(2 * numbers[node], 2 * numbers[node] + 1, unit // time)
    for (source, target), time in crossing.items():
        network.add(2 * numbers[source] + 1, 2 * numbers[target], unit // time if time else unlimited)
    for node in chain[0].nodes:
        network.add(_SOURCE, 2 * numbers[node], unlimited)
    for node in chain[-1].nodes:
        network.add(2 * numbers[node] + 1, _SINK, unlimited)
    return Fraction(network.maximum(_SOURCE, _SINK) * _NS, unit)
