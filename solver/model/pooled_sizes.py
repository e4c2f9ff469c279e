"""The numbers of the model of shared memories: what every device takes of what, in integers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

from solver.limits import cap_bytes
from solver.measures import nodes_used

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from solver.limits import Limits
    from solver.problem import Node, Placement, Problem

__all__ = ["Device", "Held", "Loads", "Memories", "Placed", "Sizes", "placed_in", "sizes_of"]


@dataclass(frozen=True, slots=True)
class Loads:
    """What a device takes: `items` of its own memory for each item, less `tied` where it holds all of them.

    `experts` by kind are what an item's experts take, there or in the host memory; `kept` stays with the host of the
    first stage.
    """

    items: tuple[int, ...]
    tied: int
    experts: tuple[int, ...]
    kept: int


@dataclass(frozen=True, slots=True)
class Memories:
    """Loads by device, their caps, and the budgets of shared memories by name, in units of `unit_bytes`."""

    unit_bytes: int
    loads: tuple[Loads, ...]
    caps: tuple[int, ...]
    budgets: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Device:
    """A device that can hold something. `group` and `place` number its class and itself there; `machine` its node."""

    node: Node
    shape: int
    group: int
    place: int
    machine: int

    @property
    def can_leave(self) -> bool:
        """Return whether experts may stay with a host: what has measured times was measured with everything on it."""
        return self.node.host_pool is not None and self.node.stage_ns is None


@dataclass(frozen=True, slots=True)
class Sizes:
    """Devices in the order of their classes, and what they take.

    `kinds` are the items whose experts weigh and read the same on every device; an item without experts is in none.
    `tokens` are the memories with caches of the tokens asked for, None where none are. `twins` are machines that
    nothing tells apart, each as its devices in the same order.
    """

    items: int
    devices: tuple[Device, ...]
    machines: int
    kinds: tuple[tuple[int, ...], ...]
    memory: Memories
    tokens: Memories | None
    twins: tuple[tuple[tuple[int, ...], ...], ...]
    most_machines: int | None


@dataclass(frozen=True, slots=True)
class Held:
    """What a device holds in a placement: items [start, end), and how many of each kind it leaves with its host."""

    start: int
    end: int
    away: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A placement by device: None for one that holds nothing; `order` are the devices that a token passes."""

    placement: Placement
    held: tuple[Held | None, ...]
    order: tuple[int, ...]

    def holds(self, d: int, i: int) -> bool:
        """Return whether device d holds item i."""
        held = self.held[d]
        return held is not None and held.start <= i < held.end

    def begun(self, d: int, i: int) -> bool:
        """Return whether device d holds an item up to i."""
        held = self.held[d]
        return held is not None and held.start <= i

    def end(self, d: int) -> int:
        """Return the end of the stage of device d, 0 where it has none."""
        held = self.held[d]
        return 0 if held is None else held.end


def sizes_of(problem: Problem, limits: Limits) -> Sizes:
    """Return the numbers of the model for a problem within limits."""
    machines: dict[tuple[bool, str], int] = {}
    devices = tuple(
        Device(
            node=node,
            shape=0 if node.draws is None else node.draws.shape,
            group=number,
            place=place,
            machine=machines.setdefault((node.machine is None, node.machine or node.name), len(machines)),
        )
        for number, group in enumerate(problem.classes)
        if cap_bytes(limits, group.budget_bytes) >= 0
        for place, node in enumerate(group.members)
    )
    kinds = _kinds(problem) if any(device.can_leave for device in devices) else ()
    caps = tuple(cap_bytes(limits, device.node.budget_bytes) for device in devices)
    most = [number for number in (problem.rules.max_nodes, limits.max_nodes) if number is not None]
    return Sizes(
        items=len(problem.items),
        devices=devices,
        machines=len(machines),
        kinds=kinds,
        memory=_memories(problem, devices, kinds, caps, None),
        tokens=None
        if limits.min_tokens is None
        else _memories(
            problem, devices, kinds, tuple(device.node.budget_bytes for device in devices), limits.min_tokens
        ),
        twins=tuple(_twins(problem, devices)),
        most_machines=min(most, default=None),
    )


def _kinds(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Return the items with experts, grouped by all that matters of them on devices of every shape."""
    tables = (problem.blocks, *(shape.blocks for shape in problem.shapes))
    kinds: dict[tuple[tuple[int, int, int], ...], list[int]] = {}
    for i in range(len(problem.blocks)):
        parts = tuple((table[i].expert_bytes, table[i].expert_active_bytes, table[i].active_bytes) for table in tables)
        if any(expert_bytes for expert_bytes, _, _ in parts):
            kinds.setdefault(parts, []).append(i)
    return tuple(tuple(items) for items in kinds.values())


def _memories(
    problem: Problem,
    devices: tuple[Device, ...],
    kinds: tuple[tuple[int, ...], ...],
    caps: tuple[int, ...],
    tokens: int | None,
) -> Memories:
    loads = tuple(_loads(problem, device, kinds, tokens) for device in devices)
    unit = gcd(*(amount for load in loads for amount in (*load.items, load.tied, *load.experts, load.kept))) or 1
    return Memories(
        unit_bytes=unit,
        loads=tuple(
            Loads(_divided(load.items, unit), load.tied // unit, _divided(load.experts, unit), load.kept // unit)
            for load in loads
        ),
        # A cap beyond all loads says no more than their sum, and is a smaller number.
        caps=tuple(min(cap // unit, sum(load.items) // unit) for cap, load in zip(caps, loads, strict=True)),
        budgets=tuple((pool.name, pool.budget_bytes // unit) for pool in problem.pools),
    )


def _loads(problem: Problem, device: Device, kinds: tuple[tuple[int, ...], ...], tokens: int | None) -> Loads:
    """Return what a device takes, with the caches of the problem or with those of so many tokens."""
    shape = problem.shape_of(device.node)
    hosted = device.node.host_pool is not None
    items = problem.items_of_shapes[device.shape]
    caches = (
        (item.cache_bytes for item in items)
        if tokens is None
        else (block.cache_fixed_bytes + (block.cache_bytes_per_token or 0) * tokens for block in shape.blocks)
    )
    return Loads(
        items=tuple(
            item.weight_bytes + cache + (0 if hosted else item.other_bytes)
            for item, cache in zip(items, caches, strict=True)
        ),
        tied=shape.ends.tied_bytes,
        experts=tuple(shape.blocks[kind[0]].expert_bytes if device.can_leave else 0 for kind in kinds),
        kept=shape.ends.host_bytes if hosted else 0,
    )


def _divided(amounts: Iterable[int], unit: int) -> tuple[int, ...]:
    return tuple(amount // unit for amount in amounts)


def _twins(problem: Problem, devices: tuple[Device, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield machines of several devices, or of shared memories, that could be exchanged whole."""
    members: dict[int, list[int]] = {}
    for d, device in enumerate(devices):
        if device.node.machine is not None:
            members.setdefault(device.machine, []).append(d)
    alike: dict[tuple[object, ...], list[tuple[int, ...]]] = {}
    for numbers in members.values():
        if problem.rules.named.isdisjoint(devices[d].node.name for d in numbers):
            alike.setdefault(_outline(problem, [devices[d].node for d in numbers]), []).append(tuple(numbers))
    for machines in alike.values():
        exchangeable = [machines[0]]
        exchangeable += [other for other in machines[1:] if _same_links(problem, devices, machines[0], other)]
        if len(exchangeable) > 1:
            yield tuple(exchangeable)


def _outline(problem: Problem, nodes: list[Node]) -> tuple[object, ...]:
    """Return what the devices of a machine are, with pools and cards numbered as they first occur."""
    pools: dict[str | None, int] = {None: 0}
    cards: dict[str, int] = {}
    lines: list[object] = []
    for node in nodes:
        drawn = tuple(pools.setdefault(pool, len(pools)) for pool in node.pools)
        host = pools.setdefault(node.host_pool, len(pools))
        occupied = tuple(cards.setdefault(card, len(cards)) for card in node.cards)
        draws = None if node.draws is None else (node.draws.host_bytes_per_second, node.draws.shape)
        lines.append((node.budget_bytes, node.bytes_per_second, node.stage_ns, drawn, host, occupied, draws))
    budgets = tuple(problem.pools_by_name[pool].budget_bytes for pool in pools if pool is not None)
    return (*lines, budgets)


def _same_links(problem: Problem, devices: tuple[Device, ...], one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether every link stays the same when two machines are exchanged."""
    if not problem.links.pairs:
        return True
    swapped = {**dict(zip(one, other, strict=True)), **dict(zip(other, one, strict=True))}
    names = [device.node.name for device in devices]
    return all(
        problem.link(names[d], names[e]) == problem.link(names[swapped.get(d, d)], names[swapped.get(e, e)])
        for d in range(len(devices))
        for e in range(len(devices))
        if d != e
    )


def placed_in(problem: Problem, sizes: Sizes, placement: Placement) -> Placed | None:
    """Return a placement by device, in the one of its exchangeable forms that the model has; None where it has none."""
    number_of = {device.node.name: d for d, device in enumerate(sizes.devices)}
    if any(stage.node not in number_of for stage in placement.stages):
        return None
    if sizes.most_machines is not None and nodes_used(problem, placement) > sizes.most_machines:
        return None
    order = _exchanged(sizes, [number_of[stage.node] for stage in placement.stages])
    held: list[Held | None] = [None] * len(sizes.devices)
    for d, stage in zip(order, placement.stages, strict=True):
        away = Counter(kind for index in stage.offloaded for kind, items in enumerate(sizes.kinds) if index in items)
        held[d] = Held(stage.start, stage.end, tuple(away[kind] for kind in range(len(sizes.kinds))))
    return Placed(placement, tuple(held), tuple(order))


def _exchanged(sizes: Sizes, order: list[int]) -> list[int]:
    """Return the devices with earlier twins, and earlier members of classes, in front of later ones."""
    for machines in sizes.twins:
        ranked = sorted(machines, key=lambda numbers: min((order.index(d) for d in numbers if d in order), default=999))
        renamed = {
            d: instead
            for numbers, target in zip(ranked, machines, strict=True)
            for d, instead in zip(numbers, target, strict=True)
        }
        order = [renamed.get(d, d) for d in order]
    free: dict[int, list[int]] = {}
    for d, device in enumerate(sizes.devices):
        free.setdefault(device.group, []).append(d)
    return [free[sizes.devices[d].group].pop(0) for d in order]
