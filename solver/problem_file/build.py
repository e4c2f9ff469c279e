"""The problem that a document says: parts become blocks, nodes, links and rules; what cannot be meant is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.blocks import Shape, head_block
from solver.errors import InputError
from solver.problem import Block, Ends, Link, LinkPair, Links, Node, Problem, Rules
from solver.problem_file.document import SCHEMA
from solver.problem_file.memories import draws_of, pools_of
from solver.problem_file.names import distinct, members_of, named, single

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solver.pools import Pool
    from solver.problem_file.document import BlockPart, Document, EndsPart, LinksPart, NodePart, RulesPart, ShapePart

__all__ = ["problem_of"]

# Sums of this many bytes still fit 64-bit arithmetic with room for differences and gcd scaling.
_LARGEST_TOTAL = 2**61
# Two counted names give count × count links: a short document could ask for billions.
_MOST_LINKS = 250_000


def problem_of(document: Document, where: str) -> Problem:
    """Return the problem of a document.

    Raises:
        InputError: it refers to what is not there, or its sums are out of bounds.
    """
    if document.schema != SCHEMA:
        raise InputError(f"{where}, schema", f'"{document.schema[:60]}" is not read; expected "{SCHEMA}". Convert it.')
    members = members_of(document.nodes, where)
    pools = pools_of(document.pools, document.nodes, where)
    ends = _ends(document)
    problem = Problem(
        blocks=(*_blocks(document.blocks, f"{where}, blocks"), *_head(document, ends)),
        ends=ends,
        nodes=_nodes(document, members, {pool.name: pool for pool in pools}, where),
        activation_bytes=document.activation_bytes or 0,
        context_tokens=document.context_tokens,
        links=_links(document.links, members, where),
        rules=_rules(document.rules, members, len(document.blocks), where),
        pools=pools,
        shapes=tuple(_shape(part, document, f"{where}, shapes[{index}]") for index, part in enumerate(document.shapes)),
        head_alone=document.head_alone,
    )
    _check_sizes(problem, where)
    return problem


def _check_sizes(problem: Problem, where: str) -> None:
    """Refuse ends and sums that cannot be meant, for every width of devices; experts count once a rank."""
    widths = [1] * (1 + len(problem.shapes))
    for node in problem.nodes:
        if node.draws is not None:
            widths[node.draws.shape] = max(widths[node.draws.shape], len(node.pools))
    for number, items in enumerate(problem.items_of_shapes):
        ends = problem.shapes[number - 1].ends if number else problem.ends
        prefix = f"{where}, shapes[{number - 1}]." if number else f"{where}, "
        if ends.tied_bytes > ends.output_bytes:
            raise InputError(
                f"{prefix}tied_bytes",
                f"{ends.tied_bytes} is above output_bytes {ends.output_bytes}; "
                "expected the part of the output that is the input's own tensor. Lower it.",
            )
        total = widths[number] * sum(item.load_bytes for item in items)
        if total > _LARGEST_TOTAL:
            raise InputError(
                f"{prefix}blocks", f"the sum is {total} bytes; expected at most 2^61. Give sizes in bytes."
            )
        held = sum(node.held_bytes * len(node.pools) for node in problem.nodes)
        if held and total + held > _LARGEST_TOTAL:
            raise InputError(
                f"{where}, nodes",
                f"held_bytes and blocks are {total + held} bytes together; expected at most 2^61. Give sizes in bytes.",
            )


def _ends(part: EndsPart) -> Ends:
    return Ends(
        input_bytes=part.input_bytes or 0,
        output_bytes=part.output_bytes or 0,
        tied_bytes=part.tied_bytes or 0,
        host_bytes=part.host_bytes or 0,
    )


def _head(document: Document, ends: Ends) -> tuple[Block, ...]:
    """Return the head as one more to be placed, where it moves by itself."""
    return (head_block(ends),) if document.head_alone else ()


def _shape(part: ShapePart, document: Document, where: str) -> Shape:
    blocks = len(document.blocks)
    if len(part.blocks) != blocks:
        raise InputError(
            f"{where}.blocks", f"it has {len(part.blocks)} blocks; expected {blocks}, as the problem has. Correct it."
        )
    ends = _ends(part)
    return Shape(blocks=(*_blocks(part.blocks, f"{where}.blocks"), *_head(document, ends)), ends=ends)


def _blocks(parts: tuple[BlockPart, ...], where: str) -> tuple[Block, ...]:
    return tuple(_block(part, f"{where}[{index}]") for index, part in enumerate(parts))


def _block(part: BlockPart, where: str) -> Block:
    active = part.weight_bytes + part.cache_bytes if part.active_bytes is None else part.active_bytes
    for key, amount, whole, most in (
        ("expert_bytes", part.expert_bytes, "weight_bytes", part.weight_bytes),
        ("expert_active_bytes", part.expert_active_bytes, "active_bytes", active),
    ):
        if amount > most:
            raise InputError(f"{where}.{key}", f"{amount} is above {whole} {most}; expected a part of them. Lower it.")
    return Block(
        weight_bytes=part.weight_bytes,
        cache_bytes=part.cache_bytes,
        active_bytes=active,
        cache_bytes_per_token=part.cache_bytes_per_token,
        cache_fixed_bytes=part.cache_fixed_bytes or 0,
        expert_bytes=part.expert_bytes,
        expert_active_bytes=part.expert_active_bytes,
    )


def _nodes(
    document: Document, members: Mapping[str, tuple[str, ...]], pools: Mapping[str, Pool], where: str
) -> tuple[Node, ...]:
    nodes = tuple(
        _node(part, name, pools, len(document.shapes), f"{where}, nodes[{index}]")
        for index, part in enumerate(document.nodes)
        for name in members[part.name]
    )
    own = {node.name for node in nodes if node.draws is None}
    for index, part in enumerate(document.nodes):
        for number, card in enumerate(part.cards or ()):
            if card in own:
                raise InputError(
                    f"{where}, nodes[{index}].cards[{number}]",
                    f'"{card}" is a node with a memory of its own; expected a processor. Rename it.',
                )
    return nodes


def _node(part: NodePart, name: str, pools: Mapping[str, Pool], shapes: int, where: str) -> Node:
    return Node(
        name=name,
        budget_bytes=part.budget_bytes,
        bytes_per_second=part.bytes_per_second,
        stage_ns=part.stage_ns,
        machine=part.machine,
        draws=draws_of(part, name, pools, shapes, where),
        held_bytes=part.held_bytes,
    )


def _links(part: LinksPart, members: Mapping[str, tuple[str, ...]], where: str) -> Links:
    default = Link(latency_ns=part.default.latency_ns, bytes_per_second=part.default.bytes_per_second, forbidden=False)
    pairs: dict[tuple[str, str], LinkPair] = {}
    for index, pair in enumerate(part.pairs):
        link = Link(
            latency_ns=default.latency_ns if pair.latency_ns is None else pair.latency_ns,
            bytes_per_second=pair.bytes_per_second,
            forbidden=pair.forbidden,
        )
        sources = named(pair.source, members, f"{where}, links.pairs[{index}].from")
        targets = named(pair.target, members, f"{where}, links.pairs[{index}].to")
        if len(pairs) + len(sources) * len(targets) > _MOST_LINKS:
            raise InputError(
                f"{where}, links.pairs[{index}]",
                f"more than {_MOST_LINKS} links between members; expected fewer. Lower the counts.",
            )
        for source in sources:
            for target in targets:
                if source != target:
                    pairs[source, target] = LinkPair(source=source, target=target, link=link)
    return Links(default=default, pairs=tuple(pairs.values()))


def _rules(part: RulesPart, members: Mapping[str, tuple[str, ...]], blocks: int, where: str) -> Rules:
    for index, (block, _) in enumerate(part.pin):
        if block >= blocks:
            raise InputError(
                f"{where}, rules.pin[{index}]", f"block {block} is not there; expected 0 to {blocks - 1}. Correct it."
            )
    return Rules(
        pins=tuple(
            (block, single(node, members, f"{where}, rules.pin[{index}]"))
            for index, (block, node) in enumerate(part.pin)
        ),
        first=None if part.first is None else single(part.first, members, f"{where}, rules.first"),
        last=None if part.last is None else single(part.last, members, f"{where}, rules.last"),
        order=distinct(
            tuple(single(node, members, f"{where}, rules.order[{index}]") for index, node in enumerate(part.order)),
            "node",
            f"{where}, rules.order",
        ),
        exclude=tuple(
            name
            for index, node in enumerate(part.exclude)
            for name in named(node, members, f"{where}, rules.exclude[{index}]")
        ),
        max_nodes=part.max_nodes,
        min_blocks=part.min_blocks or 1,
        apart=part.apart,
        replicas=part.replicas,
    )
