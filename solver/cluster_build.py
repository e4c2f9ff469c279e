"""Checked tables of a cluster file to a Cluster: counts written out, reserves filled in, links between members."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from solver.cluster import Cluster, ClusterLink, ClusterNode, GpuGroup, Inside, Reserve
from solver.cluster_values import PairLatency
from solver.errors import InputError
from solver.wording import quoted
from tensors.units import GIB, format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.cluster_schema import (
        ClusterTable,
        GpuReserveTable,
        GpuTable,
        InsideTable,
        LinksTable,
        NodeTable,
        PairTable,
        ReserveTable,
    )

__all__ = ["GPU_RESERVE", "HOST_RESERVE", "build_cluster"]

HOST_RESERVE = Reserve(fraction=Fraction(1, 5), floor_bytes=8 * GIB)
"""What stays free of a host's or a unified memory where nobody says otherwise: a policy, not a measurement."""

GPU_RESERVE = Reserve(fraction=Fraction(1, 10), floor_bytes=0)
"""The same for the memory of a discrete card."""

_MOST_NODES = 1000
_MOST_LINKS = 100_000


def build_cluster(table: ClusterTable, where: str) -> Cluster:
    """Return the cluster of a checked file; `where` names the file in errors.

    Raises:
        InputError: two fields contradict each other, a name is taken or unknown, or there is no node.
    """
    if not table.node:
        raise InputError(
            where, 'it lists no node; expected at least one. Add [[node]] with name = "desk" and memory = "64 GiB".'
        )
    members = _members(table.node, where)
    host = _merged(HOST_RESERVE, table.reserve)
    gpu = _merged(GPU_RESERVE, table.reserve.gpu)
    nodes = tuple(
        _node(node, name, host, gpu, f"{where}, node[{index}]")
        for index, node in enumerate(table.node)
        for name in members[node.name]
    )
    _check_head(table.node, where)
    _check_addresses(table.node, where)
    return Cluster(
        nodes=nodes,
        latency_ns=int(table.links.latency or 0),
        bytes_per_second=_integer(table.links.rate),
        links=_links(table.links, members, where),
    )


def _members(nodes: tuple[NodeTable, ...], where: str) -> dict[str, tuple[str, ...]]:
    """Return the names of the nodes that every listed name stands for."""
    members: dict[str, tuple[str, ...]] = {}
    owners: dict[str, int] = {}
    for index, node in enumerate(nodes):
        names = tuple(_numbered(node))
        for name in (node.name, *names):
            if owners.setdefault(str(name), index) != index:
                raise InputError(
                    f"{where}, node[{index}].name",
                    f"{quoted(name)} is also the name of node[{owners[name]}]; expected every node once. Rename one.",
                )
        if len(owners) > 2 * _MOST_NODES or sum(map(len, members.values())) + len(names) > _MOST_NODES:
            raise InputError(
                f"{where}, node[{index}]", f"these are more than {_MOST_NODES} nodes; expected fewer. Lower the counts."
            )
        members[str(node.name)] = names
    return members


def _numbered(node: NodeTable) -> Iterator[str]:
    if node.count is None or node.count == 1:
        yield str(node.name)
    else:
        yield from (f"{node.name}-{number}" for number in range(1, node.count + 1))


def _node(node: NodeTable, name: str, host: Reserve, gpu: Reserve, where: str) -> ClusterNode:
    for key, limit in (("ceiling", node.ceiling), ("free", node.free)):
        if limit is not None and limit > node.memory:
            raise InputError(
                f"{where}.{key}",
                f"{format_bytes(limit)} is above the memory of {format_bytes(node.memory)}; "
                "expected a part of it. Lower it.",
            )
    if node.address is not None and node.count is not None and node.count > 1:
        raise InputError(
            f"{where}.address",
            f"{quoted(node.address)} would be the address of {node.count} nodes; expected one each. List each.",
        )
    cards = _merged(gpu, node.reserve.gpu)
    return ClusterNode(
        name=name,
        memory_bytes=int(node.memory),
        unified=node.unified,
        ceiling_bytes=_integer(node.ceiling),
        reserve=_merged(host, node.reserve),
        bytes_per_second=_integer(node.bandwidth),
        fabric=_string(node.fabric),
        cpu=node.cpu,
        free_bytes=_integer(node.free),
        gpus=tuple(
            _gpu(group, cards, f"{where}.gpu[{index}]", unified=node.unified) for index, group in enumerate(node.gpu)
        ),
        address=_string(node.address),
        rpc_port=_integer(node.rpc_port),
        head=node.head,
        model_path=_string(node.model_path),
        inside=_inside(node.inside),
    )


def _inside(table: InsideTable | None) -> Inside | None:
    return None if table is None else Inside(int(table.latency or 0), _integer(table.rate))


def _gpu(group: GpuTable, reserve: Reserve, where: str, *, unified: bool) -> GpuGroup:
    memory_bytes = int(group.memory or 0)
    if unified and memory_bytes:
        raise InputError(
            f"{where}.memory",
            f"{format_bytes(memory_bytes)} of its own would count the node's unified memory twice; expected none. "
            "Remove it, or remove unified = true.",
        )
    if not unified and not memory_bytes:
        raise InputError(
            f"{where}.memory", 'it is missing or 0; expected the memory of one card. Add memory = "24 GiB".'
        )
    count = 1 if group.count is None else int(group.count)
    if group.free_count is not None and group.free_count > count:
        raise InputError(
            f"{where}.free_count", f"{group.free_count} of {count} cards are free; expected no more than all. Lower it."
        )
    return GpuGroup(
        label=str(group.label),
        memory_bytes=memory_bytes,
        count=count,
        free_count=_integer(group.free_count),
        bytes_per_second=_integer(group.bandwidth),
        device=_string(group.device),
        reserve=reserve,
    )


def _check_head(nodes: tuple[NodeTable, ...], where: str) -> None:
    heads = [index for index, node in enumerate(nodes) if node.head]
    if len(heads) > 1:
        raise InputError(
            f"{where}, node[{heads[1]}].head", f"node[{heads[0]}] is the head already; expected one. Remove one."
        )
    if heads and (nodes[heads[0]].count or 1) > 1:
        raise InputError(
            f"{where}, node[{heads[0]}].head",
            f"{nodes[heads[0]].count} nodes would be the head; expected one. List it alone.",
        )


def _check_addresses(nodes: tuple[NodeTable, ...], where: str) -> None:
    """Refuse an address that stands twice: the memories of one machine would be counted twice."""
    owners: dict[str, int] = {}
    for index, node in enumerate(nodes):
        if node.address is None:
            continue
        address = str(node.address).lower()
        if owners.setdefault(address, index) != index:
            raise InputError(
                f"{where}, node[{index}].address",
                f"{quoted(node.address)} is also the address of node[{owners[address]}], and one machine would be "
                "counted twice; expected every machine once. List all its devices in one node.",
            )


def _links(links: LinksTable, members: dict[str, tuple[str, ...]], where: str) -> tuple[ClusterLink, ...]:
    found: dict[tuple[str, str], tuple[int, ClusterLink]] = {}
    for index, pair in enumerate(links.pair):
        place = f"{where}, links.pair[{index}]"
        for source, target in _directions(pair, members, place):
            earlier, _ = found.setdefault((source, target), (index, _link(pair, links, source, target, place)))
            if earlier != index:
                raise InputError(
                    place,
                    f"links.pair[{earlier}] says already how {quoted(source)} reaches {quoted(target)}; "
                    "expected every direction once. Remove one.",
                )
        if len(found) > _MOST_LINKS:
            raise InputError(
                place, f"these are more than {_MOST_LINKS} links; expected fewer. Use latency and rate of [links]."
            )
    return tuple(link for _, link in found.values())


def _directions(pair: PairTable, members: dict[str, tuple[str, ...]], where: str) -> Iterator[tuple[str, str]]:
    """Yield (source, target) of every link that a pair stands for, both ways where it says so."""
    sources = _named(pair.source, members, f"{where}.from")
    targets = _named(pair.target, members, f"{where}.to")
    if sources == targets and len(sources) == 1:
        raise InputError(f"{where}.to", f"{quoted(pair.target)} is where it starts; expected another node. Correct it.")
    for source in sources:
        for target in targets:
            if source != target:
                yield source, target
                # Among the members of one counted name both directions come by themselves.
                if pair.both and sources != targets:
                    yield target, source


def _named(name: str, members: dict[str, tuple[str, ...]], where: str) -> tuple[str, ...]:
    if name in members:
        return members[name]
    if any(name in names for names in members.values()):
        return (str(name),)
    listed = ", ".join(members) if len(members) <= 8 else f"{', '.join(list(members)[:8])} …"  # noqa: PLR2004 - one line
    raise InputError(where, f"no node is called {quoted(name)}; expected one of {listed}. Correct the name.")


def _link(pair: PairTable, links: LinksTable, source: str, target: str, where: str) -> ClusterLink:
    forbidden = pair.latency == PairLatency.FORBIDDEN
    if forbidden and pair.rate is not None:
        raise InputError(f"{where}.rate", "a forbidden link carries nothing; expected no rate. Remove it.")
    latency = links.latency if pair.latency is None else pair.latency
    rate = links.rate if pair.rate is None else pair.rate
    return ClusterLink(
        source=source,
        target=target,
        latency_ns=0 if forbidden else int(latency or 0),
        bytes_per_second=None if forbidden else _integer(rate),
        forbidden=forbidden,
    )


def _merged(reserve: Reserve, own: ReserveTable | GpuReserveTable) -> Reserve:
    """Return a reserve with the parts replaced that a table names."""
    return Reserve(
        fraction=reserve.fraction if own.fraction is None else Fraction(own.fraction),
        floor_bytes=reserve.floor_bytes if own.floor is None else int(own.floor),
    )


def _integer(value: int | None) -> int | None:
    return None if value is None else int(value)


def _string(value: str | None) -> str | None:
    return None if value is None else str(value)
