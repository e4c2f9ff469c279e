"""Whether the engine, left to fit a run to free memory, would leave it as it was asked for (common/fit.cpp, b11434).

Fitting acts only where a device would keep less than its margin. Then it may shorten a context that nobody named, and
move layers unless their number, the shares or single tensors were named.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.engines.llamacpp.facts import Device, DeviceBytes
    from solver.engines.llamacpp.request import Request

__all__ = ["Fitting", "fitting"]


class Fitting(Enum):
    """What fitting does to a request."""

    OFF = auto()
    CANNOT = auto()
    """Everything that it could change was named."""
    LEAVES = auto()
    """Every device keeps its margin."""
    ACTS = auto()
    """A device would keep less than its margin."""
    OPEN = auto()
    """Free memory, or the size of compute buffers, is not known well enough."""


def fitting(request: Request, devices: Sequence[Device], rows: Sequence[DeviceBytes]) -> Fitting:
    """Return what fitting does; `rows` are bytes of these devices, what is loaded beside the model included."""
    if not request.fit.enabled:
        return Fitting.OFF
    if _is_named(request, devices):
        return Fitting.CANNOT
    sizes = {row.name: row for row in rows}
    verdicts = {
        _verdict(device, sizes[device.name], _margin(request, position)) for position, device in enumerate(devices)
    }
    if Fitting.ACTS in verdicts:
        return Fitting.ACTS
    return Fitting.LEAVES if verdicts == {Fitting.LEAVES} else Fitting.OPEN


def _is_named(request: Request, devices: Sequence[Device]) -> bool:
    layers = request.layers_said or bool(request.overrides) or (len(devices) > 1 and any(request.shares))
    return layers and (request.context_tokens is not None or request.slot_tokens is not None)


def _margin(request: Request, position: int) -> int:
    margins = request.fit.margin_bytes
    if len(margins) == 1:
        return margins[0]
    return margins[position] if position < len(margins) else 1024 * 2**20


def _verdict(device: Device, row: DeviceBytes, margin_bytes: int) -> Fitting:
    if device.free_bytes is None:
        return Fitting.OPEN
    held = row.model_bytes + row.cache_bytes + row.state_bytes
    low, high = row.compute_bytes if row.compute_bytes is not None else (0, None)
    if device.free_bytes - held - low < margin_bytes:
        return Fitting.ACTS
    if high is not None and device.free_bytes - held - high >= margin_bytes:
        return Fitting.LEAVES
    return Fitting.OPEN
