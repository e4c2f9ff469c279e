"""Where a pasted command line would put every tensor, cache and buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.engines.llamacpp.assign import assignment_of, devices_of
from solver.engines.llamacpp.beside import Beside, adapters_bytes, added, draft_bytes, intervals, projector_bytes
from solver.engines.llamacpp.emulation_notes import notes_of
from solver.engines.llamacpp.fit import fitting
from solver.engines.llamacpp.interpret import request_of
from solver.engines.llamacpp.memory import device_bytes, not_predicted
from solver.engines.llamacpp.settings import ContextRequest, settings_of
from solver.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solver.engines.llamacpp.facts import Assignment, ComputeInterval, Device, DeviceBytes, Settings
    from solver.engines.llamacpp.profile import Profile
    from solver.engines.llamacpp.request import Request
    from tensors.inventory import Inventory

__all__ = ["Emulation", "context_request", "emulate", "emulate_request"]


@dataclass(frozen=True, slots=True)
class Emulation:
    """What a run does: its settings, its assignment, bytes of every device with the host last, and notes.

    `rows` count the model and whatever is loaded with it; `beside` is what may come to it.
    """

    profile: Profile
    inventory: Inventory
    request: Request
    settings: Settings
    assignment: Assignment
    host_free_bytes: int | None
    rows: tuple[DeviceBytes, ...]
    beside: tuple[Beside, ...]
    notes: tuple[str, ...]


def emulate(
    profile: Profile,
    words: Sequence[str],
    free_bytes: Sequence[int] | None,
    host_free_bytes: int | None,
    read: Callable[[str], Inventory],
    compute: ComputeInterval = not_predicted,
) -> Emulation:
    """Return where a command line puts what. `free_bytes` is what each device reports; `read` reads a model by path.

    What the host has free changes nothing, and is handed on.

    Raises:
        InputError: the command line cannot be meant, or asks for something that is not emulated; it is named.
        TensorsError: a model cannot be read, or no rule says what its caches are.
    """
    request = request_of(words)
    return emulate_request(profile, request, devices_of(request, free_bytes), host_free_bytes, read, compute)


def emulate_request(
    profile: Profile,
    request: Request,
    devices: tuple[Device, ...],
    host_free_bytes: int | None,
    read: Callable[[str], Inventory],
    compute: ComputeInterval = not_predicted,
) -> Emulation:
    """Return where a request puts what on the devices of a machine.

    Raises:
        InputError: the request cannot be met with these devices, or the engine refuses it for this model.
        TensorsError: a model cannot be read, or no rule says what its caches are.
    """
    inventory = read(request.model)
    _check_drafts(profile, request, inventory)
    assignment = assignment_of(profile, request, devices, inventory.trunk_blocks + inventory.nextn_blocks)
    context = context_request(request, assignment.devices)
    settings = settings_of(profile, inventory, context)
    projector = projector_bytes(request, devices, read)
    rows = added(
        device_bytes(profile, inventory, settings, assignment, compute),
        (
            *draft_bytes(profile, request, context, settings, devices, read, compute),
            *projector,
            *adapters_bytes(profile, request, inventory, settings, assignment, read),
        ),
    )
    fits = fitting(request, assignment.devices, rows)
    return Emulation(
        profile=profile,
        inventory=inventory,
        request=request,
        settings=settings,
        assignment=assignment,
        host_free_bytes=host_free_bytes,
        rows=rows,
        beside=intervals(profile, request, inventory, settings, assignment.devices, projector),
        notes=notes_of(profile, request, inventory, settings, assignment, fits),
    )


def context_request(request: Request, devices: Sequence[Device]) -> ContextRequest:
    """Return the part of a request that makes a context; files are mapped by default where every device allows it."""
    maps_files = request.maps_files
    if maps_files is None:
        maps_files = all(device.backend.maps_files for device in devices)
    return ContextRequest(
        program=request.program,
        context_tokens=request.context_tokens,
        slot_tokens=request.slot_tokens,
        sequences=request.sequences,
        unified=request.unified,
        batch_tokens=request.batch_tokens,
        micro_batch_tokens=request.micro_batch_tokens,
        type_k=request.type_k,
        type_v=request.type_v,
        draft_type_k=request.draft_type_k,
        draft_type_v=request.draft_type_v,
        flash_attention=request.flash_attention,
        full_windows=request.full_windows,
        offloads_cache=request.offloads_cache,
        offloads_operations=request.offloads_operations,
        maps_files=maps_files,
        lazy_bytes=request.lazy_bytes,
        fitted=request.fit.enabled,
        drafts=request.drafts,
        draft_tokens=request.draft_tokens,
        rolled_back_tokens=request.rolled_back_tokens,
    )


def _check_drafts(profile: Profile, request: Request, inventory: Inventory) -> None:
    if not request.drafts:
        return
    if not inventory.nextn_blocks:
        raise InputError(
            inventory.name, "it has no multi-token prediction blocks to draft with; expected some. Do not draft."
        )
    if inventory.architecture.family not in profile.drafting_families:
        raise InputError(
            inventory.name,
            f"build {profile.build} does not load the multi-token prediction blocks of this family; expected one whose "
            "it loads. Do not draft.",
        )
