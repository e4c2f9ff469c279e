"""Random problems, and the best placement of each by trying every one: the oracle that searches must agree with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from solver.blocks import head_block
from solver.problem import Block, Ends, Link, LinkPair, Links, Node, Placement, Problem, Rules, Stage
from solver.rules import violations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from solver.limits import Value
    from solver.objectives import Objective

NO_RULES = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)
NO_ENDS = Ends(input_bytes=0, output_bytes=0, tied_bytes=0, host_bytes=0)
NO_LINKS = Links(default=Link(latency_ns=0, bytes_per_second=None, forbidden=False), pairs=())


def problem_of(
    weights: tuple[int, ...],
    budgets: tuple[int, ...],
    *,
    ends: Ends = NO_ENDS,
    rules: Rules = NO_RULES,
    links: Links = NO_LINKS,
) -> Problem:
    """Build a problem of plain blocks, and nodes called n0, n1 and so on."""
    return Problem(
        blocks=tuple(Block(weight, 0, weight, None, 0) for weight in weights),
        ends=ends,
        nodes=tuple(Node(f"n{index}", budget, None, None) for index, budget in enumerate(budgets)),
        activation_bytes=0,
        context_tokens=None,
        links=links,
        rules=rules,
    )


def with_head_alone(problem: Problem) -> Problem:
    """Return a problem with its head to be placed by itself, behind the last block."""
    shapes = tuple(replace(shape, blocks=(*shape.blocks, head_block(shape.ends))) for shape in problem.shapes)
    return replace(problem, blocks=(*problem.blocks, head_block(problem.ends)), shapes=shapes, head_alone=True)


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
    if random.random() < 0.3:
        problem = told_apart(problem, random)
    return with_rules(problem, random) if ruled else problem


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
    default = random_link(random)
    pairs = tuple(
        LinkPair(source.name, target.name, random_link(random, barred=0.15))
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


def random_link(random: Random, barred: float = 0.0) -> Link:
    """Draw a link of some latency and rate, perhaps one that no hop may take."""
    return Link(
        latency_ns=random.choice((0, 1, 4, 15)),
        bytes_per_second=random.choice((None, 10**9, 2 * 10**8)),
        forbidden=random.random() < barred,
    )


def told_apart(problem: Problem, random: Random) -> Problem:
    """Give some nodes a speed or a link of their own: classes that memory alone does not tell apart."""
    nodes = tuple(replace(node, bytes_per_second=random.choice((None, None, 10))) for node in problem.nodes)
    names = [node.name for node in nodes]
    near = Link(latency_ns=5, bytes_per_second=None, forbidden=False)
    pairs = tuple(LinkPair(source, target, near) for source, target in permutations(names, 2) if random.random() < 0.1)
    return replace(problem, nodes=nodes, links=replace(problem.links, pairs=pairs))


def larger_problem(random: Random, *, ruled: bool) -> Problem:
    """Draw a problem of 20 to 40 blocks on 6 to 10 nodes of a few kinds, 60 to 97 % full, with rules if asked."""
    scale = random.choice((1, 10**7, 10**10))
    sizes = random.choice((tuple(range(50, 150)), (100, 140), (100,)))
    weights = tuple(random.choice(sizes) * scale for _ in range(random.randint(20, random.choice((24, 30, 40)))))
    output = random.choice((0, 60, 150)) * scale
    tied = random.choice((0, output))
    ends = Ends(max(tied, random.choice((0, 80)) * scale), output, tied, 0)
    kinds = [random.randint(3, 12) for _ in range(random.randint(2, 4))]
    shares = [random.choice(kinds) for _ in range(random.randint(6, random.choice((7, 8, 10))))]
    room = (sum(weights) + ends.input_bytes + output) / random.uniform(0.6, 0.97)
    problem = problem_of(weights, tuple(int(room * share / sum(shares)) for share in shares), ends=ends)
    return replace(problem, rules=_mild_rules(problem, random)) if ruled else problem


def _mild_rules(problem: Problem, random: Random) -> Rules:
    """Draw rules that every search can follow and that rarely leave nothing."""
    names = [node.name for node in problem.nodes]
    return Rules(
        pins=tuple((random.randrange(len(problem.blocks)), random.choice(names)) for _ in range(random.choice((0, 1)))),
        first=random.choice((None, None, random.choice(names))),
        last=random.choice((None, None, random.choice(names))),
        order=tuple(random.sample(names, random.choice((0, 2, 3)))),
        exclude=tuple(name for name in names if random.random() < 0.05),
        max_nodes=random.choice((None, None, len(names) - 1)),
        min_blocks=1,
    )


def with_rules(problem: Problem, random: Random) -> Problem:
    """Give a problem rules, which may contradict each other, and forbidden links."""
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
    chance = random.choice((0, 0.05, 0.05, 0.4))
    pairs = tuple(
        LinkPair(source, target, barred) for source, target in permutations(names, 2) if random.random() < chance
    )
    taken = {(pair.source, pair.target) for pair in pairs}
    kept = tuple(pair for pair in problem.links.pairs if (pair.source, pair.target) not in taken)
    return replace(problem, links=replace(problem.links, pairs=(*kept, *pairs)), rules=rules)


def every_placement(problem: Problem) -> Iterator[Placement]:
    """Yield every placement that the rules allow."""
    items = len(problem.items)
    for count in range(1, min(items, len(problem.nodes)) + 1):
        for cuts in combinations(range(1, items), count - 1):
            bounds = (0, *cuts, items)
            for nodes in permutations(problem.nodes, count):
                placement = Placement(tuple(Stage(bounds[k], bounds[k + 1], node.name) for k, node in enumerate(nodes)))
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
