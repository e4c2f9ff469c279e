"""From a request to devices in the engine's order, and to an assignment of blocks, head and moved tensors to them.

src/llama.cpp (llama_prepare_model_devices), common/arg.cpp (parse_device_list, parse_tensor_buffer_overrides), b11434.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.facts import HOST, Assignment, Device, Override
from solver.engines.llamacpp.profile import backend_of
from solver.engines.llamacpp.request import SplitMode
from solver.engines.llamacpp.slots import share_values, slot_devices
from solver.errors import InputError
from solver.wording import either, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.engines.llamacpp.profile import Profile
    from solver.engines.llamacpp.request import Draft, Request

__all__ = ["assignment_of", "device_named", "devices_of", "draft_assignment"]

_HOST_BUFFER = "CPU"
_LOCAL = "CUDA"
"""What a device is taken for that nobody names: free memory is given for it, and no server stands for it."""

_MOST_DEVICES = 16


def devices_of(request: Request, free_bytes: Sequence[int] | None) -> tuple[Device, ...]:
    """Return the devices of a run in the engine's order, all of them where one alone is to be used.

    Those named, else every RPC server as one device and behind them as many local ones as there are more sizes given.

    Raises:
        InputError: a device is not there or of no known kind, or there are not as many sizes as devices.
    """
    names = _names(request, 0 if free_bytes is None else len(free_bytes))
    if len(names) > _MOST_DEVICES:
        raise InputError("devices", f"there are {len(names)}; the engine takes {_MOST_DEVICES} at most. Name fewer.")
    if free_bytes is not None and len(free_bytes) != len(names):
        listed = f"one for each of {', '.join(names)}" if names else "none, since no device is used"
        given = "1 size is given" if len(free_bytes) == 1 else f"{len(free_bytes)} sizes are given"
        raise InputError("free memory", f"{given}; expected {listed}. Correct the list.")
    return tuple(
        Device(name, _buffer(name, request), backend_of(name), None if free_bytes is None else free_bytes[position])
        for position, name in enumerate(names)
    )


def assignment_of(profile: Profile, request: Request, devices: tuple[Device, ...], blocks: int) -> Assignment:
    """Return which device takes each block and the head, and what overrides move.

    Raises:
        InputError: the free memory that decides is not known, or an override names no buffer of these devices.
    """
    used = _used(request, devices)
    layers = -1 if request.layers is None else request.layers
    shares = share_values(request.shares, used)
    return Assignment(
        devices=used,
        slots=slot_devices(profile, blocks, layers, shares, len(used)),
        overrides=_overrides(request.overrides, used, devices),
    )


def draft_assignment(
    profile: Profile, request: Request, draft: Draft, devices: tuple[Device, ...], blocks: int
) -> Assignment:
    """Return the same for a model that drafts: on its own devices, with the shares of the model's (they are inherited).

    common/speculative.cpp, common_base_params_to_speculative.

    Raises:
        InputError: a device of the draft is none of the run's.
    """
    chosen = devices if draft.devices is None else tuple(device_named(name, request, devices) for name in draft.devices)
    used = _used(request, chosen)
    layers = -1 if draft.layers is None else draft.layers
    return Assignment(
        devices=used,
        slots=slot_devices(profile, blocks, layers, share_values(request.shares, used), len(used)),
        overrides=_overrides(draft.overrides, used, devices),
    )


def device_named(name: str, request: Request, devices: tuple[Device, ...]) -> Device:
    """Return a device by its name: one of the run, or another that the machine has.

    Raises:
        InputError: no server stands for it, or no rule is known for devices of that kind.
    """
    for device in devices:
        if device.name == name:
            return device
    if name.startswith("RPC") and name not in _servers(request):
        there = f"expected {either(_servers(request))}" if request.rpc_servers else "expected a server for it"
        raise InputError(f"device {quoted(name)}", f"no RPC server that is named is it; {there}. Correct the name.")
    return Device(name, _buffer(name, request), backend_of(name), None)


def _names(request: Request, sizes: int) -> tuple[str, ...]:
    servers = _servers(request)
    if request.devices is None:
        return (*servers, *(f"{_LOCAL}{number}" for number in range(max(sizes - len(servers), 0))))
    known = servers[: request.servers_before_devices]
    for name in request.devices:
        if name.startswith("RPC") and name not in known:
            late = " The servers must be named before the devices." if name in servers else ""
            there = f"expected {either(known)}" if known else "expected a server for it"
            raise InputError(f"device {quoted(name)}", f"no RPC server named so far is it; {there}.{late}")
    return request.devices


def _servers(request: Request) -> tuple[str, ...]:
    return tuple(f"RPC{number}" for number in range(len(request.rpc_servers)))


def _buffer(name: str, request: Request) -> str:
    """Return what overrides call a device: behind a server, its number there, of which it has one device."""
    if not name.startswith("RPC"):
        return name
    return f"RPC0[{request.rpc_servers[int(name[3:])]}]"


def _used(request: Request, devices: tuple[Device, ...]) -> tuple[Device, ...]:
    if request.split is not SplitMode.NONE or not devices:
        return devices
    if request.main_device < 0:
        return ()
    if request.main_device >= len(devices):
        raise InputError(
            "main device",
            f"{request.main_device} is asked for; expected a number below {len(devices)}: they count from 0. Lower it.",
        )
    return (devices[request.main_device],)


def _overrides(
    moved: Sequence[tuple[str, str]], used: tuple[Device, ...], devices: tuple[Device, ...]
) -> tuple[Override, ...]:
    numbers = {_HOST_BUFFER: HOST} | {device.buffer: number for number, device in enumerate(used)}
    unused = {device.buffer for device in devices} - numbers.keys()
    found = []
    for pattern, buffer in moved:
        if buffer not in numbers:
            left_out = " That device is there and not used." if buffer in unused else ""
            raise InputError(
                f"buffer {quoted(buffer)}",
                f"it is none of this run; expected {either(list(numbers))}. Correct the name.{left_out}",
            )
        found.append(Override(pattern, numbers[buffer]))
    return tuple(found)
