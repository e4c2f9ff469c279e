"""Helix's clusters, tables and published layouts (Thesys-lab/Helix-ASPLOS25 at 148b733, Apache-2.0).

    instance = read_instance(folder / "helix", "cluster24_llama70b")
    layout = read_layout(folder / "helix" / "solutions" / "cluster24_llama70b_ilp_sol.ini")
    flow(instance, layout)                                  # benchmarks.public.helix_referee: tokens a second

What an instance says is read from the mixed-integer program that its authors handed to their solver, since only that
holds their tokens a second. Everything there is a decimal number and is kept as the fraction that it writes.

Units. Throughput of nodes and links is in tokens a second, in a steady flow; a node's table runs over the number of
layers that it holds, and is not monotone. A link's tokens are its bandwidth over the bytes of an fp16 activation: their
"1000 * mbps" becomes 10^9 bytes a second there (75,120 tokens of 13,312 bytes), eight times what the letters say, and
their "10 * mbps" 10^7 (610 tokens of 16,384 bytes). The ends of a request are token numbers of 2 bytes: 5 * 10^8 a
second. The coordinator itself has no limit beyond its links.

Partial inference (a node that takes over within another's run) is not part of any of the stored programs: a link
carries tokens only where one run ends and the other begins.
"""

from __future__ import annotations

import re
from collections import Counter
from configparser import ConfigParser
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from benchmarks.public.folder import PublicDataError
from benchmarks.public.plain import NO_ENDS, joined, read_text
from solver.problem import Block, Link, LinkPair, Links, Node

if TYPE_CHECKING:
    from pathlib import Path

    from solver.problem import Placement, Problem

__all__ = [
    "CLUSTERS",
    "PUBLISHED",
    "HelixInstance",
    "HelixLink",
    "HelixNode",
    "HelixRun",
    "Layout",
    "PublishedLayout",
    "ceiling",
    "chain_problem",
    "layout_of",
    "read_instance",
    "read_layout",
]


@dataclass(frozen=True, slots=True)
class HelixNode:
    """A machine. `tokens_per_second[k - 1]` is its rate while it holds k layers; the table ends at the most it can."""

    kind: str
    tokens_per_second: tuple[Fraction, ...]

    @property
    def max_layers(self) -> int:
        """Return the most layers that the machine holds."""
        return len(self.tokens_per_second)


@dataclass(frozen=True, slots=True)
class HelixLink:
    """A directed link. None in place of a node is the coordinator: requests leave it and come back to it."""

    source: int | None
    target: int | None
    tokens_per_second: Fraction


@dataclass(frozen=True, slots=True)
class HelixInstance:
    """Layers 0 … layers - 1, nodes by number, and every link there is (pruned programs lack some)."""

    name: str
    layers: int
    nodes: tuple[HelixNode, ...]
    links: tuple[HelixLink, ...]


@dataclass(frozen=True, slots=True)
class HelixRun:
    """Node number `node` holds the half-open run of layers [start, end)."""

    node: int
    start: int
    end: int


# At most one run a node; several nodes may hold the same run, and a node may hold none.
Layout = tuple[HelixRun, ...]


@dataclass(frozen=True, slots=True)
class PublishedLayout:
    """A published layout. `tokens_per_second` is what the authors' logs say that it carries, None where none does."""

    instance: str
    solution: str
    method: str
    tokens_per_second: float | None


# Stored program -> file of its cluster.
CLUSTERS = {
    "cluster10_llama30b_quality": "cluster10",
    "cluster24_llama70b": "cluster24",
    "cluster42_llama70b_noprune": "cluster42",
    "cluster42_llama70b_pruned": "cluster42",
    "3cluster24_llama70b_noprune": "3cluster24",
    "3cluster24_llama70b_pruned": "3cluster24",
    "single_a100_llama30b": "single_a100",
    "single_l4_llama30b": "single_l4",
    "single_t4_llama30b": "single_t4",
}
PUBLISHED = (
    PublishedLayout("cluster10_llama30b_quality", "cluster10_llama30b_quality_ilp", "Helix", 286.5874097546),
    PublishedLayout("cluster24_llama70b", "cluster24_llama70b_ilp_sol", "Helix", 1289.555770275),
    PublishedLayout("cluster24_llama70b", "cluster24_llama70b_swarm_sol", "Swarm", 757.853),
    PublishedLayout("cluster24_llama70b", "cluster24_llama70b_petals_sol", "Petals", None),
    PublishedLayout("cluster42_llama70b_noprune", "cluster42_llama70b_ilp_sol", "Helix", 4137.547585398),
    PublishedLayout("cluster42_llama70b_noprune", "cluster42_llama70b_swarm_sol", "Swarm", 4892.242432209),
    PublishedLayout("cluster42_llama70b_noprune", "cluster42_llama70b_petals_sol", "Petals", None),
    PublishedLayout("3cluster24_llama70b_noprune", "3cluster24_llama70b_ilp_sol", "Helix", 1212.176848723),
    PublishedLayout("3cluster24_llama70b_noprune", "3cluster24_llama70b_swarm_sol", "Swarm", None),
    PublishedLayout("3cluster24_llama70b_noprune", "3cluster24_llama70b_petals_sol", "Petals", None),
)

# Bytes of a token, so that a link's fraction of tokens a second is a whole number of bytes to six digits.
_SCALE = 10**6
_NUMBER = r"(\d+(?:\.\d*)?(?:e[+-]?\d+)?)"
_ROW = re.compile(r"^ ?([a-z]\w*): (.*)$")
_END_ROW = re.compile(r"end_constraint_\d+")
_RATE_ROW = re.compile(r"node_throughput_constraint_(\d+)")
_LINK_ROW = re.compile(r"edge_flow_constr_(source|\d+)_(sink|\d+)")
_RATE = re.compile(rf"- (?:{_NUMBER} )?hold_(\d+)_(\d+)\b")
_CAPACITY = re.compile(rf"- (?:{_NUMBER} )?switch_")
# What a program without partial inference is made of.
_KNOWN_ROWS = re.compile(
    r"(hold|end|node_flow|node_throughput)_constraint_\d+|edge_flow_constr_\w+|edge_(disable|enable)_constr[12]?_\w+"
)


def read_instance(folder: Path, name: str) -> HelixInstance:
    """Return the instance of a stored program; `folder` is that of Helix, `name` one of CLUSTERS.

    Raises:
        PublicDataError: a file is not there, or the program has rows of another formulation.
    """
    rows = _rows(folder / "lp" / f"{name}.lp")
    ends = {_right_side(text) for row, text in rows.items() if _END_ROW.fullmatch(row)}
    if len(ends) != 1:
        raise PublicDataError(f"{name}: end constraints end at {sorted(ends)}; expected one number of layers.")
    tables = {
        int(found[1]): _table(name, int(found[1]), text)
        for row, text in rows.items()
        if (found := _RATE_ROW.fullmatch(row))
    }
    kinds = _kinds(folder / "clusters" / f"{CLUSTERS[name]}.ini")
    if sorted(tables) != list(range(len(kinds))):
        raise PublicDataError(f"{name}: rates of nodes {sorted(tables)}; expected {len(kinds)} as in the cluster file.")
    nodes = tuple(HelixNode(kind, tables[number]) for number, kind in enumerate(kinds))
    links = tuple(_link(found, text) for row, text in rows.items() if (found := _LINK_ROW.fullmatch(row)))
    return HelixInstance(name, int(ends.pop()), nodes, links)


def read_layout(path: Path) -> Layout:
    """Return a published layout; node 0 is the file's compute node `offset`.

    Raises:
        PublicDataError: the file is not there, or a node's layers are no run.
    """
    parser = _parsed(path)
    offset = parser.getint("Settings", "offset")
    runs = []
    for name, listed in parser.items("Solution"):
        layers = [int(digits) for digits in re.findall(r"\d+", listed)]
        if layers != list(range(layers[0], layers[-1] + 1)):
            raise PublicDataError(f"{path.name}, {name}: layers {listed}; expected one run without gaps.")
        runs.append(HelixRun(int(name.rpartition("_")[2]) - offset, layers[0], layers[-1] + 1))
    return tuple(runs)


def ceiling(instance: HelixInstance) -> Fraction:
    """Return tokens a second that no layout exceeds, replicas and any order allowed, links left out.

    Every token passes every layer, and a node that holds k layers passes at most its rate of tokens through k of them.
    """
    best = (max(k * rate for k, rate in enumerate(node.tokens_per_second, 1)) for node in instance.nodes)
    return sum(best, Fraction(0)) / instance.layers


def chain_problem(instance: HelixInstance) -> Problem:
    """Return the question for one chain: each stage on one node, no replicas.

    A layer takes 1 byte and a node has room for as many as its table has, so memory is theirs. Times are rounded up to
    nanoseconds: throughput, the inverse of the slowest stage or transfer, is their flow to some 10^-6.

    Raises:
        PublicDataError: two nodes have no link, as in pruned programs.
    """
    names = [f"node {number}" for number in range(len(instance.nodes))]
    links = {
        (names[link.source], names[link.target]): Link(0, int(link.tokens_per_second * _SCALE), forbidden=False)
        for link in instance.links
        if link.source is not None and link.target is not None
    }
    if len(links) != len(names) * (len(names) - 1):
        raise PublicDataError(f"{instance.name}: {len(links)} links between nodes; expected one for every pair.")
    # Where links are alike, nodes of a kind are interchangeable; listing them all would hide it.
    ((usual, _),) = Counter(links.values()).most_common(1)
    pairs = tuple(LinkPair(*ends, link) for ends, link in links.items() if link != usual)
    return joined(
        (Block(1, 0, 1, None, 0),) * instance.layers,
        NO_ENDS,
        tuple(
            Node(name, node.max_layers, None, tuple(ceil(10**9 / rate) for rate in node.tokens_per_second))
            for name, node in zip(names, instance.nodes, strict=True)
        ),
        Links(usual, pairs),
        activation_bytes=_SCALE,
        context_tokens=None,
    )


def layout_of(placement: Placement) -> Layout:
    """Return a placement of `chain_problem` as a layout."""
    return tuple(HelixRun(int(stage.node.split()[1]), stage.start, stage.end) for stage in placement.stages)


def _rows(path: Path) -> dict[str, str]:
    """Return the text of every constraint under its name, on one line each."""
    rows: dict[str, list[str]] = {}
    name = None
    for line in read_text(path).partition("Subject To\n")[2].partition("\nBounds")[0].splitlines():
        begins = _ROW.match(line)
        if begins:
            name = begins[1]
            if not _KNOWN_ROWS.fullmatch(name):
                raise PublicDataError(f"{path.name}: a constraint {name!r}; expected those without partial inference.")
            rows[name] = [begins[2]]
        elif name is not None:
            rows[name].append(line)
    return {name: " ".join(" ".join(lines).split()) for name, lines in rows.items()}


def _right_side(text: str) -> str:
    return text.rpartition("<= ")[2]


def _table(name: str, node: int, text: str) -> tuple[Fraction, ...]:
    rates = {int(layers): Fraction(rate or 1) for rate, owner, layers in _RATE.findall(text) if int(owner) == node}
    if sorted(rates) != list(range(1, len(rates) + 1)):
        raise PublicDataError(f"{name}, node {node}: rates for {sorted(rates)} layers; expected 1, 2, … without gaps.")
    return tuple(rates[layers] for layers in sorted(rates))


def _link(found: re.Match[str], text: str) -> HelixLink:
    source, target = found[1], found[2]
    capacity = _CAPACITY.search(text)
    assert capacity is not None, text
    return HelixLink(
        None if source == "source" else int(source),
        None if target == "sink" else int(target),
        Fraction(capacity[1] or 1),
    )


def _kinds(path: Path) -> tuple[str, ...]:
    parser = _parsed(path)
    count = parser.getint("NodeNames", "total_compute_nodes")
    return tuple(parser.get(f"ComputeNode-{number}", "type") for number in range(count))


def _parsed(path: Path) -> ConfigParser:
    parser = ConfigParser()
    parser.read_string(read_text(path), source=path.name)
    return parser
