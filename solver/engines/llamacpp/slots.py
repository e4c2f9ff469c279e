"""The slot rule: which device takes each block and the head, from the number of layers and the shares.

src/llama-model.cpp (load_tensors), b11434: of L blocks and the head, the last `layers` go to devices. Slot i of these n
goes to the first device whose cumulative share is above i / n, all in 32-bit floats. Before December 2025 the head went
last: `layers` counted blocks, and only more of them than there are moved the head too.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from solver.engines.llamacpp.facts import HOST
from solver.engines.llamacpp.float32 import cumulative_shares, rounded
from solver.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.engines.llamacpp.facts import Device
    from solver.engines.llamacpp.profile import Profile

__all__ = ["share_values", "slot_devices"]


def slot_devices(profile: Profile, blocks: int, layers: int, shares: Sequence[float], devices: int) -> tuple[int, ...]:
    """Return the device of every block and, last, of the head: a number below `devices`, or HOST.

    `layers` below 0 means all. Shares are 32-bit floats, one for each device.

    >>> from solver.engines.llamacpp.profile import profile_of
    >>> slot_devices(profile_of("b11434"), 4, 3, [1.0, 1.0], 2)
    (-1, -1, 0, 0, 1)
    """
    slots = blocks + 1
    if layers < 0:
        layers = slots
    if not devices or not layers:
        return (HOST,) * slots
    start = max((slots if profile.head_counts_as_layer else blocks) - layers, 0)
    taken = min(layers, slots)
    ends = cumulative_shares(list(shares))
    return tuple(
        bisect_right(ends, rounded((slot - start) / taken)) if start <= slot < start + taken else HOST
        for slot in range(slots)
    )


def share_values(given: Sequence[float], devices: Sequence[Device]) -> list[float]:
    """Return one share for each device: those given, padded with zeros, or free memory where none is above zero.

    Raises:
        InputError: nothing is given and the free memory of one of several devices is not known, or nothing is free.
    """
    shares = [*given, *(0.0 for _ in devices)][: len(devices)]
    if any(shares) or not devices:
        return shares
    if len(devices) == 1:
        return [1.0]
    unknown = [device.name for device in devices if device.free_bytes is None]
    if unknown:
        raise InputError(
            f"device {unknown[0]}",
            "its free memory is not given; expected it for every device, since the engine splits by it where there are "
            "no shares. Give the free memory of each, or shares.",
        )
    free = [rounded(float(device.free_bytes or 0)) for device in devices]
    if not any(free):
        raise InputError("devices", "none has free memory; expected some to split by. Give shares.")
    return free
