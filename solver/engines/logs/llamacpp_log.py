"""What llama.cpp says of its buffers: one line for each, by load of a model and by context.

    load_tensors:        CUDA0 model buffer size =  6378.40 MiB          llama-model.cpp
    llama_kv_cache:      CUDA0 KV buffer size =   992.00 MiB             llama-kv-cache.cpp
    llama_memory_recurrent: CUDA0 RS buffer size =    62.00 MiB          llama-memory-recurrent.cpp
    sched_reserve:       CUDA0 compute buffer size =   126.77 MiB        llama-context.cpp
    llama_context:   CUDA_Host  output buffer size =     0.49 MiB        llama-context.cpp
    llama_dsv4_comp_state: CUDA0 DSV4 CSA state buffer size = 1.50 MiB   llama-kv-cache-dsv4.cpp

A context may reserve its compute buffers again, and what counts is the last time. A model with windows or an indexer
logs several caches of one context, and a second context has buffers of its own beside the first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from solver.engines.logs.amounts import Observation, Printed, Unit, printed_bytes
from solver.engines.logs.reading import lines_of
from solver.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HOST", "BufferKind", "LlamaBuffer", "LlamaLoad", "LlamaLog", "observations", "parse_llama_log"]

HOST = "Host"
"""The subject of all buffers in host memory."""

_MOST_BUFFERS = 10_000

_BUFFER = re.compile(
    r": +([^\s:][^\s]{0,79}) +(?:DSV4 \w{1,20} )?(model|KV|RS|state|compute|output|LoRA) buffer size = *"
    r"([0-9]{1,12}(?:\.[0-9]{1,9})?) MiB",
    re.ASCII,
)
# Until November 2024 the buffers of a model were not called so.
_OLDER = re.compile(r"(llm_load_tensors: +[^\s:][^\s]{0,79} +)(buffer size =)", re.ASCII)
_DEVICE = re.compile(r": using device (\S{1,80}) \((.{0,200}?)\) \(")
# A tower for images logs its compute buffer in the same words (`alloc_compute_meta`, later `reserve_compute_meta`).
_TOWER = "_compute_meta"
_LOAD = re.compile(r"llama_model_loader: loaded meta data with")
_CONTEXT = re.compile(r"llama_context: constructing llama_context|llama_new_context_with_model: n_ctx ")
# What a context says of itself before it has buffers; some builds leave out that it is constructed.
_OF_CONTEXT = re.compile(r"llama_context: n_(?:seq_max|ctx) +=")
_REMOTE = re.compile(r"RPC([0-9]{0,4})\[(.{1,70})\]")
_HOST_BUFFER = re.compile(r"(CPU|BLAS|AMX|CPU_\w+|Host|\w+_Host)", re.ASCII)


class BufferKind(StrEnum):
    """What a buffer holds."""

    MODEL = "model"
    CACHE = "KV"
    STATE = "RS"
    COMPUTE = "compute"
    OUTPUT = "output"
    COMPRESSOR = "state"
    ADAPTER = "LoRA"


_NAMES = {BufferKind.CACHE: "cache", BufferKind.STATE: "state", BufferKind.ADAPTER: "adapter"}


@dataclass(frozen=True, slots=True)
class LlamaBuffer:
    """One line. `context` counts contexts of the load from 0; buffers of model and adapters have context -1."""

    name: str
    kind: BufferKind
    size: Printed
    context: int


@dataclass(frozen=True, slots=True)
class LlamaLoad:
    """One model that was loaded: its devices as (name, description) in the engine's order, and its buffers."""

    devices: tuple[tuple[str, str], ...]
    buffers: tuple[LlamaBuffer, ...]

    @property
    def model_bytes(self) -> int:
        """Return the bytes of the model's own buffers, rounded as printed."""
        return sum(buffer.size.amount for buffer in self.buffers if buffer.kind is BufferKind.MODEL)


@dataclass(frozen=True, slots=True)
class LlamaLog:
    """Every load of the log that says anything of buffers, in order."""

    loads: tuple[LlamaLoad, ...]

    @property
    def main(self) -> LlamaLoad:
        """Return the load of the largest model, the last one of equals: a draft is smaller, a trial comes before."""
        return max(reversed(self.loads), key=lambda load: load.model_bytes)


@dataclass(slots=True)
class _Open:
    """A load whose lines are being read."""

    devices: dict[str, str] = field(default_factory=dict)
    buffers: list[LlamaBuffer] = field(default_factory=list)
    context: int = -1
    has_begun: bool = False
    """Whether the context that was named last has no buffer yet."""


def parse_llama_log(text: str, where: str) -> LlamaLog:
    """Return the loads of a log without any buffer line if it is not one of llama.cpp.

    Raises:
        InputError: there are more buffer lines than any run writes.
    """
    loads = [_Open()]
    count = 0
    for line in lines_of(text):
        if _LOAD.search(line):
            # Devices may be listed before the file is opened.
            fresh = _Open() if loads[-1].buffers else loads.pop()
            loads.append(fresh)
        elif _CONTEXT.search(line) or (_OF_CONTEXT.search(line) and not loads[-1].has_begun):
            loads[-1].context += 1
            loads[-1].has_begun = True
        elif device := _DEVICE.search(line):
            if loads[-1].buffers:
                loads.append(_Open())
            loads[-1].devices[device[1]] = device[2]
        elif (buffer := _BUFFER.search(_OLDER.sub(r"\1model \2", line))) and _TOWER not in line:
            count += 1
            if count > _MOST_BUFFERS:
                raise InputError(where, f"more than {_MOST_BUFFERS} buffers; expected the log of one run. Cut it.")
            loads[-1].buffers.append(_buffer(buffer, loads[-1].context))
            loads[-1].has_begun &= loads[-1].buffers[-1].context < 0
    return LlamaLog(
        tuple(LlamaLoad(tuple(load.devices.items()), tuple(load.buffers)) for load in loads if load.buffers)
    )


def observations(load: LlamaLoad) -> tuple[Observation, ...]:
    """Return what a load says of every device and of the host, its buffers of one kind added up."""
    names = _device_names(load)
    found: dict[tuple[str, str], tuple[Printed, list[str]]] = {}
    for buffer in _standing(load):
        subject, what = _place(buffer, names)
        size, logged = found.get((subject, what), (Printed(0, 0), []))
        found[subject, what] = (size + buffer.size, [*logged, *({buffer.name} - set(logged))])
    return tuple(
        Observation(subject, what, Unit.BYTES, size, ", ".join(logged))
        for (subject, what), (size, logged) in found.items()
    )


def _buffer(match: re.Match[str], context: int) -> LlamaBuffer:
    kind = BufferKind(match[2])
    context = -1 if kind in (BufferKind.MODEL, BufferKind.ADAPTER) else max(context, 0)
    return LlamaBuffer(match[1], kind, printed_bytes(match[3], "MiB"), context)


def _standing(load: LlamaLoad) -> Iterator[LlamaBuffer]:
    """Yield the buffers that stand at the end: of compute and output buffers of one context, the last by name."""
    last = {(buffer.context, buffer.kind, buffer.name): position for position, buffer in enumerate(load.buffers)}
    for position, buffer in enumerate(load.buffers):
        replaced = buffer.kind in (BufferKind.COMPUTE, BufferKind.OUTPUT)
        if not replaced or last[buffer.context, buffer.kind, buffer.name] == position:
            yield buffer


def _place(buffer: LlamaBuffer, names: dict[str, str]) -> tuple[str, str]:
    what = _NAMES.get(buffer.kind, buffer.kind.value)
    if _HOST_BUFFER.fullmatch(buffer.name) is None:
        return names.get(buffer.name, buffer.name.removesuffix("_Mapped").removesuffix("_Split")), what
    if buffer.kind is not BufferKind.MODEL or buffer.name == "CPU" or buffer.name.endswith("Host"):
        return HOST, what
    # What is repacked for the processor, and what of the files is mapped.
    return HOST, "mapped" if buffer.name == "CPU_Mapped" else "repacked"


def _device_names(load: LlamaLoad) -> dict[str, str]:
    """Return the device of every remote buffer: buffers are numbered by server, devices over all servers.

    The k-th device that is described by a server's address owns the buffer RPCk[address].
    """
    names: dict[str, str] = {}
    seen: dict[str, int] = {}
    for name, description in load.devices:
        if name.startswith("RPC"):
            number = seen[description] = seen.get(description, -1) + 1
            names[f"RPC{number}[{description}]"] = name
            if number == 0:
                names[f"RPC[{description}]"] = name
    unknown = dict.fromkeys(buffer.name for buffer in load.buffers if buffer.name not in names)
    for name in unknown:
        if _REMOTE.fullmatch(name):
            names[name] = f"RPC{len(set(names.values()))}"
    return names
