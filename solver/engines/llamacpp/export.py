"""What to type for llama.cpp so that a placement happens: counts of slots as shares, which the slot rule gives back.

Integer counts whose sum is the number of offloaded layers are exact: slot i of n goes to the first device whose
cumulative share is above i / n. Every export is emulated from its own words before it is returned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.engines.commands import Command, Export, MachineCommands, Refusal, address_of
from solver.engines.llamacpp.assign import assignment_of, devices_of
from solver.engines.llamacpp.compute import compute_interval
from solver.engines.llamacpp.emulation import context_request
from solver.engines.llamacpp.export_layout import Layout, check_moved, layout_of, moved_flags, over_budgets
from solver.engines.llamacpp.facts import HOST
from solver.engines.llamacpp.interpret import request_of
from solver.engines.llamacpp.memory import device_bytes
from solver.engines.llamacpp.profile import DEFAULT_BUILD, profile_of
from solver.engines.llamacpp.settings import settings_of
from solver.errors import InputError
from solver.workload import USUAL_CHOICES, EngineName
from tensors.cache import cache_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from solver.cluster import Cluster, ClusterNode
    from solver.engines.commands import Run
    from solver.engines.llamacpp.facts import Assignment, DeviceBytes
    from solver.engines.llamacpp.seats import Seat
    from solver.workload import Offload, Workload
    from tensors.inventory import Inventory

__all__ = ["Emulated", "Split", "emulated_of", "llamacpp_export", "split_flags"]

_PCI_ORDER = ("CUDA_DEVICE_ORDER", "PCI_BUS_ID")


@dataclass(frozen=True, slots=True)
class Split:
    """Slots in order: `host` of them stay with the head's host, then `counts[i]` go to device i."""

    host: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Emulated:
    """What a typed line holds: the bytes of every device with what is behind it, in its order, and the host's last.

    `head` is the machine that it is typed on.
    """

    head: ClusterNode
    rows: tuple[tuple[DeviceBytes, Seat | None], ...]


def emulated_of(
    runs: Sequence[Run], cluster: Cluster, workload: Workload, inventory: Inventory, offload: Offload
) -> Emulated | None:
    """Return the bytes of runs as their export has them; None where there is nothing to type for them."""
    layout = layout_of(runs, cluster)
    if isinstance(layout, str):
        return None
    blocks = inventory.trunk_blocks + inventory.nextn_blocks
    command = _head_command(layout, _split(runs, layout, blocks), workload, "model.gguf", offload, inventory)
    try:
        assignment = _emulated(command, layout, blocks)
        return Emulated(layout.head, _bytes(command, layout, assignment, inventory))
    except InputError:
        return None


def split_flags(split: Split) -> tuple[str, ...]:
    """Return the flags that give slots to devices; the sum of the shares is the number of layers."""
    if not split.counts:
        return ("-ngl", "0")
    return ("-ngl", str(sum(split.counts)), "-ts", ",".join(map(str, split.counts)))


def llamacpp_export(
    runs: Sequence[Run],
    cluster: Cluster,
    workload: Workload,
    blocks: int,
    model_path: str,
    inventory: Inventory | None,
    *,
    strict: bool,
    offload: Offload = USUAL_CHOICES.offload,
) -> Export | Refusal:
    """Return what to type for runs over trunk blocks of a model of so many blocks in all, or why that cannot be.

    Bytes are compared with budgets where the model is at hand; `strict` refuses what does not fit, as for a plan that
    follows this engine's rules. `offload` is what of a run's offloaded blocks stays with a host.
    """
    layout = layout_of(runs, cluster)
    if isinstance(layout, str):
        return Refusal(EngineName.LLAMACPP, layout)
    command = _head_command(layout, _split(runs, layout, blocks), workload, model_path, offload, inventory)
    try:
        assignment = _emulated(command, layout, blocks)
        _check_slots(assignment, layout, runs, blocks)
        rows = None
        if inventory is not None:
            check_moved(assignment, layout, offload, inventory)
            rows = _bytes(command, layout, assignment, inventory)
    except InputError as error:
        return Refusal(EngineName.LLAMACPP, f"the emulation does not give the plan back: {error}")
    over = [] if rows is None else list(over_budgets(rows, layout))
    if over and strict:
        return Refusal(EngineName.LLAMACPP, f"the emulation takes more than there is: {over[0]}")
    return Export(
        engine=EngineName.LLAMACPP,
        build=DEFAULT_BUILD,
        machines=_machines(layout, command),
        notes=tuple(_notes(layout, rows, over)),
    )


def _split(runs: Sequence[Run], layout: Layout, blocks: int) -> Split:
    counts = [run.end - run.start for run in runs]
    # Behind the last run are the slots of blocks that are not loaded, and the head's.
    counts[-1] += blocks - runs[-1].end + 1
    # Devices that take what others leave with their host have no blocks.
    none = (0,) * len(layout.helpers)
    if layout.names[0] is None:
        return Split(counts[0], (*counts[1:], *none))
    return Split(0, (*counts, *none))


def _head_command(
    layout: Layout, split: Split, workload: Workload, model_path: str, offload: Offload, inventory: Inventory | None
) -> Command:
    addresses = ",".join(f"{address_of(seat.machine)}:{port}" for seat, port in layout.servers)
    devices = ",".join(layout.devices) or "none"
    value_type = cache_type(workload.cache_type_v)
    words = (
        "llama-server",
        *("-m", layout.head.model_path or model_path),
        *(("--rpc", addresses) if addresses else ()),
        *("--device", devices),
        *split_flags(split),
        *moved_flags(layout, offload, inventory),
        *("-c", str(workload.context_tokens * workload.sequences)),
        *("-np", str(workload.sequences)),
        *("-ctk", workload.cache_type_k.lower()),
        *("-ctv", workload.cache_type_v.lower()),
        *(("-fa", "on") if value_type.block_values > 1 else ()),
        *("-fit", "off"),
    )
    local = [seat for seat in layout.seats if seat.machine.name == layout.head.name]
    return Command("start the head", _order(local), words)


def _order(seats: Sequence[Seat]) -> tuple[tuple[str, str], ...]:
    return (_PCI_ORDER,) if any(seat.backend.name == "CUDA" for seat in seats) else ()


def _stand_in(command: Command, layout: Layout) -> tuple[str, ...]:
    """Return the words of the head with a name in place of a device that the cluster does not name."""
    unknown = {f"DEVICE_OF_{seat.machine.name}" for seat in layout.seats if seat.local is None}
    names = ["MTL0" if name in unknown else name for name in layout.devices]
    words = list(command.words)
    words[words.index("--device") + 1] = ",".join(names) or "none"
    return tuple(words)


def _emulated(command: Command, layout: Layout, blocks: int) -> Assignment:
    request = request_of(_stand_in(command, layout))
    return assignment_of(profile_of(DEFAULT_BUILD), request, devices_of(request, None), blocks)


def _check_slots(assignment: Assignment, layout: Layout, runs: Sequence[Run], blocks: int) -> None:
    """Refuse an assignment that differs from the plan in any slot."""
    first = 1 if layout.names[0] is None else 0
    for slot, device in enumerate(assignment.slots):
        run = next((number for number, run in enumerate(runs) if run.start <= slot < run.end), len(runs) - 1)
        proper = HOST if run < first else run - first
        if device != proper:
            what = "the head" if slot == blocks else f"block {slot}"
            raise InputError(what, f"it goes to device {device} in place of {proper}.")


def _bytes(
    command: Command, layout: Layout, assignment: Assignment, inventory: Inventory
) -> tuple[tuple[DeviceBytes, Seat | None], ...]:
    """Return the bytes of every device with what is behind it, and of the host."""
    profile = profile_of(DEFAULT_BUILD)
    request = request_of(_stand_in(command, layout))
    seats = layout.device_seats
    devices = tuple(
        replace(device, backend=seat.backend) for device, seat in zip(assignment.devices, seats, strict=True)
    )
    settings = settings_of(profile, inventory, context_request(request, devices))
    rows = device_bytes(profile, inventory, settings, replace(assignment, devices=devices), compute_interval)
    return tuple(zip(rows, [*seats, None], strict=True))


def _machines(layout: Layout, command: Command) -> tuple[MachineCommands, ...]:
    """Return the machines, servers before the head that looks for them."""
    servers: dict[str, list[Command]] = {}
    machines = {seat.machine.name: seat.machine for seat, _ in layout.servers}
    for seat, port in layout.servers:
        device = seat.local or f"DEVICE_OF_{seat.machine.name}"
        words = ("ggml-rpc-server", "--host", "0.0.0.0", "--port", str(port), "--device", device)  # noqa: S104
        servers.setdefault(seat.machine.name, []).append(Command(f"serve {seat.site.device}", _order([seat]), words))
    of_servers = (MachineCommands(name, machines[name].address, tuple(commands)) for name, commands in servers.items())
    return (*of_servers, MachineCommands(layout.head.name, layout.head.address, (command,)))


def _notes(
    layout: Layout, rows: Sequence[tuple[DeviceBytes, Seat | None]] | None, over: Sequence[str]
) -> Iterator[str]:
    yield f"Emulated with the rules of {DEFAULT_BUILD}: every block and the head are where the plan has them."
    if rows is None:
        yield "Bytes were not compared: the model is not at hand."
    elif not over:
        yield "Bytes fit the budgets, with the upper ends of what is computed in."
    yield from over
    if any(row.compute_bytes is None for row, _ in rows or ()):
        yield "What this model computes in is not predicted; the reserve has to cover it."
    if layout.head.name != layout.seats[0].machine.name:
        yield f"The host of {layout.head.name} holds the embeddings, which the plan counts with its first stage."
    if layout.servers:
        yield (
            "A server answers whoever reaches its port: let it be reached from the head alone, at the address that the "
            "head is given."
        )
    if any(layout.offloaded) or layout.names[0] is None:
        yield "Weights on a host are read from its files; what their repacking takes beside is not predicted."
    unknown = list(dict.fromkeys(seat.machine.name for seat in layout.seats if seat.local is None))
    if unknown:
        yield f"The cluster does not name the device of {', '.join(unknown)}; --list-devices shows it."
    missing = [seat.machine.name for seat, _ in layout.servers if seat.machine.address is None]
    if missing:
        yield f"The cluster does not say the address of {', '.join(dict.fromkeys(missing))}; put it in."
