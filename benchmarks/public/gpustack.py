"""GPUStack's workers and estimates (gpustack/gpustack at 47277d79, tests/fixtures, Apache-2.0).

Units are bytes. What may be placed on a GPU is, as in GPUStack, its total less what is allocated and what the system
reserves; what happens to be in use is not counted. An estimate lists the memory of one GPU for every number of
offloaded layers, last layers first: differences of neighbours are layers, with the cache of its context included, and
the last difference is the output. What the GPU takes without any layer (buffers) is taken off every device.
The sources give no bandwidths, so times cannot be asked for.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from benchmarks.public.folder import PublicDataError
from benchmarks.public.plain import NO_ENDS, joined_alike, read_json
from solver.problem import Block, Node, Problem

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Estimate", "Gpu", "Worker", "problem_of", "read_estimate", "read_worker", "worker_names"]


class _Memory(msgspec.Struct, frozen=True, kw_only=True):
    total: int
    is_unified_memory: bool = False
    allocated: int | None = None


class _Device(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    memory: _Memory


class _Status(msgspec.Struct, frozen=True, kw_only=True):
    memory: _Memory
    gpu_devices: tuple[_Device, ...] | None = None


class _Reserved(msgspec.Struct, frozen=True, kw_only=True):
    """Two namings of the same, by age of the file."""

    memory: int | None = None
    ram: int | None = None
    gpu_memory: int | None = None
    vram: int | None = None


class _Worker(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    system_reserved: _Reserved
    status: _Status


class _Use(msgspec.Struct, frozen=True, kw_only=True):
    nonuma: int


class _Step(msgspec.Struct, frozen=True, kw_only=True):
    offload_layers: int = msgspec.field(name="offloadLayers")
    vrams: tuple[_Use, ...]


class _Steps(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[_Step, ...]
    context_size: int = msgspec.field(name="contextSize")


class _Estimated(msgspec.Struct, frozen=True, kw_only=True):
    estimate: _Steps


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """A device under its worker's name, with the bytes that may be placed on it."""

    name: str
    kind: str
    placeable_bytes: int


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """A machine: what may be placed in its RAM, and its GPUs; in a unified memory both are the same bytes."""

    name: str
    unified: bool
    placeable_bytes: int
    gpus: tuple[Gpu, ...]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of every layer, of the output, and of a device that holds none; for a context of so many tokens."""

    name: str
    layer_bytes: tuple[int, ...]
    output_bytes: int
    device_bytes: int
    context_tokens: int


def worker_names(folder: Path) -> tuple[str, ...]:
    """Return the names of all worker files; `folder` is that of GPUStack."""
    return tuple(sorted(path.stem for path in (folder / "workers").glob("*.json")))


def read_worker(folder: Path, name: str) -> Worker:
    """Return a worker by the name of its file.

    Raises:
        PublicDataError: the file is not there or breaks its form.
    """
    read = read_json(folder / "workers" / f"{name}.json", _Worker)
    reserved = read.system_reserved
    ram = reserved.ram if reserved.memory is None else reserved.memory
    vram = reserved.vram if reserved.gpu_memory is None else reserved.gpu_memory
    if ram is None or vram is None:
        raise PublicDataError(f"{name}.json: nothing reserved; expected memory and gpu_memory, or ram and vram.")
    return Worker(
        name=read.name,
        unified=read.status.memory.is_unified_memory,
        placeable_bytes=_placeable(read.status.memory, ram),
        gpus=tuple(
            Gpu(
                name=f"{read.name} gpu {position}",
                kind=device.name,
                placeable_bytes=_placeable(device.memory, vram),
            )
            for position, device in enumerate(read.status.gpu_devices or ())
        ),
    )


def read_estimate(folder: Path, name: str) -> Estimate:
    """Return an estimate by the name of its file.

    Raises:
        PublicDataError: the file is not there, breaks its form, or does not go from no layer to all on one GPU.
    """
    steps = read_json(folder / "estimates" / f"{name}.json", _Estimated).estimate
    counts = [step.offload_layers for step in steps.items]
    if counts != list(range(len(counts))) or len(counts) < 3 or any(len(step.vrams) != 1 for step in steps.items):  # noqa: PLR2004 - none, a layer, the output
        raise PublicDataError(f"{name}.json: steps {counts[:3]} …; expected every number of layers on one GPU.")
    sizes = [after.vrams[0].nonuma - before.vrams[0].nonuma for before, after in pairwise(steps.items)]
    return Estimate(
        name=name,
        layer_bytes=tuple(reversed(sizes[:-1])),
        output_bytes=sizes[-1],
        device_bytes=steps.items[0].vrams[0].nonuma,
        context_tokens=steps.context_size,
    )


def problem_of(estimate: Estimate, workers: tuple[Worker, ...]) -> Problem:
    """Return the question which GPUs of some workers hold a model; every GPU is a node, and RAM holds nothing."""
    nodes = tuple(
        Node(gpu.name, gpu.placeable_bytes - estimate.device_bytes, None, None)
        for worker in workers
        for gpu in worker.gpus
    )
    ends = replace(NO_ENDS, output_bytes=estimate.output_bytes)
    blocks = tuple(Block(size, 0, size, None, 0) for size in estimate.layer_bytes)
    return joined_alike(blocks, ends, nodes, activation_bytes=0, context_tokens=estimate.context_tokens)


def _placeable(memory: _Memory, reserved_bytes: int) -> int:
    return max(memory.total - (memory.allocated or 0) - reserved_bytes, 0)
