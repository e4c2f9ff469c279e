"""A model, a cluster and a request as a problem of ranks, the same way for every serving engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.engines.devices import DeviceName, device_links, device_rules
from solver.engines.servers.layers import chooses_its_type
from solver.engines.servers.sharding import card_weights
from solver.errors import InputError
from solver.problem import Block, Ends, Node, Problem
from solver.wording import counted
from tensors.inventory import Part
from tensors.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.cluster import Cluster
    from solver.engines.servers.cards import RankDevice, Share
    from solver.engines.servers.pool import CachePool
    from solver.engines.servers.profile import ServerProfile, ServerSettings
    from solver.engines.servers.sharding import CardWeights
    from solver.problem import Rules
    from solver.workload import Workload
    from tensors.cache import BlockCache
    from tensors.inventory import Inventory

__all__ = ["Ingredients", "ServedProblem", "placed_blocks", "served_problem"]

# Activations cross a seam as 16-bit floats.
_ACTIVATION_VALUE_BYTES = 2


@dataclass(frozen=True, slots=True)
class ServedProblem:
    """A problem whose nodes are the devices of ranks, and what its figures were made from.

    Sizes of the problem are sums over the `settings.width` cards of a rank. `weights` and `pool` are of one card;
    `overhead_bytes` is what a card needs beside weights and cache inside the engine's share, `padding_bytes` part of
    what is taken off budgets. `says_cache_type`: the engine might choose another type for the cache than is asked for.
    """

    problem: Problem
    notes: tuple[str, ...]
    profile: ServerProfile
    settings: ServerSettings
    devices: tuple[RankDevice, ...]
    share: Share
    overhead_bytes: int
    weights: CardWeights
    pool: CachePool
    says_cache_type: bool

    @property
    def devices_by_name(self) -> dict[str, RankDevice]:
        """Return the devices under the names that the problem has for them."""
        return {device.name: device for device in self.devices}


@dataclass(frozen=True, slots=True)
class Ingredients:
    """What an engine has worked out before a problem is made of it; `notes` are its own."""

    profile: ServerProfile
    settings: ServerSettings
    devices: tuple[RankDevice, ...]
    share: Share
    overhead_bytes: int
    pool: CachePool
    notes: tuple[str, ...]


def placed_blocks(inventory: Inventory, workload: Workload) -> int:
    """Return how many blocks are placed.

    Raises:
        InputError: the model has none.
    """
    placed = inventory.trunk_blocks + (inventory.nextn_blocks if workload.resident_nextn else 0)
    if not placed:
        raise InputError(
            inventory.name, "it has no numbered blocks; expected a model of layers. Check that it is not an adapter."
        )
    return placed


def served_problem(
    parts: Ingredients, inventory: Inventory, cluster: Cluster, workload: Workload, rules: Rules
) -> ServedProblem:
    """Return the problem of cutting a model into ranks.

    Raises:
        InputError: a rule names a machine of several devices where one device is meant.
    """
    width = parts.settings.width
    count = placed_blocks(inventory, workload)
    names = tuple(DeviceName(device.name, device.machine) for device in parts.devices)
    weights = card_weights(inventory, count, width, parts.profile.vocabulary_multiple)
    problem = Problem(
        blocks=_blocks(inventory, weights, parts.pool.block_caches(count), width),
        ends=Ends(
            input_bytes=weights.input_bytes * width,
            output_bytes=weights.head_bytes * width,
            tied_bytes=weights.tied_bytes * width,
            host_bytes=0,
        ),
        nodes=tuple(_node(device, parts) for device in parts.devices),
        activation_bytes=(inventory.architecture.hidden_size or 0) * _ACTIVATION_VALUE_BYTES,
        context_tokens=workload.context_tokens,
        links=device_links(cluster, names),
        rules=device_rules(rules, names, "a rank"),
    )
    return ServedProblem(
        problem=problem,
        notes=(*inventory.notes, *_left_out(inventory, workload), *parts.notes, *_shares(parts)),
        profile=parts.profile,
        settings=parts.settings,
        devices=parts.devices,
        share=parts.share,
        overhead_bytes=parts.overhead_bytes,
        weights=weights,
        pool=parts.pool,
        says_cache_type=chooses_its_type(inventory),
    )


def _blocks(
    inventory: Inventory, weights: CardWeights, caches: tuple[BlockCache, ...], width: int
) -> tuple[Block, ...]:
    experts = inventory.architecture.experts
    blocks = []
    for number, (block, cache) in enumerate(zip(weights.blocks, caches, strict=True)):
        read = block.weight_bytes
        if experts is not None and experts.routed > 0:
            read += -(-block.expert_bytes * experts.used // experts.routed) - block.expert_bytes
        head = weights.head_bytes if number == len(caches) - 1 else 0
        blocks.append(
            Block(
                weight_bytes=block.weight_bytes * width,
                cache_bytes=cache.cache_bytes * width,
                active_bytes=(read + cache.cache_bytes + head) * width,
                cache_bytes_per_token=cache.bytes_per_token * width,
                cache_fixed_bytes=cache.fixed_bytes * width,
            )
        )
    return tuple(blocks)


def _node(device: RankDevice, parts: Ingredients) -> Node:
    room = parts.share.bytes_of(device.card_bytes) - parts.overhead_bytes - parts.pool.padding_bytes
    rate = device.bytes_per_second
    return Node(
        name=device.name,
        budget_bytes=max(room, 0) * device.width,
        bytes_per_second=None if rate is None else rate * device.width,
        stage_ns=None,
        machine=None if device.name == device.machine else device.machine,
    )


def _left_out(inventory: Inventory, workload: Workload) -> Iterator[str]:
    if inventory.nextn_blocks and not workload.resident_nextn:
        yield (
            f"{counted(inventory.nextn_blocks, 'multi-token prediction block')} of "
            f"{format_bytes(inventory.part_bytes(Part.NEXTN))} in all left out: "
            "engines skip them unless told otherwise."
        )
    other = inventory.part_bytes(Part.OTHER)
    if other:
        yield f"{other} bytes of tensors that belong to no block are loaded with the input."


def _shares(parts: Ingredients) -> Iterator[str]:
    """Say which card binds the share of all, and what of it is neither weights nor cache."""
    share = parts.share
    yield (
        f"{parts.profile.share_name} is {float(share.value)} on every card: {share.why} leaves {share.card} no more. "
        f"Assumed: {parts.profile.engine} {parts.profile.build}, ranks of {counted(parts.settings.width, 'card')}."
    )
    if parts.overhead_bytes:
        yield f"{format_bytes(parts.overhead_bytes)} of every card are kept for what is neither weights nor cache."
    if parts.pool.padding_bytes:
        yield f"{format_bytes(parts.pool.padding_bytes)} of every card are kept for unevenly filled groups of layers."
