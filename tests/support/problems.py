"""Small random problems, and the best placement of each by trying every one: the oracle that searches must agree with."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from solver.problem import Block, Ends, Link, LinkPair, Links, Node, Placement, Problem, Rules, Stage
from solver.rules import violations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from solver.objectives import Objective, Value

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
    return Problem(
        blocks=problem.blocks,
        ends=problem.ends,
        nodes=problem.nodes,
        activation_bytes=0,
        context_tokens=None,
        links=Links(default=problem.links.default, pairs=pairs),
        rules=rules,
    )


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
            *(objective.measure(problem, placement) for objective in objectives),
            len(stages),
            [class_of[stage.node][0] for stage in stages],
            [-(stage.end - stage.start) for stage in stages],
            [class_of[stage.node][1] for stage in stages],
        )

    best = min(every_placement(problem), key=key, default=None)
    if best is None:
        return None
    return Best(tuple(objective.measure(problem, best) for objective in objectives), best)
