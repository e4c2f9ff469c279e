"""Prices that make one number of several figures, the most important first, so that least sums are least in order."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from solver.exact.machines.stages import Prices
from solver.measures import block_ns, hop_ns, offloaded_block_ns

if TYPE_CHECKING:
    from solver.exact.machines.fleet import Device, Fleet
    from solver.problem import Problem

__all__ = ["Amounts", "amounts_of", "prices_of", "split"]

# The greatest cost that 64 bits hold with room for two sums, and what stands for "never" beyond them.
_MOST = 2**60
_NEVER = 2**61


@dataclass(frozen=True, slots=True)
class Amounts:
    """What no placement exceeds: time of a token, bytes left with hosts, stages; and what divides those bytes."""

    time: int
    offload: int
    stage: int
    grain_bytes: int


def amounts_of(problem: Problem, fleet: Fleet) -> Amounts:
    """Return the most that a placement on these machines can amount to."""
    devices = [device for machine in fleet.machines for device in machine.devices]
    count = min(len(problem.items), sum(len(machine.members) * len(machine.devices) for machine in fleet.machines))
    left = [_left_bytes(problem, device) for device in devices]
    grain = gcd(*(amount for amounts in left for pair in amounts for amount in pair)) or 1
    return Amounts(
        time=_most_ns(problem, devices, count),
        offload=sum(max(sum(pair) for pair in pairs) for pairs in zip(*left, strict=True)) if left else 0,
        stage=count,
        grain_bytes=grain,
    )


def _left_bytes(problem: Problem, device: Device) -> list[tuple[int, int]]:
    """Return for every block what counts as left with a host on the device: the whole block, and its experts."""
    kind = device.kind
    return [
        (
            block.weight_bytes if kind.counts_whole else 0,
            block.expert_bytes * kind.width if kind.leaves_experts else 0,
        )
        for block in problem.shape_of(device.node).blocks
    ]


def _most_ns(problem: Problem, devices: list[Device], count: int) -> int:
    """Return a time above that of any placement, 0 where times are not known."""
    most = [0] * len(problem.items)
    measured = 0
    for device in devices:
        rate, times = device.kind.bytes_per_second, device.kind.stage_ns
        if times is not None:
            measured = max([measured, *times])
        elif rate is not None:
            for index, block in enumerate(problem.shape_of(device.node).blocks):
                most[index] = max(most[index], block_ns(block.active_bytes, rate))
                if device.kind.leaves_experts and device.kind.host_bytes_per_second and block.expert_bytes:
                    most[index] = max(most[index], offloaded_block_ns(block, device.node))
    names = [device.node.name for device in devices]
    pairs = problem.links.pairs
    ways = [("", ""), *((pair.source, pair.target) for pair in pairs)]
    hop = max(hop_ns(problem, source, target) for source, target in ways) if names else 0
    return sum(most) + count * (measured + hop)


def prices_of(amounts: Amounts, aim: tuple[str, ...]) -> Prices:
    """Return prices under which an earlier figure of an aim ("time", "offload", "stage") outweighs all later ones."""
    each = {"time": amounts.time, "offload": amounts.offload // amounts.grain_bytes, "stage": amounts.stage}
    found = {"time": 0, "offload": 0, "stage": 0}
    weight, most = 1, 0
    for name in reversed(aim):
        found[name] = weight
        most += weight * each[name]
        weight = most + 1
    narrow = most <= _MOST
    return Prices(
        **found,
        use=0,
        grain_bytes=amounts.grain_bytes,
        resource=None,
        filled=False,
        never=_NEVER if narrow else 4 * most,
        dtype=np.int64 if narrow else object,
    )


def split(cost: int, prices: Prices, aim: tuple[str, ...], amounts: Amounts) -> dict[str, int]:
    """Return the figures that a cost is made of."""
    figures = {}
    rest = int(cost)
    for name in aim:
        price = {"time": prices.time, "offload": prices.offload, "stage": prices.stage}[name]
        figures[name], rest = divmod(rest, price)
    if "offload" in figures:
        figures["offload"] *= amounts.grain_bytes
    return figures
