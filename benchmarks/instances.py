"""Instances by seed: blocks all of different sizes on unlike nodes, on nodes of a few kinds, with links of every pair.

Nothing is stored: a seed and the sizes say all, and the same Python draws the same instance. What makes them hard is
that no two blocks weigh the same, so that no two cuts are worth the same. Fill is Σ loads / Σ budgets, exact to the
rounding of each block.
"""

from __future__ import annotations

from itertools import permutations
from random import Random

from solver.problem import Block, Ends, Link, LinkPair, Links, Node, Problem, Rules

__all__ = ["CONTEXT_TOKENS", "draw_blocks", "link_matrix", "nodes_of_kinds", "plain_problem", "unlike"]

CONTEXT_TOKENS = 16_384
GIB = 2**30
# bf16 activations of a hidden size of 6,144.
_ACTIVATION_BYTES = 12_288
_NO_ENDS = Ends(input_bytes=0, output_bytes=0, tied_bytes=0, host_bytes=0)
_NO_RULES = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)
_LIKE_LINKS = Links(default=Link(latency_ns=0, bytes_per_second=None, forbidden=False), pairs=())


def draw_blocks(random: Random, count: int, total_bytes: int) -> tuple[Block, ...]:
    """Draw blocks that take `total_bytes` together, the heaviest about 2.3 times the lightest.

    About a tenth of a block is cache, which grows with the context; a token reads the cache and a part of the weights,
    as with routed experts.
    """
    shares = [random.uniform(0.6, 1.4) for _ in range(count)]
    blocks = []
    for share in shares:
        load = int(total_bytes * share / sum(shares))
        per_token = int(load * random.uniform(0.05, 0.15)) // CONTEXT_TOKENS
        cache = per_token * CONTEXT_TOKENS
        active = int((load - cache) * random.uniform(0.05, 0.15)) + cache
        blocks.append(Block(load - cache, cache, active, per_token, 0))
    return tuple(blocks)


def plain_problem(blocks: tuple[Block, ...], ends: Ends, nodes: tuple[Node, ...], links: Links | None) -> Problem:
    """Return a problem without rules; with `links` None all nodes are joined alike, and hops take no time."""
    return Problem(
        blocks=blocks,
        ends=ends,
        nodes=nodes,
        activation_bytes=_ACTIVATION_BYTES,
        context_tokens=CONTEXT_TOKENS,
        links=_LIKE_LINKS if links is None else links,
        rules=_NO_RULES,
    )


def unlike(blocks: int, nodes: int, fill: float, seed: int) -> Problem:
    """Return blocks on nodes of which no two have the same budget or speed, with a link of its own for every pair."""
    random = Random(f"unlike {blocks} {nodes} {fill} {seed}")  # noqa: S311 - instances need no secrecy
    machines = tuple(
        Node(f"n{number}", random.randint(24 * GIB, 128 * GIB), random.randint(100, 1000) * 10**9, None)
        for number in range(nodes)
    )
    drawn = draw_blocks(random, blocks, int(fill * sum(node.budget_bytes for node in machines)))
    return plain_problem(drawn, _NO_ENDS, machines, link_matrix(random, machines))


def nodes_of_kinds(blocks: int, kinds: tuple[tuple[int, int], ...], fill: float, seed: int) -> Problem:
    """Return blocks on nodes of a few kinds, given as (GiB of budget, count), all joined alike."""
    random = Random(f"kinds {blocks} {kinds} {fill} {seed}")  # noqa: S311 - as above
    machines = tuple(
        Node(f"{budget}gib-{number}", budget * GIB, None, None) for budget, count in kinds for number in range(count)
    )
    drawn = draw_blocks(random, blocks, int(fill * sum(node.budget_bytes for node in machines)))
    return plain_problem(drawn, _NO_ENDS, machines, None)


def link_matrix(random: Random, nodes: tuple[Node, ...]) -> Links:
    """Draw 0.02 to 2 ms and 1 to 25 Gbit/s for every pair in every direction."""
    pairs = tuple(
        LinkPair(
            source.name,
            target.name,
            Link(random.randint(20_000, 2_000_000), random.randint(125, 3125) * 10**6, forbidden=False),
        )
        for source, target in permutations(nodes, 2)
    )
    return Links(default=_LIKE_LINKS.default, pairs=pairs)
