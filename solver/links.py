"""Links between nodes: how long a hop takes, and which nodes they tell apart."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Link", "LinkPair", "Links", "link_signatures"]


@dataclass(frozen=True, slots=True)
class Link:
    """How long a hop takes beside its transfer, and how fast the transfer is; a rate of None adds no term."""

    latency_ns: int
    bytes_per_second: int | None
    forbidden: bool


@dataclass(frozen=True, slots=True)
class LinkPair:
    """A link from one node to another that overrides the default in that direction."""

    source: str
    target: str
    link: Link


@dataclass(frozen=True, slots=True)
class Links:
    """The default link and the directed pairs that differ from it."""

    default: Link
    pairs: tuple[LinkPair, ...]


def link_signatures(links: Links) -> dict[str, frozenset[tuple[str, str, Link]]]:
    """Return, for every node with a link of its own, the set that must be equal for two nodes to be exchangeable."""
    signatures: dict[str, set[tuple[str, str, Link]]] = {}
    for pair in links.pairs:
        signatures.setdefault(pair.source, set()).add(("to", pair.target, pair.link))
        signatures.setdefault(pair.target, set()).add(("from", pair.source, pair.link))
    return {name: frozenset(signature) for name, signature in signatures.items()}
