"""exo: the ring of its first line (0.x), and the placement of its second (1.0)."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING

from solver.baselines.offered import in_runs, usable_nodes
from solver.baselines.strategy import NoPlacement
from solver.wording import exact_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from solver.baselines.strategy import Answer
    from solver.problem import Node, Problem

__all__ = ["exo", "exo_ring", "proportional"]

# The engine tries every ring; where links are barred, so many sets of nodes, and so many links, are tried here.
_MOST_SETS, _MOST_LINKS = 2_000, 20_000
_DIGITS = 5
_TOO_MANY = NoPlacement("There are more rings between its nodes than are tried here.")


def exo_ring(problem: Problem) -> Answer:
    """Order the nodes by memory, largest first, and cut the blocks at cumulative shares rounded to five digits."""
    nodes = sorted(usable_nodes(problem), key=lambda node: (node.room_bytes, node.name), reverse=True)
    total, blocks = sum(node.room_bytes for node in nodes), len(problem.blocks)
    if not nodes:
        return NoPlacement("No node has a budget.")
    cuts, reached = [0], 0.0
    for node in nodes:
        reached = round(reached + node.room_bytes / total, _DIGITS)
        cuts.append(min(int(reached * blocks), blocks))
    # The last node that has a block takes the rest: a sum of rounded shares need not reach one.
    last = max(number for number in range(len(nodes)) if number == 0 or cuts[number] < blocks)
    cuts = [*cuts[: last + 1], blocks]
    return in_runs(zip(nodes, [after - before for before, after in pairwise(cuts)], strict=False))


def exo(problem: Problem) -> Answer:
    """Take the fewest nodes of a ring whose memory holds the model, of those the most memory, and share by memory.

    Its own check takes all layers to be equal; where that refuses a node there is no second try.
    """
    nodes = usable_nodes(problem)
    needed = problem.total_bytes
    ring = _ring(problem, nodes, needed)
    if isinstance(ring, NoPlacement):
        return ring
    if len(ring) > len(problem.blocks):
        return NoPlacement(f"It wants a block on every node; {len(problem.blocks)} cannot be on {len(ring)}.")
    total = sum(node.room_bytes for node in ring)
    counts = proportional(len(problem.blocks), [node.room_bytes / total for node in ring])
    for node, count in zip(ring, counts, strict=True):
        wanted = needed * count // len(problem.blocks)
        if wanted > node.room_bytes:
            return NoPlacement(
                f"Its own check refuses {count} blocks on {node.name}: it counts {exact_size(wanted)}, and "
                f"{exact_size(node.room_bytes)} are there."
            )
    return in_runs(zip(ring, counts, strict=True))


def proportional(blocks: int, fractions: Sequence[float]) -> tuple[int, ...]:
    """Return blocks by node: floors of the shares, the rest to the largest remainders, then one for whoever has none.

    >>> proportional(20, [0.975, 0.0125, 0.0125])
    (18, 1, 1)
    """
    raw = [fraction * blocks for fraction in fractions]
    counts = [int(share) for share in raw]
    by_remainder = sorted(range(len(raw)), key=lambda number: raw[number] - counts[number], reverse=True)
    for number in by_remainder[: max(blocks - sum(counts), 0)]:
        counts[number] += 1
    for number, count in enumerate(counts):
        if count == 0:
            counts[max(range(len(counts)), key=counts.__getitem__)] -= 1
            counts[number] = 1
    return tuple(counts)


def _ring(problem: Problem, nodes: Sequence[Node], needed: int) -> tuple[Node, ...] | NoPlacement:
    """Return the ring chosen; of rings of equal memory the one of the nodes listed first, and in their order."""
    links = iter(range(_MOST_LINKS))
    for size in range(1, len(nodes) + 1):
        if sum(sorted((node.room_bytes for node in nodes), reverse=True)[:size]) < needed:
            continue
        if not problem.has_forbidden_links:
            largest = sorted(range(len(nodes)), key=lambda number: -nodes[number].room_bytes)[:size]
            return tuple(nodes[number] for number in sorted(largest))
        if comb(len(nodes), size) > _MOST_SETS:
            return _TOO_MANY
        chosen = sorted(combinations(nodes, size), key=lambda some: -sum(node.room_bytes for node in some))
        for some in chosen:
            if sum(node.room_bytes for node in some) < needed:
                break
            if (closed := _closed(problem, some[:1], some[1:], links)) is not None:
                return closed
        if next(links, None) is None:
            return _TOO_MANY
    return NoPlacement("No ring of its nodes has the memory for the model.")


def _closed(
    problem: Problem, begun: tuple[Node, ...], left: tuple[Node, ...], links: Iterator[int]
) -> tuple[Node, ...] | None:
    """Return a ring through all nodes that uses no barred link, or None; each link looked at takes one of `links`."""
    if not left:
        closes = len(begun) == 1 or not problem.link(begun[-1].name, begun[0].name).forbidden
        return begun if closes else None
    for number, node in enumerate(left):
        if next(links, None) is not None and not problem.link(begun[-1].name, node.name).forbidden:
            ring = _closed(problem, (*begun, node), (*left[:number], *left[number + 1 :]), links)
            if ring is not None:
                return ring
    return None
