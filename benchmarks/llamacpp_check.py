"""One measured run compared with its emulation, figure by figure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.engines.llamacpp.assign import devices_of
from solver.engines.llamacpp.emulation import emulate_request
from solver.engines.llamacpp.facts import HOST, HOST_NAME, Device
from solver.engines.llamacpp.interpret import request_of
from solver.engines.llamacpp.memory import not_predicted
from solver.engines.llamacpp.placement import placed
from solver.engines.llamacpp.profile import MEASURED_BUILD, profile_of
from solver.errors import SolverError
from tensors.errors import ArchitectureError, TensorsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benchmarks.llamacpp_rows import Row
    from solver.engines.llamacpp.emulation import Emulation
    from solver.engines.llamacpp.facts import ComputeInterval
    from tensors.inventory import Inventory

__all__ = ["Checked", "Interval", "check", "emulation_of"]

_MIB = 2**20
_ROUNDING_MIB = 0.005


@dataclass(frozen=True, slots=True)
class Interval:
    """What was measured of a compute buffer, and the interval that was predicted for it."""

    device: str
    measured: int
    low: int
    high: int

    @property
    def holds(self) -> bool:
        """Return whether what was measured lies inside."""
        return self.low <= self.measured <= self.high


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of one row: figures compared, those that differ, intervals, and whether no rule is known."""

    checks: int
    differences: tuple[str, ...]
    intervals: tuple[Interval, ...]
    refused: bool


def emulation_of(row: Row, models: Mapping[str, Inventory], compute: ComputeInterval = not_predicted) -> Emulation:
    """Return the emulation of a row. Its servers are devices with the free memory that was reported.

    Raises:
        SolverError, TensorsError: the row is refused.
    """
    memory = row.log.get("rpc_mem_mib") or []
    servers = ",".join(f"127.0.0.1:{50100 + number}" for number in range(len(memory)))
    words = [row.log["program"], "-m", str(row.path), *(["--rpc", servers] if servers else [])]
    request = request_of([*words, *shlex.split(row.options, posix=False)])
    sizes = {f"RPC{number}": size * _MIB for number, size in enumerate(memory)}
    devices = tuple(
        Device(device.name, device.buffer, device.backend, sizes[device.name]) for device in devices_of(request, None)
    )
    return emulate_request(profile_of(MEASURED_BUILD), request, devices, None, models.__getitem__, compute)


def check(row: Row, models: Mapping[str, Inventory], compute: ComputeInterval = not_predicted) -> Checked:
    """Compare one row with its emulation."""
    try:
        emulation = emulation_of(row, models, compute)
    except ArchitectureError:
        return Checked(0, (), (), refused=True)
    except (SolverError, TensorsError) as error:
        return Checked(1, (f"refused: {error}",), (), refused=False)
    pairs = [*_run(row, emulation), *(_estimate(row, emulation) if row.is_estimate else _buffers(row, emulation))]
    differences = tuple(
        f"{what}: measured {measured}, emulated {emulated}"
        for what, measured, emulated in pairs
        if measured != emulated
    )
    return Checked(len(pairs), differences, tuple(_intervals(row, emulation)), refused=False)


def _run(row: Row, emulation: Emulation) -> Iterator[tuple[str, object, object]]:
    """Yield slots and the context: what the run is before it has buffers."""
    log, settings, assignment = row.log, emulation.settings, emulation.assignment
    if row.slots:
        names = [HOST_NAME if slot == HOST else assignment.devices[slot].name for slot in assignment.slots]
        yield "slots", row.slots, names
    if log.get("n_ctx"):
        yield "context", log["n_ctx"], settings.context_tokens
        yield "context of a sequence", log["n_ctx_seq"], settings.sequence_tokens
        yield "batch", log["n_batch"], settings.batch_tokens
        yield "micro-batch", log["n_ubatch"], settings.micro_batch_tokens
        yield "sequences", log["n_seq_max"], settings.sequences
        yield "unified", log["kv_unified"] == "true", settings.unified


def _estimate(row: Row, emulation: Emulation) -> Iterator[tuple[str, object, object]]:
    devices = {device.name: device for device in emulation.rows}
    for estimate in row.log["estimate_bytes"]:
        device = devices[estimate["dev"]]
        yield f"model of {device.name}", estimate["model"], device.model_bytes
        yield f"context of {device.name}", estimate["context"], device.cache_bytes + device.state_bytes


def _buffers(row: Row, emulation: Emulation) -> Iterator[tuple[str, object, object]]:
    if not row.has_buffers:
        return
    model, cache, state, output = (row.sizes(what) for what in ("model", "kv", "rs", "output"))
    compressors = row.compressor_states()
    for device in emulation.rows:
        yield f"cache of {device.name}", cache[device.name], device.cache_bytes
        yield f"output of {device.name}", output[device.name], device.output_bytes
        if compressors:
            size, terms = compressors.get(device.name, (0.0, 0))
            close = abs(size - device.state_bytes / _MIB) <= _ROUNDING_MIB * terms
            yield (
                f"state of {device.name}",
                f"{size:.2f} MiB",
                f"{size if close else device.state_bytes / _MIB:.2f} MiB",
            )
        else:
            yield f"state of {device.name}", state[device.name], device.state_bytes
        if device.name != HOST_NAME:
            yield f"model of {device.name}", model[device.name], device.model_bytes
    if not row.repacks:
        yield "mapped", row.mapped_bytes, emulation.rows[-1].mapped_bytes
        yield "tensors of Host", row.tensors_on_host(), _tensors_on_host(emulation)


def _tensors_on_host(emulation: Emulation) -> int:
    copies = placed(emulation.profile, emulation.inventory, emulation.assignment, drafts=emulation.settings.drafts)
    return sum(copy.tensor.size_bytes for copy in copies if copy.device == HOST)


def _intervals(row: Row, emulation: Emulation) -> Iterator[Interval]:
    if row.is_estimate:
        measured = {estimate["dev"]: estimate["compute"] for estimate in row.log["estimate_bytes"]}
    elif row.has_buffers:
        measured = dict(row.sizes("compute"))
    else:
        return
    for device in emulation.rows:
        if device.compute_bytes is not None and device.name in measured:
            yield Interval(device.name, measured[device.name], *device.compute_bytes)
