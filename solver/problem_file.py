"""The abstract problem as a JSON document (`layerfit/problem/1`): read, checked and written.

Absent keys are optional by the document's own rule: `active_bytes` is then weight + cache, counts are 1, the rest null
or 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from solver.errors import InputError
from solver.problem import Block, Ends, Link, LinkPair, Links, Node, Problem, Rules
from solver.wording import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["SCHEMA", "checked", "problem_from_bytes", "problem_from_document", "problem_to_document", "read_problem"]

SCHEMA = "layerfit/problem/1"

# Sums of this many bytes still fit 64-bit arithmetic with room for differences and gcd scaling.
_LARGEST_TOTAL = 2**61
_MOST_NODES = 100_000
# Two counted names give count × count links: a short document could ask for billions.
_MOST_LINKS = 250_000

_LONGEST_PROBLEM = 200

_Amount = Annotated[int, msgspec.Meta(ge=0, le=2**60)]
_Count = Annotated[int, msgspec.Meta(ge=1, le=_MOST_NODES)]
_Rate = Annotated[int, msgspec.Meta(ge=1, le=2**60)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class _Strict(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A part of the document; unknown keys are refused with their path."""


class _BlockPart(_Strict, frozen=True):
    weight_bytes: _Amount
    cache_bytes: _Amount = 0
    active_bytes: _Amount | None = None
    cache_bytes_per_token: _Amount | None = None
    cache_fixed_bytes: _Amount | None = None


class _NodePart(_Strict, frozen=True):
    name: _Name
    budget_bytes: _Amount
    bytes_per_second: _Rate | None = None
    stage_ns: tuple[_Amount, ...] | None = None
    count: _Count = 1


class _LinkPart(_Strict, frozen=True):
    latency_ns: _Amount = 0
    bytes_per_second: _Rate | None = None


class _PairPart(_Strict, frozen=True, rename={"source": "from", "target": "to"}):
    source: _Name
    target: _Name
    latency_ns: _Amount | None = None
    bytes_per_second: _Rate | None = None
    forbidden: bool = False


class _LinksPart(_Strict, frozen=True):
    default: _LinkPart = _LinkPart()
    pairs: tuple[_PairPart, ...] = ()


class _RulesPart(_Strict, frozen=True):
    pin: tuple[tuple[_Amount, _Name], ...] = ()
    first: _Name | None = None
    last: _Name | None = None
    order: tuple[_Name, ...] = ()
    exclude: tuple[_Name, ...] = ()
    max_nodes: _Count | None = None
    min_blocks: _Count | None = None


class _Document(_Strict, frozen=True):
    schema: str
    blocks: Annotated[tuple[_BlockPart, ...], msgspec.Meta(min_length=1, max_length=100_000)]
    nodes: Annotated[tuple[_NodePart, ...], msgspec.Meta(min_length=1, max_length=_MOST_NODES)]
    input_bytes: _Amount | None = None
    output_bytes: _Amount | None = None
    tied_bytes: _Amount | None = None
    host_bytes: _Amount | None = None
    activation_bytes: _Amount | None = None
    context_tokens: _Amount | None = None
    links: _LinksPart = _LinksPart()
    rules: _RulesPart = _RulesPart()


def read_problem(path: Path) -> Problem:
    """Return the problem in a JSON file.

    Raises:
        InputError: the file cannot be read, is no JSON, or breaks the document's rules; the message names the path.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            path.name, f"{error.strerror or error}; expected a {SCHEMA} document. Check the path."
        ) from None
    return problem_from_bytes(content, path.name)


def problem_from_bytes(content: bytes, where: str) -> Problem:
    """Return the problem in JSON text; `where` names its origin in errors.

    Raises:
        InputError: as for `read_problem`.
    """
    try:
        document = msgspec.json.decode(content, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(where, _sentence(str(error))) from None
    return _build(document, where)


def problem_from_document(document: Mapping[str, Any], where: str) -> Problem:
    """Return the problem in a decoded document.

    Raises:
        InputError: as for `read_problem`.
    """
    try:
        return _build(msgspec.convert(document, type=_Document), where)
    except msgspec.ValidationError as error:
        raise InputError(where, _sentence(str(error))) from None


def checked(problem: Problem, where: str) -> Problem:
    """Return the problem if its rules and sizes can be meant: names that exist, blocks in range, sums in bounds.

    Raises:
        InputError: as for `read_problem`.
    """
    return problem_from_document(problem_to_document(problem), where)


def problem_to_document(problem: Problem) -> dict[str, Any]:
    """Return the document of a problem, counts expanded: the same problem always gives the same document."""
    ends, rules = problem.ends, problem.rules
    return {
        "schema": SCHEMA,
        "input_bytes": ends.input_bytes,
        "output_bytes": ends.output_bytes,
        "tied_bytes": ends.tied_bytes,
        "host_bytes": ends.host_bytes,
        "activation_bytes": problem.activation_bytes,
        "context_tokens": problem.context_tokens,
        "blocks": [_block_document(block) for block in problem.blocks],
        "nodes": [
            {
                "name": node.name,
                "budget_bytes": node.budget_bytes,
                "bytes_per_second": node.bytes_per_second,
                "stage_ns": None if node.stage_ns is None else list(node.stage_ns),
                "count": 1,
            }
            for node in problem.nodes
        ],
        "links": {
            "default": {
                "latency_ns": problem.links.default.latency_ns,
                "bytes_per_second": problem.links.default.bytes_per_second,
            },
            "pairs": [
                {
                    "from": pair.source,
                    "to": pair.target,
                    "latency_ns": pair.link.latency_ns,
                    "bytes_per_second": pair.link.bytes_per_second,
                    "forbidden": pair.link.forbidden,
                }
                for pair in problem.links.pairs
            ],
        },
        "rules": {
            "pin": [[block, node] for block, node in rules.pins],
            "first": rules.first,
            "last": rules.last,
            "order": list(rules.order),
            "exclude": list(rules.exclude),
            "max_nodes": rules.max_nodes,
            "min_blocks": rules.min_blocks,
        },
    }


def _block_document(block: Block) -> dict[str, int | None]:
    return {
        "weight_bytes": block.weight_bytes,
        "cache_bytes": block.cache_bytes,
        "active_bytes": block.active_bytes,
        "cache_bytes_per_token": block.cache_bytes_per_token,
        "cache_fixed_bytes": block.cache_fixed_bytes,
    }


def _build(document: _Document, where: str) -> Problem:
    if document.schema != SCHEMA:
        raise InputError(f"{where}, schema", f'"{document.schema[:60]}" is not read; expected "{SCHEMA}". Convert it.')
    members = _members(document.nodes, where)
    problem = Problem(
        blocks=tuple(_block(part) for part in document.blocks),
        ends=Ends(
            input_bytes=document.input_bytes or 0,
            output_bytes=document.output_bytes or 0,
            tied_bytes=document.tied_bytes or 0,
            host_bytes=document.host_bytes or 0,
        ),
        nodes=tuple(_node(part, name) for part in document.nodes for name in members[part.name]),
        activation_bytes=document.activation_bytes or 0,
        context_tokens=document.context_tokens,
        links=_links(document.links, members, where),
        rules=_rules(document.rules, members, len(document.blocks), where),
    )
    _check_sizes(problem, where)
    return problem


def _check_sizes(problem: Problem, where: str) -> None:
    if problem.ends.tied_bytes > problem.ends.output_bytes:
        raise InputError(
            f"{where}, tied_bytes",
            f"{problem.ends.tied_bytes} is above output_bytes {problem.ends.output_bytes}; "
            "expected the part of the output that is the input's own tensor. Lower it.",
        )
    if problem.prefix_bytes[-1] > _LARGEST_TOTAL:
        raise InputError(
            f"{where}, blocks",
            f"the sum is {problem.prefix_bytes[-1]} bytes; expected at most 2^61. Give sizes in bytes.",
        )


def _block(part: _BlockPart) -> Block:
    active = part.weight_bytes + part.cache_bytes if part.active_bytes is None else part.active_bytes
    return Block(
        weight_bytes=part.weight_bytes,
        cache_bytes=part.cache_bytes,
        active_bytes=active,
        cache_bytes_per_token=part.cache_bytes_per_token,
        cache_fixed_bytes=part.cache_fixed_bytes or 0,
    )


def _node(part: _NodePart, name: str) -> Node:
    return Node(
        name=name, budget_bytes=part.budget_bytes, bytes_per_second=part.bytes_per_second, stage_ns=part.stage_ns
    )


def _members(parts: tuple[_NodePart, ...], where: str) -> dict[str, tuple[str, ...]]:
    members: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for index, part in enumerate(parts):
        names = (part.name,) if part.count == 1 else tuple(f"{part.name}-{number + 1}" for number in range(part.count))
        for name in (part.name, *names) if part.name not in names else names:
            if name in seen or name in members:
                raise InputError(
                    f"{where}, nodes[{index}].name", f'"{name}" is taken; expected one name a node. Rename one of them.'
                )
        seen.update(names)
        members[part.name] = names
        if len(seen) > _MOST_NODES:
            raise InputError(
                f"{where}, nodes[{index}].count", f"more than {_MOST_NODES} nodes; expected fewer. Lower the counts."
            )
    return members


def _links(part: _LinksPart, members: Mapping[str, tuple[str, ...]], where: str) -> Links:
    default = Link(latency_ns=part.default.latency_ns, bytes_per_second=part.default.bytes_per_second, forbidden=False)
    pairs: dict[tuple[str, str], LinkPair] = {}
    for index, pair in enumerate(part.pairs):
        link = Link(
            latency_ns=default.latency_ns if pair.latency_ns is None else pair.latency_ns,
            bytes_per_second=pair.bytes_per_second,
            forbidden=pair.forbidden,
        )
        sources = _named(pair.source, members, f"{where}, links.pairs[{index}].from")
        targets = _named(pair.target, members, f"{where}, links.pairs[{index}].to")
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


def _rules(part: _RulesPart, members: Mapping[str, tuple[str, ...]], blocks: int, where: str) -> Rules:
    for index, (block, _) in enumerate(part.pin):
        if block >= blocks:
            raise InputError(
                f"{where}, rules.pin[{index}]", f"block {block} is not there; expected 0 to {blocks - 1}. Correct it."
            )
    return Rules(
        pins=tuple(
            (block, _single(node, members, f"{where}, rules.pin[{index}]"))
            for index, (block, node) in enumerate(part.pin)
        ),
        first=None if part.first is None else _single(part.first, members, f"{where}, rules.first"),
        last=None if part.last is None else _single(part.last, members, f"{where}, rules.last"),
        order=_distinct(
            tuple(_single(node, members, f"{where}, rules.order[{index}]") for index, node in enumerate(part.order)),
            f"{where}, rules.order",
        ),
        exclude=tuple(
            name
            for index, node in enumerate(part.exclude)
            for name in _named(node, members, f"{where}, rules.exclude[{index}]")
        ),
        max_nodes=part.max_nodes,
        min_blocks=part.min_blocks or 1,
    )


def _named(name: str, members: Mapping[str, tuple[str, ...]], where: str) -> tuple[str, ...]:
    if name in members:
        return members[name]
    if any(name in names for names in members.values()):
        return (name,)
    raise InputError(where, f'no node is called "{name}"; expected one of {_listed(members)}. Correct the name.')


def _single(name: str, members: Mapping[str, tuple[str, ...]], where: str) -> str:
    names = _named(name, members, where)
    if len(names) > 1:
        raise InputError(where, f'"{name}" is {len(names)} nodes; expected one of them. Write "{names[0]}".')
    return names[0]


def _distinct(names: tuple[str, ...], where: str) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise InputError(where, "a node stands in it twice; expected each once. Remove one.")
    return names


def _listed(names: Iterable[str]) -> str:
    known = [f'"{name}"' for name in names]
    return ", ".join(known[:8]) + (" …" if len(known) > 8 else "")  # noqa: PLR2004 - a line should stay readable


def _sentence(problem: str) -> str:
    """Turn the decoder's message, whose path starts with `$`, into the house form."""
    text, _, path = problem.partition(" - at `")
    where = f" at {path.rstrip('`').removeprefix('$').removeprefix('.') or 'the top'}" if path else ""
    return f"{shortened(text, _LONGEST_PROBLEM)}{where}; expected a {SCHEMA} document. Correct it."
