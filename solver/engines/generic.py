"""The engine that is none in particular: weights and cache are counted, the reserve covers the rest.

Input tensors (and those of no block) load the first stage, head tensors the last; a tied head costs the last stage a
copy of the embedding, paid once where one stage holds both ends. The context is per sequence and nothing is padded.
Cards of one machine are devices of their own. What may stay in their host's memory is decided with all else, and equal
cards may share every block of a stage where that is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.engines.devices import DeviceName, cluster_links, device_links, device_rules
from solver.engines.generic_shapes import placed_blocks, shape_of, without_offload
from solver.engines.groups import Group, groups_of, widths_of
from solver.engines.seating import (
    Kind,
    draws_of,
    host_pool_of,
    pools_of,
    shares_memory,
    sites_of,
)
from solver.engines.servers.sharding import check_width, tied_bytes
from solver.errors import InputError
from solver.pools import Draws
from solver.problem import Node, Problem
from solver.wording import counted, several
from solver.workload import AUTOMATIC_WIDTH, USUAL_CHOICES, Offload
from tensors.inventory import Part
from tensors.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.cluster import Cluster
    from solver.engines.seating import Site
    from solver.engines.servers.build import ServedProblem
    from solver.problem import Rules
    from solver.workload import Choices, Workload
    from tensors.inventory import Inventory

__all__ = ["EnginePlan", "generic", "tied_bytes"]

# Activations cross a seam as 16-bit floats.
_ACTIVATION_VALUE_BYTES = 2


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """A problem as an engine sees it, and notes on what it counts and leaves out.

    `build` is whose rules those are (None for none in particular), `served` what figures of ranks are made from (None
    where there are no ranks).
    """

    problem: Problem
    notes: tuple[str, ...]
    build: str | None
    served: ServedProblem | None


@dataclass(frozen=True, slots=True)
class _Devices:
    """The devices of a problem: single ones, groups with the number of their shape, machines that take what is left."""

    sites: tuple[Site, ...]
    groups: tuple[tuple[Group, int], ...]
    hosts: frozenset[str]

    @property
    def is_plain(self) -> bool:
        """Return whether every machine is one device with one memory."""
        return not self.groups and not self.hosts and all(site.alone for site in self.sites)

    @property
    def sharing(self) -> frozenset[str]:
        """Return the machines some of whose devices draw on memories that others may draw on."""
        return shares_memory(self.sites, self.hosts) | {group.machine.name for group, _ in self.groups}


def generic(
    inventory: Inventory, cluster: Cluster, workload: Workload, rules: Rules, choices: Choices = USUAL_CHOICES
) -> EnginePlan:
    """Return the problem of placing a model on the devices of a cluster.

    Raises:
        ArchitectureError: the cache cannot be sized, and the workload does not give its bytes.
        InputError: the model has no blocks, no machine has cards for a width, or cluster and rules contradict.
    """
    if not placed_blocks(inventory, workload):
        raise InputError(
            inventory.name, "it has no numbered blocks; expected a model of layers. Check that it is not an adapter."
        )
    devices, widths = _devices(inventory, cluster, rules, choices)
    shapes = tuple(shape_of(inventory, workload, width, choices.offload) for width in (1, *widths))
    if not devices.hosts:
        shapes = tuple(without_offload(shape) for shape in shapes)
    names = _names(devices)
    plain = devices.is_plain
    problem = Problem(
        blocks=shapes[0].blocks,
        ends=shapes[0].ends,
        nodes=tuple(_nodes(devices)),
        activation_bytes=(inventory.architecture.hidden_size or 0) * _ACTIVATION_VALUE_BYTES,
        context_tokens=workload.context_tokens,
        links=cluster_links(cluster) if plain else device_links(cluster, names),
        rules=rules if plain else device_rules(rules, names, "a stage"),
        pools=pools_of(_drawing(devices), devices.sharing, devices.hosts, lambda _pool: 0),
        shapes=shapes[1:],
    )
    notes = (*_notes(inventory, cluster, workload), *_device_notes(devices, choices, cluster))
    return EnginePlan(problem=problem, notes=notes, build=None, served=None)


def _devices(
    inventory: Inventory, cluster: Cluster, rules: Rules, choices: Choices
) -> tuple[_Devices, tuple[int, ...]]:
    """Return the devices, and the widths of their groups in the order of their shapes."""
    sites = sites_of(cluster, frozenset(rules.exclude))
    if choices.width > 1:
        check_width(inventory, choices.width)
    widths = widths_of(inventory, sites) if choices.width == AUTOMATIC_WIDTH else (choices.width,)
    widths = tuple(width for width in widths if width > 1)
    groups = tuple((group, shape) for shape, width in enumerate(widths, 1) for group in groups_of(sites, width))
    if choices.width > 1 and not groups:
        raise InputError(
            "cluster",
            f"no node has {choices.width} equal cards; expected one that has. List its cards, or lower the width.",
        )
    singles = () if choices.width > 1 else sites
    hosts: frozenset[str] = frozenset()
    if _moves(inventory, choices.offload):
        cards = {site.machine.name: site.machine for site in sites if site.kind is Kind.CARD}
        hosts = frozenset(name for name, machine in cards.items() if machine.pool_budget_bytes > 0)
    devices = _Devices(singles, groups, hosts)
    if devices.is_plain:
        # An excluded machine is shown as such where it is one of the problem's nodes.
        devices = _Devices(sites_of(cluster, frozenset()), (), frozenset())
    return devices, widths


def _moves(inventory: Inventory, offload: Offload) -> bool:
    """Return whether some block has weights that may stay with a host."""
    experts = any(block.expert_bytes for block in inventory.blocks())
    return offload is Offload.FFN or (offload is Offload.EXPERTS and experts)


def _drawing(devices: _Devices) -> tuple[Site, ...]:
    """Return every single device that something draws on the memory of."""
    cards = {card.pool: card for group, _ in devices.groups for card in group.cards}
    return tuple({site.pool + site.node: site for site in (*devices.sites, *cards.values())}.values())


def _names(devices: _Devices) -> tuple[DeviceName, ...]:
    singles = (DeviceName(site.node, site.machine.name) for site in devices.sites)
    return (*singles, *(DeviceName(group.name, group.machine.name) for group, _ in devices.groups))


def _nodes(devices: _Devices) -> Iterator[Node]:
    sharing = devices.sharing
    for site in devices.sites:
        yield Node(
            name=site.node,
            budget_bytes=site.budget_bytes,
            bytes_per_second=site.bytes_per_second,
            stage_ns=None,
            machine=None if site.alone else site.machine.name,
            draws=draws_of(site, devices.hosts) if site.machine.name in sharing else None,
        )
    for group, shape in devices.groups:
        yield _group_node(group, shape, devices.hosts)


def _group_node(group: Group, shape: int, hosts: frozenset[str]) -> Node:
    card, machine = group.cards[0], group.machine
    pools = tuple(each.pool for each in group.cards)
    leaves = machine.name in hosts
    return Node(
        name=group.name,
        budget_bytes=card.budget_bytes,
        bytes_per_second=card.bytes_per_second,
        stage_ns=None,
        machine=machine.name,
        draws=Draws(
            pools=pools,
            cards=pools,
            host_pool=host_pool_of(machine) if leaves else None,
            host_bytes_per_second=machine.bytes_per_second if leaves else None,
            shape=shape,
        ),
    )


def _notes(inventory: Inventory, cluster: Cluster, workload: Workload) -> Iterator[str]:
    yield from inventory.notes
    if inventory.nextn_blocks and not workload.resident_nextn:
        left = inventory.part_bytes(Part.NEXTN)
        yield (
            f"{counted(inventory.nextn_blocks, 'multi-token prediction block')} of {format_bytes(left)} in all "
            "left out: engines skip them unless told otherwise."
        )
    other = inventory.part_bytes(Part.OTHER)
    if other:
        yield f"{format_bytes(other)} of tensors that belong to no block are loaded with the input."
    for node in cluster.nodes:
        if node.budget_bytes <= 0 and (node.cpu or node.unified or not node.gpus):
            yield f"{node.name}: the reserve of {format_bytes(node.reserve_bytes)} leaves nothing; no blocks go there."


def _device_notes(devices: _Devices, choices: Choices, cluster: Cluster) -> Iterator[str]:
    if devices.hosts:
        what = choices.offload.words.capitalize()
        yield f"{what} of a block may stay in the memory of the host that its card stands in."
    if choices.width > 1:
        grouped = {card.pool for group, _ in devices.groups for card in group.cards}
        left = [site.device for site in sites_of(cluster, frozenset()) if site.pool not in grouped]
        if left:
            yield f"Left over from groups of {choices.width} equal cards: {several(left)}."
