"""Random problems with replicas, and the best placement of each by trying every one."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from solver.flow.chains import Step, placement_of_chains
from solver.flow.measure import pace_ns
from solver.problem import Block, Ends, Link, LinkPair, Links, Node, Problem
from solver.rules import violations
from support.problems import NO_LINKS, NO_RULES, problem_of
from support.timed import timed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction
    from random import Random

    from solver.flow.chains import Chain
    from solver.problem import Placement

REPLICAS = replace(NO_RULES, replicas=True)
_RATES = (None, 10**8, 3 * 10**7, 10**9)


def replicated_problem(random: Random) -> Problem:
    """Draw up to four blocks and four nodes, often alike, with times that need not rise and links that may bind."""
    count = random.randint(1, 4)
    blocks = tuple(Block(random.randint(1, 4), 0, random.randint(1, 6), None, 0) for _ in range(count))
    if random.random() < 0.4:
        blocks = (Block(2, 0, 3, None, 0),) * count
    kinds = [(random.randint(1, 12), random.choice((None, None, 1, 2, 10**9))) for _ in range(2)]
    nodes: list[Node] = []
    for number in range(random.randint(1, 4)):
        budget, rate = random.choice(kinds)
        measured = None
        if rate is None or random.random() < 0.3:
            rate, measured = None, tuple(random.randint(1, 40) for _ in range(random.randint(1, count)))
        own = Node(f"n{number}", budget, rate, measured)
        nodes.append(replace(nodes[-1], name=own.name) if nodes and random.random() < 0.4 else own)
    linked = random.random() < 0.6
    pairs = tuple(
        LinkPair(one.name, other.name, Link(0, random.choice(_RATES), forbidden=random.random() < 0.2))
        for one in nodes
        for other in nodes
        if linked and one is not other and random.random() < 0.5
    )
    return Problem(
        blocks=blocks,
        ends=Ends(random.choice((0, 0, 2)), random.choice((0, 0, 3)), 0, 0),
        nodes=tuple(nodes),
        activation_bytes=1,
        context_tokens=None,
        links=Links(Link(0, random.choice((None, 5 * 10**7)), forbidden=False), pairs),
        rules=replace(REPLICAS, max_nodes=random.choice((None, None, None, 2, 3)), min_blocks=random.choice((1, 1, 2))),
    )


def ruled_replicated_problem(random: Random) -> Problem:
    """Draw such a problem with room to spare, and with pins, ends, an order, machines of several nodes, no links."""
    problem = replicated_problem(random)
    names = [node.name for node in problem.nodes]
    blocks = len(problem.blocks)
    roomy = tuple(
        replace(
            node,
            budget_bytes=node.budget_bytes + random.choice((0, 6, 12)),
            machine=random.choice((None, "m", "m", "k")) if random.random() < 0.5 else None,
        )
        for node in problem.nodes
    )
    grouped = random.random() < 0.4
    barred = Link(0, None, forbidden=True)
    pairs = {(pair.source, pair.target): pair.link for pair in problem.links.pairs}
    chance = random.choice((0, 0.2, 0.5))
    pairs |= {ends: barred for ends in permutations(names, 2) if random.random() < chance}
    pinned = random.choice((0, 0, 1))
    rules = replace(
        problem.rules,
        pins=tuple((random.randrange(blocks), random.choice(names)) for _ in range(pinned)),
        first=random.choice(names) if random.random() < 0.2 else None,
        last=random.choice(names) if random.random() < 0.2 else None,
        order=tuple(random.sample(names, random.choice((0, 2, len(names))))) if len(names) > 1 else (),
        exclude=tuple(name for name in names if random.random() < 0.05),
        apart=random.random() < 0.3,
    )
    return replace(
        problem,
        nodes=roomy if grouped else tuple(replace(node, machine=None) for node in roomy),
        links=Links(problem.links.default, tuple(LinkPair(*ends, link) for ends, link in pairs.items())),
        rules=rules,
    )


def sites(each: int, thin_ns: int) -> Problem:
    """Return two sites of nodes that hold 4 of 8 blocks in 10 ns each; between sites a token takes so long."""
    problem = timed(problem_of((1,) * 8, (4,) * 2 * each), ((3, 5, 8, 10),) * 2 * each)
    pairs = tuple(
        LinkPair(one.name, other.name, Link(0, 10**9 // thin_ns, forbidden=False))
        for number, one in enumerate(problem.nodes)
        for place, other in enumerate(problem.nodes)
        if (number < each) != (place < each)
    )
    return replace(problem, activation_bytes=1, links=Links(NO_LINKS.default, pairs), rules=REPLICAS)


def best_pace(problem: Problem) -> int | Fraction | None:
    """Return the least time between two tokens of all placements that the rules allow; None if there is none."""
    best = best_replicated(problem)
    return None if best is None else pace_ns(problem, best)


def best_replicated(problem: Problem) -> Placement | None:
    """Return a placement with the least time between two tokens of all that the rules allow; None if there is none."""
    allowed = (each for each in every_replicated_placement(problem) if not violations(problem, each))
    return min(allowed, key=lambda each: pace_ns(problem, each), default=None)


def every_replicated_placement(problem: Problem) -> Iterator[Placement]:
    """Yield every way to cover the items by one or more chains of steps, no node in two steps."""
    yield from map(placement_of_chains, _chain_sets(len(problem.items), tuple(node.name for node in problem.nodes)))


def _chain_sets(items: int, free: tuple[str, ...]) -> Iterator[tuple[Chain, ...]]:
    for chain, left in _chains(items, 0, free):
        yield (chain,)
        yield from ((chain, *more) for more in _chain_sets(items, left))


def _chains(items: int, start: int, free: tuple[str, ...]) -> Iterator[tuple[Chain, tuple[str, ...]]]:
    if start == items:
        yield (), free
        return
    for end in range(start + 1, items + 1):
        for size in range(1, len(free) + 1):
            for nodes in combinations(free, size):
                left = tuple(name for name in free if name not in nodes)
                for chain, rest in _chains(items, end, left):
                    yield (Step(start, end, nodes), *chain), rest
