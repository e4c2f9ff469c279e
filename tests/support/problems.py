"""Small random problems, and the best placement of each by trying every one: the oracle that searches must agree with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from solver.problem import Block, Ends, Link, LinkPair, Links, Node, Placement, Problem, Rules, Stage
from solver.rules import violations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from solver.limits import Value
    from solver.objectives import Objective

NO_RULES = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)
NO_LINKS = Links(default=Link(latency_ns=0, bytes_per_second=None, forbidden=False), pairs=())


def problem_of(
    weights: tuple[int, ...],
    budgets: tuple[int, ...],
    *,
    ends: Ends = Ends(input_bytes=0, output_bytes=0, tied_bytes=0, host_bytes=0),
    rules: Rules = NO_RULES,
    links: Links = NO_LINKS,
) -> Problem:
    """Build a problem of plain blocks and nodes called n0, n1, …"""
    return Problem(
        blocks=tuple(Block(weight, 0, weight, None, 0) for weight in weights),
        ends=ends,
        nodes=tuple(Node(f"n{index}", budget, None, None) for index, budget in enumerate(budgets)),
        activation_bytes=0,
        context_tokens=None,
        links=links,
        rules=rules,
    )


def random_problem(random: Random, most_blocks: int, most_nodes: int, *, ruled: bool = False) -> Problem:
    """Draw a problem that is sometimes too tight, often tight, sometimes loose; blocks and nodes are often alike."""
    scale = random.choice((1, 1, 7, 10**10))
    sizes = random.choice(((0, 1, 2, 3, 5, 8), (3, 4), tuple(range(5, 30))))
    weights = tuple(random.choice(sizes) * scale for _ in range(random.randint(min(3, most_blocks), most_blocks)))
    output = random.choice((0, 0, 2, 6)) * scale
    ends = Ends(
        input_bytes=random.choice((0, 0, 2)) * scale,
        output_bytes=output,
        tied_bytes=random.choice((0, output)),
        host_bytes=random.choice((0, 0, 1)) * scale,
    )
    total = sum(weights) + ends.input_bytes + ends.output_bytes + ends.host_bytes
    kinds = [random.randint(2, 9) for _ in range(random.randint(1, 3))]
    shares = [random.choice(kinds) for _ in range(random.randint(1, most_nodes))]
    room = total / random.uniform(0.35, 0.95)
    budgets = [int(room * share / sum(shares)) + 1 for share in shares]
    if random.random() < 0.1:
        budgets[random.randrange(len(budgets))] = 0
    problem = problem_of(weights, tuple(budgets), ends=ends)
    return _with_rules(problem, random) if ruled else problem


def with_times(problem: Problem, random: Random) -> Problem:
    """Give a problem speeds or measured times, active bytes, caches that grow, and links of many kinds."""
    blocks = tuple(_timed_block(block, random) for block in problem.blocks)
    rates = [random.choice((1, 3, 10)) * 10**9 for _ in range(2)]
    nodes = tuple(
        Node(
            node.name,
            node.budget_bytes,
            random.choice(rates),
            tuple(random.randint(1, 30) for _ in range(random.randint(1, len(blocks) + 1)))
            if random.random() < 0.2
            else None,
        )
        for node in problem.nodes
    )
    default = _random_link(random)
    pairs = tuple(
        LinkPair(source.name, target.name, _random_link(random, barred=0.15))
        for source, target in permutations(nodes, 2)
        if random.random() < random.choice((0, 0.5, 1))
    )
    return Problem(
        blocks=blocks,
        ends=problem.ends,
        nodes=nodes,
        activation_bytes=random.choice((0, 1, 5)),
        context_tokens=random.choice((None, 4)),
        links=Links(default=default, pairs=pairs),
        rules=problem.rules,
    )


def _timed_block(block: Block, random: Random) -> Block:
    cache = random.randint(0, 1 + block.weight_bytes // 4)
    return Block(
        weight_bytes=block.weight_bytes,
        cache_bytes=cache,
        active_bytes=random.randint(0, 12),
        cache_bytes_per_token=random.choice((0, 1, 2)),
        cache_fixed_bytes=random.choice((0, cache // 2)),
    )


def _random_link(random: Random, barred: float = 0.0) -> Link:
    return Link(
        latency_ns=random.choice((0, 1, 4, 15)),
        bytes_per_second=random.choice((None, 10**9, 2 * 10**8)),
        forbidden=random.random() < barred,
    )


def _with_rules(problem: Problem, random: Random) -> Problem:
    names = [node.name for node in problem.nodes]
    blocks = len(problem.blocks)

    def maybe(chance: float) -> str | None:
        return random.choice(names) if random.random() < chance else None

    rules = Rules(
        pins=tuple((random.randrange(blocks), random.choice(names)) for _ in range(random.choice((0, 0, 0, 1, 2)))),
        first=maybe(0.15),
        last=maybe(0.15),
        order=tuple(random.sample(names, random.choice((0, 0, 0, min(2, len(names)), len(names))))),
        exclude=tuple(name for name in names if random.random() < 0.1),
        max_nodes=random.choice((None, None, None, random.randint(1, len(names)))),
        min_blocks=random.choice((1, 1, 1, 2)),
    )
    barred = Link(latency_ns=0, bytes_per_second=None, forbidden=True)
    pairs = tuple(
        LinkPair(source, target, barred) for source, target in permutations(names, 2) if random.random() < 0.05
    )
    return replace(problem, links=Links(default=problem.links.default, pairs=pairs), rules=rules)


def every_placement(problem: Problem) -> Iterator[Placement]:
    """Yield every placement that the rules allow."""
    items = len(problem.items)
    for count in range(1, min(items, len(problem.nodes)) + 1):
        for cuts in combinations(range(1, items), count - 1):
            bounds = (0, *cuts, items)
            for nodes in permutations(problem.nodes, count):
                placement = Placement(
                    tuple(Stage(bounds[k], bounds[k + 1], node.name) for k, node in enumerate(nodes))
                )
                if not violations(problem, placement):
                    yield placement


@dataclass(frozen=True, slots=True)
class Best:
    """The values of the objectives in order, and the canonical placement that has them."""

    values: tuple[Value, ...]
    placement: Placement


def best_by_trying(problem: Problem, objectives: tuple[Objective, ...]) -> Best | None:
    """Return the best placement of all, ties broken by the canonical order; None if the rules allow none."""
    class_of = {
        member.name: (number, place)
        for number, group in enumerate(problem.classes)
        for place, member in enumerate(group.members)
    }

    def key(placement: Placement) -> tuple[object, ...]:
        stages = placement.stages
        return (
            *(objective.cost(problem, placement) for objective in objectives),
            len(stages),
            [class_of[stage.node][0] for stage in stages],
            [-(stage.end - stage.start) for stage in stages],
            [class_of[stage.node][1] for stage in stages],
        )

    best = min(every_placement(problem), key=key, default=None)
    if best is None:
        return None
    return Best(tuple(objective.value(objective.cost(problem, best)) for objective in objectives), best)
