"""What a run loads or may take beside the model: a draft, a projector, adapters, kept prompts, driver contexts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.engines.llamacpp.assign import device_named, draft_assignment
from solver.engines.llamacpp.caches import kept_terms
from solver.engines.llamacpp.facts import HOST, HOST_NAME, Device, DeviceBytes
from solver.engines.llamacpp.memory import device_bytes
from solver.engines.llamacpp.placement import allocated_bytes, backend_at, placed
from solver.engines.llamacpp.profile import CPU
from solver.engines.llamacpp.settings import settings_of
from solver.errors import InputError
from tensors.cache import CacheKind, term_bytes
from tensors.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solver.engines.llamacpp.facts import Assignment, ComputeInterval, Settings
    from solver.engines.llamacpp.profile import Profile
    from solver.engines.llamacpp.request import Request
    from solver.engines.llamacpp.settings import ContextRequest
    from tensors.inventory import Inventory

__all__ = ["Beside", "adapters_bytes", "added", "draft_bytes", "intervals", "projector_bytes"]

_IMAGE_BUFFERS_DIVISOR = 2
"""Buffers for images take up to half of a projector's file: 0.31 of it where it was measured (884 of 1158 MiB)."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Memory that is not part of the model's own buffers: what for, on which device, from low to high in bytes."""

    what: str
    device: str
    low_bytes: int
    high_bytes: int


def draft_bytes(
    profile: Profile,
    request: Request,
    context: ContextRequest,
    settings: Settings,
    devices: tuple[Device, ...],
    read: Callable[[str], Inventory],
    compute: ComputeInterval,
) -> tuple[DeviceBytes, ...]:
    """Return the bytes of the model that drafts, if there is one; its context is as long as that of the model.

    common/speculative.cpp (common_base_params_to_speculative, common_speculative_init_result), b11434.
    """
    if request.draft is None:
        return ()
    inventory = read(request.draft.path)
    own = replace(
        context,
        context_tokens=settings.context_tokens,
        sequences=settings.sequences,
        unified=settings.unified,
        type_k=request.draft_type_k,
        type_v=request.draft_type_v,
        fitted=False,
        drafts=False,
        draft_tokens=0,
        rolled_back_tokens=0,
    )
    blocks = inventory.trunk_blocks + inventory.nextn_blocks
    assignment = draft_assignment(profile, request, request.draft, devices, blocks)
    return device_bytes(profile, inventory, settings_of(profile, inventory, own), assignment, compute)


def projector_bytes(
    request: Request, devices: tuple[Device, ...], read: Callable[[str], Inventory]
) -> tuple[DeviceBytes, ...]:
    """Return the bytes of a projector's file on its device, if there is one (tools/mtmd/clip.cpp, b11434).

    Raises:
        InputError: the file is no projector, or its device is not there.
    """
    if request.projector is None:
        return ()
    inventory = read(request.projector.path)
    if inventory.architecture.family != "clip":
        family = quoted(inventory.architecture.family)
        raise InputError(
            inventory.name, f"it is a model of family {family}; expected a projector (clip). Name that file."
        )
    device = _projector_device(request, request.projector.device, devices)
    backend = CPU if device is None else device.backend
    size = sum(allocated_bytes(tensor, backend) for tensor in inventory.tensors)
    return (_model_bytes(HOST_NAME if device is None else device.name, size),)


def adapters_bytes(
    profile: Profile,
    request: Request,
    inventory: Inventory,
    settings: Settings,
    assignment: Assignment,
    read: Callable[[str], Inventory],
) -> tuple[DeviceBytes, ...]:
    """Return the bytes of adapters: each tensor lies where the tensor lies that it adapts (src/llama-adapter.cpp).

    Raises:
        InputError: an adapter is for a tensor that the model has not.
    """
    if not request.adapters.paths:
        return ()
    places: dict[str, int] = {}
    for copy in placed(profile, inventory, assignment, drafts=settings.drafts):
        places.setdefault(copy.tensor.name, copy.device)
    sizes: dict[int, int] = {}
    for path in request.adapters.paths:
        adapter = read(path)
        for tensor in adapter.tensors:
            base = tensor.name.removesuffix(".lora_a").removesuffix(".lora_b")
            if base not in places:
                problem = f"tensor {quoted(tensor.name)} adapts none of the model's; expected an adapter of this model."
                raise InputError(adapter.name, f"{problem} Leave it out.")
            device = places[base]
            sizes[device] = sizes.get(device, 0) + allocated_bytes(tensor, backend_at(assignment, device))
    return tuple(
        _model_bytes(HOST_NAME if device == HOST else assignment.devices[device].name, size)
        for device, size in sizes.items()
    )


def added(rows: Iterable[DeviceBytes], more: Iterable[DeviceBytes]) -> tuple[DeviceBytes, ...]:
    """Return bytes by device with others added to them; the host stays last, and an unknown term is an unknown sum."""
    totals = {row.name: row for row in rows}
    host = totals.pop(HOST_NAME)
    for row in more:
        if row.name == HOST_NAME:
            host = _sum(host, row)
        else:
            totals[row.name] = _sum(totals[row.name], row) if row.name in totals else row
    return (*totals.values(), host)


def intervals(
    profile: Profile,
    request: Request,
    inventory: Inventory,
    settings: Settings,
    devices: tuple[Device, ...],
    projector: tuple[DeviceBytes, ...],
) -> tuple[Beside, ...]:
    """Return what a run may take beside its buffers, as far as it is bounded."""
    found = [
        Beside("driver context", device.name, *device.backend.context_bytes)
        for device in devices
        if device.backend.context_bytes[1]
    ]
    found += [Beside("buffers for images", row.name, 0, row.model_bytes // _IMAGE_BUFFERS_DIVISOR) for row in projector]
    if request.cache_ram_bytes:
        found.append(Beside("prompts that are kept", HOST_NAME, 0, request.cache_ram_bytes))
    checkpoints = _checkpoint_bytes(profile, inventory, settings) * request.checkpoints * settings.sequences
    if checkpoints:
        found.append(Beside("checkpoints of sequences", HOST_NAME, 0, checkpoints))
    return tuple(found)


def _checkpoint_bytes(profile: Profile, inventory: Inventory, settings: Settings) -> int:
    """Return the most bytes of one checkpoint: states and windows of one sequence, which cannot be wound back.

    tools/server/server-context.cpp (create_checkpoint, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY), b11434.
    """
    total = 0
    for kept in kept_terms(profile, inventory, settings):
        if kept.is_state:
            total += term_bytes(kept.term, replace(kept.settings, sequences=1, streams=1, states_per_sequence=1))
        elif kept.term.kind is CacheKind.WINDOW and kept.term.window_tokens is not None:
            total += term_bytes(kept.term, replace(kept.settings, sequences=1, streams=1))
    return total


def _projector_device(request: Request, name: str | None, devices: tuple[Device, ...]) -> Device | None:
    if name is None or (not name and request.devices == ()):
        return None
    if name:
        return device_named(name, request, devices)
    if request.devices is not None:
        return devices[0]
    local = [device for device in devices if device.backend.name != "RPC"]
    return next(iter((*local, *devices)), None)


def _model_bytes(name: str, size: int) -> DeviceBytes:
    return DeviceBytes(name, size, 0, 0, (0, 0), 0, None)


def _sum(one: DeviceBytes, other: DeviceBytes) -> DeviceBytes:
    compute = None
    if one.compute_bytes is not None and other.compute_bytes is not None:
        compute = (one.compute_bytes[0] + other.compute_bytes[0], one.compute_bytes[1] + other.compute_bytes[1])
    mapped = [row.mapped_bytes for row in (one, other) if row.mapped_bytes is not None]
    return DeviceBytes(
        name=one.name,
        model_bytes=one.model_bytes + other.model_bytes,
        cache_bytes=one.cache_bytes + other.cache_bytes,
        state_bytes=one.state_bytes + other.state_bytes,
        compute_bytes=compute,
        output_bytes=one.output_bytes + other.output_bytes,
        mapped_bytes=sum(mapped) if mapped else None,
    )
