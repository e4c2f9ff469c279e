"""Hypothesis strategies: small problems of every shape, with rules and links."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from hypothesis import strategies as st

from solver.problem import Block, Ends, Link, LinkPair, Links, Node, Problem, Rules
from support.problems import NO_LINKS, NO_RULES

__all__ = ["problems", "ruled_problems"]

_SCALES = st.sampled_from((1, 3, 10**10, 10**12))


@st.composite
def problems(draw: st.DrawFn, most_blocks: int = 5, most_nodes: int = 4) -> Problem:
    """Draw a problem without rules whose nodes may differ in memory and in speed."""
    scale = draw(_SCALES)

    def amounts(most: int) -> st.SearchStrategy[int]:
        return st.integers(0, most).map(lambda amount: amount * scale)

    blocks = draw(st.lists(st.tuples(amounts(9), amounts(2)), min_size=1, max_size=most_blocks))
    output = draw(amounts(5))
    nodes = draw(st.lists(st.tuples(amounts(24), st.sampled_from((None, 7))), min_size=1, max_size=most_nodes))
    held = draw(st.sampled_from((0, 0, 1, 2))) * scale
    more_held = draw(st.sampled_from((0, 0, 3))) * scale
    return Problem(
        blocks=tuple(Block(weight, cache, weight + cache, None, 0) for weight, cache in blocks),
        ends=Ends(
            input_bytes=draw(amounts(5)),
            output_bytes=output,
            tied_bytes=draw(st.sampled_from((0, output))),
            host_bytes=draw(amounts(2)),
        ),
        nodes=tuple(
            Node(f"n{index}", budget, speed, None, held_bytes=held + more_held * (index % 2))
            for index, (budget, speed) in enumerate(nodes)
        ),
        activation_bytes=0,
        context_tokens=None,
        links=NO_LINKS,
        rules=NO_RULES,
    )


@st.composite
def ruled_problems(draw: st.DrawFn, most_blocks: int = 5, most_nodes: int = 4) -> Problem:
    """Draw a problem with rules, which may contradict each other, and with links that may be forbidden."""
    problem = draw(problems(most_blocks, most_nodes))
    names = [node.name for node in problem.nodes]
    name = st.sampled_from(names)
    rules = Rules(
        pins=tuple(draw(st.lists(st.tuples(st.integers(0, len(problem.blocks) - 1), name), max_size=2))),
        first=draw(st.none() | name),
        last=draw(st.none() | name),
        order=tuple(draw(st.lists(name, max_size=3, unique=True))),
        exclude=tuple(draw(st.lists(name, max_size=1))),
        max_nodes=draw(st.none() | st.integers(1, most_nodes)),
        min_blocks=draw(st.integers(1, 3)),
    )
    ways = tuple(permutations(names, 2))
    pairs = draw(st.lists(st.sampled_from(ways), max_size=4, unique=True)) if ways else []
    links = tuple(LinkPair(source, target, Link(5, None, forbidden=draw(st.booleans()))) for source, target in pairs)
    return replace(problem, rules=rules, links=Links(default=NO_LINKS.default, pairs=links))
