"""Random problems of machines with several devices and shared memories, and their best placement by trying every one.

What is allowed is judged by `solver.rules`, what it is worth by `solver.measures`: searches must agree with them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain, combinations, permutations
from random import Random
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from solver.measures import offload_bytes
from solver.pools import Draws, Pool
from solver.problem import Block, Ends, LinkPair, Links, Node, Placement, Problem, Shape, Stage
from solver.rules import violations
from support.problems import NO_LINKS, NO_RULES, Best, random_link, with_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.objectives import Objective

__all__ = [
    "best_pooled",
    "canonical_key",
    "crowded_problem",
    "every_pooled_placement",
    "pooled_problem",
    "pooled_problems",
]


@dataclass
class _Machines:
    """Devices and memories under construction. `room` is the budget that a device of average size gets.

    What they hold beside stages is drawn apart, so that all else is as it would be without.
    """

    random: Random
    room: int
    timed: bool
    holds: bool = True
    nodes: list[Node] = field(default_factory=list)
    pools: list[Pool] = field(default_factory=list)

    def budget(self) -> int:
        """Draw what a device may take: now and then nothing, sometimes ample."""
        return int(self.room * self.random.choice((0.4, 0.7, 1, 1, 1, 1.4, 2))) if self.random.random() > 0.03 else 0

    def held(self) -> int:
        """Draw what is in a memory beside stages: most often nothing."""
        if not self.holds:
            return 0
        apart = Random(f"{self.room} {len(self.nodes)} {len(self.pools)}")
        kind = Random(self.room).choice(((0,), (0,), (0,), (self.room // 10,), (0, self.room // 20, self.room // 10)))
        return apart.choice(kind)

    def pool(self, machine: str, name: str, budget_bytes: int) -> str:
        """Add a memory."""
        self.pools.append(Pool(f"{machine}/{name}", budget_bytes, machine, min(self.held(), budget_bytes)))
        return f"{machine}/{name}"

    def device(self, machine: str | None, name: str, budget_bytes: int, draws: Draws | None) -> None:
        """Add a device; those that leave experts with no one may have measured times."""
        rate = self.random.choice((1, 2, 5)) * 10**9 if self.timed else None
        measured = self.timed and self.random.random() < 0.15
        times = tuple(self.random.randint(1, 30) for _ in range(self.random.randint(1, 5))) if measured else None
        self.nodes.append(Node(name, budget_bytes, rate, times, machine, draws, self.held()))

    def draws(self, pools: tuple[str, ...], cards: tuple[str, ...], host_pool: str | None, shape: int = 0) -> Draws:
        """Say what a device takes from where; host memories are slow, and of a known rate where times matter."""
        rate = self.random.choice((1, 3)) * 10**8 if self.timed and host_pool is not None else None
        return Draws(pools, cards, host_pool, rate, shape)


def _plain(machines: _Machines, machine: str, most: int) -> None:  # noqa: ARG001 - as all kinds of machines are called
    machines.device(None, machine, machines.budget(), None)


def _cards(machines: _Machines, machine: str, most: int) -> None:
    """Add a machine of cards, equal or not, with memories of their own."""
    alike = machines.random.random() < 0.5
    budget = machines.budget()
    for number in range(machines.random.randint(1, min(most, 3))):
        machines.device(machine, f"{machine}-{number}", budget if alike else machines.budget(), None)


def _hosted(machines: _Machines, machine: str, most: int) -> None:
    """Add a machine of cards beside a host memory, tight or loose, whose processor may take a stage itself."""
    random = machines.random
    host = machines.pool(machine, "ram", int(machines.room * random.choice((0.3, 0.6, 1, 3, 3))))
    with_processor = most > 1 and random.random() < 0.5
    budget, alike = machines.budget(), random.random() < 0.5
    for number in range(random.randint(1, min(most - with_processor, 2))):
        name = f"{machine}-{number}"
        size = budget if alike else machines.budget()
        own = machines.pool(machine, f"card{number}", size)
        machines.device(machine, name, size, machines.draws((own,), (own,), host))
    if with_processor:
        size = machines.pools[[pool.name for pool in machines.pools].index(host)].budget_bytes
        machines.device(machine, f"{machine}-cpu", size, machines.draws((host,), (f"{machine}/cpu",), None))


def _unified(machines: _Machines, machine: str, most: int) -> None:
    """Add a machine whose devices draw on one memory, each up to a ceiling of its own."""
    random = machines.random
    size = int(machines.room * random.choice((0.7, 1, 1.5, 2.5)))
    pool = machines.pool(machine, "unified", size)
    for number in range(random.randint(1, min(most, 2))):
        ceiling = int(size * random.choice((0.5, 0.75, 1)))
        host = random.choice((None, pool))
        name = f"{machine}-{number}"
        machines.device(machine, name, ceiling, machines.draws((pool,), (name,), host))


def _grouped(machines: _Machines, machine: str, most: int) -> None:
    """Add a machine of two equal cards that are a device each, or one device of width two."""
    random = machines.random
    size = machines.budget()
    host = machines.pool(machine, "ram", machines.room) if random.random() < 0.4 else None
    own = tuple(machines.pool(machine, f"card{number}", size) for number in range(2))
    machines.device(machine, f"{machine}-both", size, machines.draws(own, own, host, shape=1))
    for number in range(min(most - 1, random.choice((0, 1, 2, 2)))):
        card = own[number]
        machines.device(machine, f"{machine}-{number}", size, machines.draws((card,), (card,), host))


_KINDS = (_plain, _cards, _hosted, _hosted, _hosted, _unified, _grouped)


def pooled_problem(
    random: Random, most_blocks: int = 4, most_devices: int = 4, *, ruled: bool = True, timed: bool | None = None
) -> Problem:
    """Draw a problem that is not plain: machines of several devices, shared memories, experts, groups of cards.

    `timed` says whether every device has a rate; None draws it.
    """
    with_times = random.random() < 0.7 if timed is None else timed
    scale = random.choice((1, 1, 7, 10**10))
    blocks = _blocks(random, random.choice((most_blocks, random.randint(1, most_blocks))), scale)
    output = random.choice((0, 0, 2, 6)) * scale
    ends = Ends(
        random.choice((0, 0, 2)) * scale,
        output,
        random.choice((0, output)),
        random.choice((0, 0, 1, 3)) * scale,
    )
    total = sum(block.weight_bytes + block.cache_bytes for block in blocks) + ends.input_bytes + ends.output_bytes
    devices = random.choice((most_devices, random.randint(1, most_devices)))
    room = int(total / devices / random.uniform(0.2, 0.8)) + 1
    machines = _Machines(random, room, with_times)
    while len(machines.nodes) < devices:
        machine = f"m{len(machines.nodes)}"
        random.choice(_KINDS)(machines, machine, devices - len(machines.nodes))
    if all(node.machine is None for node in machines.nodes):
        machines.nodes[0] = replace(machines.nodes[0], machine="desk")
    problem = Problem(
        blocks=blocks,
        ends=ends,
        nodes=tuple(random.sample(machines.nodes, len(machines.nodes))),
        activation_bytes=random.choice((0, 1, 5)),
        context_tokens=None,
        links=_links(random, machines.nodes) if with_times or random.random() < 0.3 else NO_LINKS,
        rules=NO_RULES,
        pools=tuple(machines.pools),
        shapes=(_halved(blocks, ends),) if any(node.draws and node.draws.shape for node in machines.nodes) else (),
    )
    if not ruled or random.random() < 0.5:
        return problem
    problem = with_rules(problem, random)
    return replace(problem, rules=replace(problem.rules, apart=random.random() < 0.3))


def crowded_problem(random: Random, most_blocks: int, most_devices: int) -> Problem:
    """Draw a problem of one or two machines whose processor and cards need nearly all of the host memory."""
    scale = random.choice((1, 1, 7, 10**10))
    blocks = tuple(
        replace(
            block,
            expert_bytes=block.weight_bytes * random.choice((1, 2, 3)) // 4,
            expert_active_bytes=random.randint(0, block.active_bytes),
        )
        for block in _blocks(random, random.randint(3, most_blocks), scale)
    )
    output = random.choice((0, 2, 6)) * scale
    ends = Ends(random.choice((0, 2)) * scale, output, random.choice((0, output)), random.choice((0, 1, 3)) * scale)
    total = sum(block.weight_bytes + block.cache_bytes for block in blocks) + ends.input_bytes + ends.output_bytes
    count = random.choice((1, 1, 2)) if most_devices > 2 else 1
    machines = _Machines(random, total // most_devices + 1, timed=True, holds=False)
    for number in range(count):
        left = most_devices - len(machines.nodes)
        _crowded(machines, f"m{number}", left if number == count - 1 else left - 1, total // count)
    problem = Problem(
        blocks=blocks,
        ends=ends,
        nodes=tuple(machines.nodes),
        activation_bytes=random.choice((0, 1, 5)),
        context_tokens=None,
        links=_links(random, machines.nodes) if random.random() < 0.4 else NO_LINKS,
        rules=NO_RULES,
        pools=tuple(machines.pools),
        shapes=(),
    )
    problem = with_rules(problem, random) if random.random() < 0.3 else problem
    return _with_held(problem, Random(total).choice((0, 0, 0, total // 20)))


def _with_held(problem: Problem, size: int) -> Problem:
    """Return a problem whose devices hold so much beside their stages, in memories that are as much larger."""
    drawing = {pool.name: sum(pool.name in node.pools for node in problem.nodes) for pool in problem.pools}
    return replace(
        problem,
        nodes=tuple(replace(node, held_bytes=size, budget_bytes=node.budget_bytes + size) for node in problem.nodes),
        pools=tuple(
            replace(pool, budget_bytes=pool.budget_bytes + size * drawing[pool.name]) for pool in problem.pools
        ),
    )


def _crowded(machines: _Machines, machine: str, devices: int, total: int) -> None:
    """Add a processor and as many cards as there may be, and a host memory for about what they cannot hold."""
    random = machines.random
    cards = [int(total * random.uniform(0.1, 0.5))] * (devices - 1)
    if random.random() < 0.6:
        cards = [int(total * random.uniform(0.1, 0.5)) for _ in cards]
    ram = max(int((total - sum(cards)) * random.uniform(0.8, 1.5)), 0)
    host = machines.pool(machine, "ram", ram)
    for number, size in enumerate(cards):
        own = machines.pool(machine, f"card{number}", size)
        machines.device(machine, f"{machine}-{number}", size, machines.draws((own,), (own,), host))
    budget = ram if random.random() < 0.7 else ram * 3 // 4
    machines.device(machine, f"{machine}-cpu", budget, machines.draws((host,), (f"{machine}/cpu",), None))


def _blocks(random: Random, count: int, scale: int) -> tuple[Block, ...]:
    sizes = random.choice(((0, 1, 2, 3, 5, 8), (3, 4), tuple(range(5, 30)), (8,)))
    has_experts = random.choice((0, 0.7, 1))
    growth = random.choice(((0, 1, 2), (1,)))
    blocks = []
    for _ in range(count):
        weight = random.choice(sizes) * scale
        cache = random.choice((0, 1, weight // 4))
        active = random.randint(0, 12)
        experts = random.random() < has_experts
        blocks.append(
            Block(
                weight_bytes=weight,
                cache_bytes=cache,
                active_bytes=active,
                cache_bytes_per_token=random.choice(growth),
                cache_fixed_bytes=random.choice((0, cache // 2)),
                expert_bytes=weight * random.choice((1, 2, 3)) // 4 if experts else 0,
                expert_active_bytes=random.randint(0, active) if experts else 0,
            )
        )
    return tuple(blocks)


def _halved(blocks: tuple[Block, ...], ends: Ends) -> Shape:
    """Return what one of two ranks takes: weights split, rounded up, and caches whole."""
    halves = tuple(
        replace(
            block,
            weight_bytes=-(-block.weight_bytes // 2),
            active_bytes=-(-block.active_bytes // 2),
            expert_bytes=block.expert_bytes // 2,
            expert_active_bytes=block.expert_active_bytes // 2,
        )
        for block in blocks
    )
    output = -(-ends.output_bytes // 2)
    return Shape(halves, Ends(ends.input_bytes, output, min(ends.tied_bytes, output), ends.host_bytes))


def _links(random: Random, nodes: list[Node]) -> Links:
    chance = random.choice((0, 0.3, 1))
    pairs = tuple(
        LinkPair(source.name, target.name, random_link(random, barred=0.1))
        for source, target in permutations(nodes, 2)
        if random.random() < chance
    )
    return Links(random_link(random), pairs)


def pooled_problems(
    most_blocks: int = 3, most_devices: int = 3, *, ruled: bool = True, timed: bool | None = None
) -> st.SearchStrategy[Problem]:
    """Return a strategy of the same problems."""
    return st.randoms(use_true_random=False).map(
        lambda random: pooled_problem(random, most_blocks, most_devices, ruled=ruled, timed=timed)
    )


# What experts that stay with the host can change for the better.
_EASED = {"memory", "pools"}


def every_pooled_placement(problem: Problem) -> Iterator[Placement]:
    """Yield every placement that the rules allow, whatever is left with hosts."""
    items = len(problem.items)
    for count in range(1, min(items, len(problem.nodes)) + 1):
        for cuts in combinations(range(1, items), count - 1):
            bounds = (0, *cuts, items)
            for nodes in permutations(problem.nodes, count):
                stages = tuple(Stage(bounds[k], bounds[k + 1], node.name) for k, node in enumerate(nodes))
                yield from _with_every_offload(problem, Placement(stages))


def _with_every_offload(problem: Problem, bare: Placement) -> Iterator[Placement]:
    if any(violation.rule not in _EASED for violation in violations(problem, bare)):
        return
    movable = tuple(
        (number, index)
        for number, stage in enumerate(bare.stages)
        if problem.nodes_by_name[stage.node].host_pool is not None
        for index in range(stage.start, stage.end)
    )
    for moved in chain.from_iterable(combinations(movable, count) for count in range(len(movable) + 1)):
        placement = Placement(
            tuple(
                replace(stage, offloaded=tuple(index for at, index in moved if at == number))
                for number, stage in enumerate(bare.stages)
            )
        )
        if not violations(problem, placement):
            yield placement


def canonical_key(problem: Problem, placement: Placement) -> tuple[object, ...]:
    """Return what the canonical answer has the least of, levels aside."""
    place_of = {
        member.name: (number, place)
        for number, group in enumerate(problem.classes)
        for place, member in enumerate(group.members)
    }
    stages = placement.stages
    offloaded = {index for stage in stages for index in stage.offloaded}
    return (
        offload_bytes(problem, placement),
        len(stages),
        [place_of[stage.node][0] for stage in stages],
        [-(stage.end - stage.start) for stage in stages],
        [index not in offloaded for index in range(len(problem.items))],
        [place_of[stage.node][1] for stage in stages],
    )


def best_pooled(problem: Problem, objectives: tuple[Objective, ...]) -> Best | None:
    """Return the best placement of all, the canonical one of equals; None if the rules allow none."""

    def key(placement: Placement) -> tuple[object, ...]:
        levels = tuple(objective.cost(problem, placement) for objective in objectives)
        return levels, canonical_key(problem, placement)

    best = min(every_pooled_placement(problem), key=key, default=None)
    if best is None:
        return None
    return Best(tuple(objective.value(objective.cost(problem, best)) for objective in objectives), best)
