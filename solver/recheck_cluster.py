"""Whether a plan's problem is one of its cluster: devices, budgets, memories, rates and links, built again from it.

What an engine takes of a memory beside stages follows from the model, which is not at hand here: of an engine's plan,
budgets are held to be no more than reserves and ceilings leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.engines.devices import DeviceName, cluster_links, device_links
from solver.engines.seating import Kind, host_pool_of, sites_of
from solver.engines.servers.cards import rank_devices
from solver.errors import InputError
from solver.finding import Finding
from solver.wording import exact_size
from solver.workload import EngineName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.cluster import Cluster
    from solver.engines.seating import Site
    from solver.problem import Link, Node, Problem

__all__ = ["cluster_findings"]

_PLACE = "inputs.cluster"
_SERVERS = (EngineName.VLLM, EngineName.SGLANG)


@dataclass(frozen=True, slots=True)
class _Device:
    """A device as the cluster has it: the most that it may take, its rate, and what it may leave experts in."""

    budget_bytes: int
    bytes_per_second: int | None
    pools: tuple[str, ...]
    host_pool: str | None
    host_bytes_per_second: int | None


def cluster_findings(
    problem: Problem, cluster: Cluster, engine: str | None, width: int, excluded: frozenset[str]
) -> Iterator[Finding]:
    """Yield where a problem is not one of a cluster; `width` is that of ranks, `excluded` what takes no part."""
    exact = engine in (None, EngineName.GENERIC)
    sites = sites_of(cluster, frozenset())
    devices = _of_ranks(cluster, width) if engine in _SERVERS else _of_sites(problem, sites, exact=exact)
    grouped = width != 1 or engine in _SERVERS or any(len(node.pools) > 1 for node in problem.nodes)
    if not grouped:
        yield from _missing(problem, sites, excluded)
    for node in problem.nodes:
        device = devices.get(node.name)
        if device is None:
            yield Finding(_PLACE, f"{node.name} of inputs.problem is no device of it")
            continue
        yield from _budget(node.name, node.budget_bytes, device.budget_bytes, exact=exact)
        yield from _rate(node.name, node.bytes_per_second, device.bytes_per_second)
        if node.draws is not None:
            yield from _draws(node, device, exact=exact)
    yield from _pools(problem, cluster, sites, exact=exact)
    yield from _links(problem, cluster)


def _of_sites(problem: Problem, sites: tuple[Site, ...], *, exact: bool) -> dict[str, _Device]:
    """Return the single devices of a cluster by name, and the groups of cards that a problem has.

    An engine counts what it holds itself in the memory of a host, whether or not anything else may be left there.
    """
    moves = problem.may_offload
    found = {}
    by_pool = {site.pool: site for site in sites if site.kind is Kind.CARD}
    for site in sites:
        leaves = site.kind is Kind.CARD and (not exact or (moves and site.machine.pool_budget_bytes > 0))
        found[site.node] = _Device(
            site.budget_bytes,
            site.bytes_per_second,
            (site.pool,),
            host_pool_of(site.machine) if leaves else None,
            site.machine.bytes_per_second if leaves else None,
        )
    for node in problem.nodes:
        cards = [by_pool[pool] for pool in node.pools if pool in by_pool]
        if len(cards) == len(node.pools) > 1 and len({(card.machine.name, id(card.group)) for card in cards}) == 1:
            first = found[cards[0].node]
            found[node.name] = _Device(
                first.budget_bytes, first.bytes_per_second, node.pools, first.host_pool, first.host_bytes_per_second
            )
    return found


def _of_ranks(cluster: Cluster, width: int) -> dict[str, _Device]:
    """Return the ranks of a cluster by name; what an engine is told to take is rounded up to a byte of each card."""
    try:
        ranks, _ = rank_devices(cluster, width, frozenset())
    except InputError:
        return {}
    return {
        rank.name: _Device(
            (rank.allowed_bytes + 1) * rank.width,
            None if rank.bytes_per_second is None else rank.bytes_per_second * rank.width,
            rank.cards,
            None,
            None,
        )
        for rank in ranks
    }


def _missing(problem: Problem, sites: tuple[Site, ...], excluded: frozenset[str]) -> Iterator[Finding]:
    """Yield the devices that no stage could be on and that nobody excluded."""
    for site in sites:
        if site.node not in problem.nodes_by_name and excluded.isdisjoint((site.node, site.machine.name)):
            yield Finding(_PLACE, f"its device {site.node} is none of inputs.problem")


def _budget(name: str, there: int, proper: int, *, exact: bool) -> Iterator[Finding]:
    if there > proper or (exact and there != proper):
        most = "" if exact else "at most "
        yield Finding(_PLACE, f"{name} may take {most}{exact_size(proper)}, and inputs.problem has {exact_size(there)}")


def _rate(name: str, there: int | None, proper: int | None) -> Iterator[Finding]:
    if there != proper:
        yield Finding(_PLACE, f"{name} reads at {_shown(proper)}, and in inputs.problem at {_shown(there)}")


def _shown(rate: int | None) -> str:
    return "a rate not known" if rate is None else f"{rate:,} bytes/s"


def _draws(node: Node, device: _Device, *, exact: bool) -> Iterator[Finding]:
    if node.pools != device.pools:
        yield Finding(
            _PLACE, f"{node.name} is in {', '.join(device.pools)}, in inputs.problem in {', '.join(node.pools)}"
        )
    draws = node.draws
    if draws is None:
        return
    if draws.host_pool != device.host_pool and (exact or draws.host_pool is not None):
        there, proper = draws.host_pool or "nowhere", device.host_pool or "nowhere"
        yield Finding(_PLACE, f"{node.name} may leave experts {_in(proper)}, in inputs.problem {_in(there)}")
    elif draws.host_pool is not None:
        yield from _rate(draws.host_pool, draws.host_bytes_per_second, device.host_bytes_per_second)


def _in(pool: str) -> str:
    return pool if pool == "nowhere" else f"in {pool}"


def _pools(problem: Problem, cluster: Cluster, sites: tuple[Site, ...], *, exact: bool) -> Iterator[Finding]:
    budgets = {site.pool: site.budget_bytes for site in sites if site.kind is Kind.CARD}
    for node in cluster.nodes:
        name = f"{node.name}/unified" if node.unified else host_pool_of(node)
        budgets[name] = max(node.pool_budget_bytes, 0)
    for pool in problem.pools:
        if pool.name in budgets:
            yield from _budget(f"the memory {pool.name}", pool.budget_bytes, budgets[pool.name], exact=exact)
        else:
            yield Finding(_PLACE, f"the memory {pool.name} of inputs.problem is none of it")


def _links(problem: Problem, cluster: Cluster) -> Iterator[Finding]:
    """Yield the first link that is another one; an engine may bar links of its own."""
    devices = [DeviceName(node.name, node.machine or node.name) for node in problem.nodes]
    proper = cluster_links(cluster) if problem.is_plain else device_links(cluster, devices)
    known = {(pair.source, pair.target): pair.link for pair in proper.pairs}
    said = {(pair.source, pair.target): pair.link for pair in problem.links.pairs}
    if proper.default != problem.links.default:
        yield Finding(_PLACE, f"links are {_link(proper.default)}, in inputs.problem {_link(problem.links.default)}")
        return
    for pair in {**known, **said}:
        link, there = known.get(pair, proper.default), said.get(pair, proper.default)
        if link != there and not (there.forbidden and not problem.is_plain):
            yield Finding(
                _PLACE, f"the link from {pair[0]} to {pair[1]} is {_link(link)}, in inputs.problem {_link(there)}"
            )
            return


def _link(link: Link) -> str:
    if link.forbidden:
        return "forbidden"
    rate = "no rate" if link.bytes_per_second is None else f"{link.bytes_per_second:,} bytes/s"
    return f"of {link.latency_ns:,} ns and {rate}"
