"""The numbers of the model of shared memories: what a device of each class takes of what, in integers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import accumulate
from math import gcd
from typing import TYPE_CHECKING

from solver.limits import cap_bytes
from solver.measures import hosting_pools, nodes_used
from solver.model.twins import twins_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solver.limits import Limits
    from solver.problem import Node, Placement, Problem

__all__ = ["Group", "Held", "Loads", "Memories", "Placed", "Sizes", "placed_in", "sizes_of"]


@dataclass(frozen=True, slots=True)
class Loads:
    """What a device of a class takes: prefix sums of `weights` of blocks and of the `rest` of items, 0 … items.

    `first` comes beside them where it holds the first item, `tied` off where it holds all; `experts` by kind are what
    an item's experts take, there or in the host memory; `kept` stays with the host of the first stage. `held` is in the
    memories of a device beside its stage.
    """

    weights: tuple[int, ...]
    rest: tuple[int, ...]
    first: int
    tied: int
    experts: tuple[int, ...]
    kept: int
    held: int


@dataclass(frozen=True, slots=True)
class Memories:
    """Loads and caps by class, and the budgets of memories that several draw on, in units of `unit_bytes`."""

    unit_bytes: int
    loads: tuple[Loads, ...]
    caps: tuple[int, ...]
    budgets: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A class of devices that can hold something, by its first member."""

    node: Node
    count: int

    @property
    def shape(self) -> int:
        """Return the number of the loads of blocks on such a device."""
        return 0 if self.node.draws is None else self.node.draws.shape

    @property
    def can_leave(self) -> bool:
        """Return whether experts may stay with a host: what has measured times was measured with everything on it."""
        return self.node.host_pool is not None and self.node.stage_ns is None


@dataclass(frozen=True, slots=True)
class Sizes:
    """Classes that can hold something, as positions of `classes`, which index `Problem.classes`; and what they take.

    `machines` are the positions of the classes in each machine of several devices. `kinds` are the items whose experts
    weigh and read the same on every device; an item without experts is in none. `tokens` are the memories with caches
    of the tokens asked for, None where none are. `twins` are machines that nothing tells apart.
    """

    items: int
    stages: int
    classes: tuple[int, ...]
    counts: tuple[int, ...]
    groups: tuple[Group, ...]
    machines: tuple[tuple[int, ...], ...]
    kinds: tuple[tuple[int, ...], ...]
    memory: Memories
    tokens: Memories | None
    twins: tuple[tuple[tuple[int, ...], ...], ...]
    most_nodes: int | None

    def width(self, c: int) -> int:
        """Return the ranks of a device of class c: the pools that each take its load."""
        return len(self.groups[c].node.pools)


@dataclass(frozen=True, slots=True)
class Held:
    """A stage of items [start, end) on a device of class c, and how many of each kind it leaves with its host."""

    start: int
    end: int
    c: int
    away: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A placement with its stages by class."""

    placement: Placement
    stages: tuple[Held, ...]

    def at(self, k: int) -> Held | None:
        """Return stage k, None where there are fewer."""
        return self.stages[k] if k < len(self.stages) else None

    def cut(self, k: int) -> int:
        """Return where stage k starts: the number of items where there are fewer."""
        return self.stages[k].start if k < len(self.stages) else self.stages[-1].end

    def is_on(self, k: int, c: int) -> bool:
        """Return whether stage k is on a device of class c."""
        return k < len(self.stages) and self.stages[k].c == c


def sizes_of(problem: Problem, limits: Limits) -> Sizes:
    """Return the numbers of the model for a problem within limits."""
    members = [group.members[0] for group in problem.classes]
    caps = tuple(cap_bytes(limits, node.budget_bytes, node.held_bytes) for node in members)
    classes = tuple(number for number, cap in enumerate(caps) if cap >= 0)
    groups = tuple(Group(problem.classes[number].members[0], problem.classes[number].count) for number in classes)
    kinds = _kinds(problem) if any(group.can_leave for group in groups) else ()
    most = [number for number in (problem.rules.max_nodes, limits.max_nodes) if number is not None]
    rooms = tuple(group.node.room_bytes for group in groups)
    machines: dict[str, list[int]] = {}
    for c, group in enumerate(groups):
        if group.node.machine is not None:
            machines.setdefault(group.node.machine, []).append(c)
    return Sizes(
        items=len(problem.items),
        stages=_stages(problem, classes, min(most, default=None)),
        classes=classes,
        counts=tuple(group.count for group in groups),
        groups=groups,
        machines=tuple(tuple(positions) for positions in machines.values()),
        kinds=kinds,
        memory=_memories(problem, groups, kinds, tuple(caps[number] for number in classes), None),
        tokens=None if limits.min_tokens is None else _memories(problem, groups, kinds, rooms, limits.min_tokens),
        twins=twins_of(problem, tuple(problem.classes[number] for number in classes)),
        most_nodes=min(most, default=None),
    )


def _stages(problem: Problem, classes: tuple[int, ...], most_nodes: int | None) -> int:
    """Return the most stages that there can be: devices of a machine that share no card, on so many machines."""
    devices: Counter[tuple[str, bool]] = Counter()
    cards: dict[tuple[str, bool], set[str]] = {}
    for node in (node for number in classes for node in problem.classes[number].members):
        machine = (node.machine or node.name, node.machine is None)
        devices[machine] += 1
        cards.setdefault(machine, set()).update(node.cards)
    each = sorted((min(count, len(cards[machine])) for machine, count in devices.items()), reverse=True)
    most = sum(each if most_nodes is None else each[: max(most_nodes, 0)])
    return min(most, len(problem.items) // max(problem.rules.min_blocks, 1))


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
    groups: tuple[Group, ...],
    kinds: tuple[tuple[int, ...], ...],
    caps: tuple[int, ...],
    tokens: int | None,
) -> Memories:
    loads = [_loads(problem, group, kinds, tokens) for group in groups]
    if hosting_pools(problem).isdisjoint(pool for group in groups for pool in group.node.pools):
        # No device holds whole blocks in a memory that others leave experts in: weights need no count of their own.
        loads = [_joined(load) for load in loads]
    unit = gcd(*(amount for load in loads for amount in _amounts(load))) or 1
    draw = Counter(pool for node in problem.nodes for pool in node.pools)
    hosts = {node.host_pool for node in problem.nodes}
    shared = tuple(pool for pool in problem.pools if pool.name in hosts or draw[pool.name] > 1)
    names = {pool.name for pool in shared}
    # A memory that one device alone draws on is a cap of that device.
    own = tuple(
        min(
            (
                problem.pools_by_name[pool].room_bytes - group.node.held_bytes
                for pool in group.node.pools
                if pool not in names
            ),
            default=cap,
        )
        for group, cap in zip(groups, caps, strict=True)
    )
    return Memories(
        unit_bytes=unit,
        loads=tuple(
            Loads(
                _divided(load.weights, unit),
                _divided(load.rest, unit),
                load.first // unit,
                load.tied // unit,
                _divided(load.experts, unit),
                load.kept // unit,
                load.held // unit,
            )
            for load in loads
        ),
        # A cap beyond all loads says no more than their sum, and is a smaller number.
        caps=tuple(
            min(cap, most, load.weights[-1] + load.rest[-1] + load.first) // unit
            for cap, most, load in zip(caps, own, loads, strict=True)
        ),
        budgets=tuple((pool.name, pool.room_bytes // unit) for pool in shared),
    )


def _loads(problem: Problem, group: Group, kinds: tuple[tuple[int, ...], ...], tokens: int | None) -> Loads:
    """Return what a device takes, with the caches of the problem or with those of so many tokens."""
    shape = problem.shape_of(group.node)
    hosted = group.node.host_pool is not None
    items = problem.items_of_shapes[group.shape]
    caches = (
        (item.cache_bytes for item in items)
        if tokens is None
        else (block.cache_fixed_bytes + (block.cache_bytes_per_token or 0) * tokens for block in shape.blocks)
    )
    return Loads(
        weights=tuple(accumulate((block.weight_bytes for block in shape.blocks), initial=0)),
        rest=tuple(
            accumulate(
                (
                    item.weight_bytes - block.weight_bytes + cache
                    for item, block, cache in zip(items, shape.blocks, caches, strict=True)
                ),
                initial=0,
            )
        ),
        first=0 if hosted else shape.ends.host_bytes,
        tied=shape.ends.tied_bytes,
        experts=tuple(shape.blocks[kind[0]].expert_bytes if group.can_leave else 0 for kind in kinds),
        kept=shape.ends.host_bytes if hosted else 0,
        held=group.node.held_bytes,
    )


def _joined(load: Loads) -> Loads:
    rest = tuple(weight + rest for weight, rest in zip(load.weights, load.rest, strict=True))
    return replace(load, weights=tuple(0 for _ in rest), rest=rest)


def _amounts(load: Loads) -> Iterable[int]:
    return (*load.weights, *load.rest, load.first, load.tied, *load.experts, load.kept, load.held)


def _divided(amounts: Iterable[int], unit: int) -> tuple[int, ...]:
    return tuple(amount // unit for amount in amounts)


def placed_in(problem: Problem, sizes: Sizes, placement: Placement) -> Placed | None:
    """Return a placement by class, in the one of its exchangeable forms that the model has; None where it has none."""
    class_of = {member.name: c for c, number in enumerate(sizes.classes) for member in problem.classes[number].members}
    stages = placement.stages
    if len(stages) > sizes.stages or any(stage.node not in class_of for stage in stages):
        return None
    if sizes.most_nodes is not None and nodes_used(problem, placement) > sizes.most_nodes:
        return None
    order = [class_of[stage.node] for stage in stages]
    for machines in sizes.twins:
        ranked = sorted(
            machines, key=lambda positions: min((order.index(c) for c in positions if c in order), default=len(order))
        )
        renamed = {
            c: instead
            for positions, targets in zip(ranked, machines, strict=True)
            for c, instead in zip(positions, targets, strict=True)
        }
        order = [renamed.get(c, c) for c in order]
    kind_of = {i: q for q, kind in enumerate(sizes.kinds) for i in kind}
    held = []
    for c, stage in zip(order, stages, strict=True):
        away = Counter(kind_of[i] for i in stage.offloaded)
        held.append(Held(stage.start, stage.end, c, tuple(away[q] for q in range(len(sizes.kinds)))))
    return Placed(placement, tuple(held))
