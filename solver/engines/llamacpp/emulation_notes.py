"""Sentences about an emulation: what a person would not see from the bytes alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from solver.engines.llamacpp.facts import HOST, HOST_NAME
from solver.engines.llamacpp.fit import Fitting
from solver.engines.llamacpp.flag_values import DENSE, EXPERTS
from solver.engines.llamacpp.memory import is_lazy, pipeline_copies
from solver.wording import quoted, several

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.engines.llamacpp.facts import Assignment, Settings
    from solver.engines.llamacpp.profile import Profile
    from solver.engines.llamacpp.request import Request
    from tensors.inventory import Inventory

__all__ = ["notes_of"]

_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})

_FITTING = {
    Fitting.OPEN: "Fitting is on and may shorten the context or move layers, which is not emulated: what was asked for "
    "is shown. It leaves a run alone whose devices all keep their margin; whether they do is not known here.",
    Fitting.ACTS: "Fitting is on and a device would keep less than its margin: the engine will shorten the context or "
    "move layers, which is not emulated. What was asked for is shown.",
    Fitting.LEAVES: "Fitting is on and leaves this run as it is: every device keeps its margin.",
}


def notes_of(
    profile: Profile,
    request: Request,
    inventory: Inventory,
    settings: Settings,
    assignment: Assignment,
    fits: Fitting,
) -> tuple[str, ...]:
    """Return notes on a run, those on what is uncertain first."""
    return (
        *((_FITTING[fits],) if fits in _FITTING else ()),
        *_on_devices(request, assignment),
        *_on_weights(profile, inventory, settings, assignment),
        *_on_host(request, inventory, settings, assignment),
        *((f"Inputs of graphs are kept {copies} times on every device, so that devices compute beside one another.",)
          if (copies := pipeline_copies(profile, assignment, settings)) > 1 else ()),
        *request.notes,
        *inventory.notes,
    )  # fmt: skip


def _on_devices(request: Request, assignment: Assignment) -> Iterator[str]:
    if not assignment.devices:
        yield "No device is named, and no free memory is given for one: everything is on the host."
    if request.devices is None and any(device.backend.name == "CUDA" for device in assignment.devices):
        yield "Devices that are not named are taken for CUDA ones."
    inexact = sorted({device.backend.name for device in assignment.devices if not device.backend.exact})
    if "RPC" in inexact:
        yield (
            "Every RPC server is taken to serve one device with the alignment of a CPU; a GPU behind it takes a few "
            "bytes more a tensor."
        )
    yield from _counted_twice(request, assignment)
    others = [name for name in inexact if name != "RPC"]
    if others:
        yield f"The alignment of {' and '.join(others)} devices depends on the card; a usual one is assumed."


def _counted_twice(request: Request, assignment: Assignment) -> Iterator[str]:
    """Say where two devices may be one card: the engine does not notice, and their bytes are in one memory."""
    servers = list(request.rpc_servers)
    for address in dict.fromkeys(servers):
        if servers.count(address) > 1:
            yield f"{address} is named {servers.count(address)} times: its devices are the same card, and add up there."
    local = [device.name for device in assignment.devices if device.backend.name != "RPC"]
    here = [address for address in dict.fromkeys(servers) if address.rpartition(":")[0].strip("[]") in _THIS_MACHINE]
    if local and here:
        yield (
            f"{here[0]} is a server on this machine: if the card that it serves is also used as {local[0]} or another "
            "local device, both are in one memory, and their bytes add up there."
        )


def _on_weights(profile: Profile, inventory: Inventory, settings: Settings, assignment: Assignment) -> Iterator[str]:
    if inventory.tied and assignment.head != HOST:
        yield f"The head is tied to the embedding: both {HOST_NAME} and {_name(assignment, assignment.head)} hold it."
    drafting = settings.drafts and inventory.architecture.family in profile.drafting_families
    if inventory.nextn_blocks and not drafting:
        first, last = inventory.trunk_blocks, inventory.trunk_blocks + inventory.nextn_blocks - 1
        blocks = f"Block {first} is" if first == last else f"Blocks {first} to {last} are"
        yield f"{blocks} for multi-token prediction and not loaded, and takes a slot all the same."
    unmet = [quoted(pattern) for pattern in _unmet(inventory, assignment)]
    if unmet:
        yield f"No tensor's name fits {several(unmet, 3)}: nothing is moved by it."
    if assignment.overrides and settings.offloads_cache:
        yield "Tensors that are moved leave the caches of their blocks where the blocks are."


def _unmet(inventory: Inventory, assignment: Assignment) -> Iterator[str]:
    """Yield patterns that fit no tensor's name; those for experts of first blocks may well outnumber the blocks."""
    for pattern in dict.fromkeys(override.pattern for override in assignment.overrides):
        found = re.compile(pattern).search
        if not pattern.endswith((EXPERTS, DENSE)) and not any(found(tensor.name) for tensor in inventory.tensors):
            yield pattern


def _on_host(request: Request, inventory: Inventory, settings: Settings, assignment: Assignment) -> Iterator[str]:
    moved = any(override.device == HOST for override in assignment.overrides)
    if request.repacks and (HOST in assignment.slots or moved):
        yield "Weights on the host may be repacked for its processor, in buffers that are not predicted."
    if settings.maps_files:
        yield f"What {HOST_NAME} maps of the files is file cache; what it needs of it is the model's bytes there."
    lazy = [tensor for tensor in inventory.tensors if is_lazy(tensor, settings)]
    if lazy:
        size = sum(tensor.size_bytes for tensor in lazy)
        yield f"{size:,} bytes of lookup tables are read from disk by row; they are mapped and not counted as needed."


def _name(assignment: Assignment, device: int) -> str:
    return HOST_NAME if device == HOST else assignment.devices[device].name
