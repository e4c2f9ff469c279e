"""What the parts of this engine hand to one another: settings, an assignment, facts of a device, bytes of a device.

Emulation and planning share one function, in `solver.engines.llamacpp.memory`:

    device_bytes(
        profile: Profile, inventory: Inventory, settings: Settings, assignment: Assignment, compute: ComputeInterval
    ) -> tuple[DeviceBytes, ...]

It returns every device of the assignment in order and the host last. An emulation makes the assignment from flags; a
planner and an exporter make it themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tensors.cache import CacheKind, CacheType
    from tensors.inventory import Inventory

__all__ = [
    "HOST",
    "HOST_NAME",
    "Assignment",
    "Backend",
    "CacheCells",
    "ComputeInterval",
    "Device",
    "DeviceBytes",
    "DeviceFacts",
    "FlashAttention",
    "Override",
    "Program",
    "Settings",
]

HOST = -1
"""Stands for the host where devices are numbered."""

HOST_NAME = "Host"


class Program(StrEnum):
    """The program that is started; their defaults differ."""

    SERVER = "llama-server"
    COMPLETION = "llama-completion"
    CLI = "llama-cli"
    BENCH = "llama-bench"
    FIT_PARAMS = "llama-fit-params"


class FlashAttention(StrEnum):
    """Whether attention is fused; `auto` is on wherever every device can do it."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Backend:
    """How a kind of device rounds tensors up: to `alignment_bytes`, and quantised rows to `row_elements` (1: not).

    `pipelines` says whether such devices compute beside one another, `maps_files` whether the engine maps files where
    it uses one, `exact` whether the alignment is the same on every machine. `context_bytes` is what its driver takes
    for itself in a process, from low to high.
    """

    name: str
    alignment_bytes: int
    row_elements: int
    pipelines: bool
    maps_files: bool
    exact: bool
    context_bytes: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Device:
    """One device in the engine's order. `buffer` is the name that tensor overrides use for it."""

    name: str
    buffer: str
    backend: Backend
    free_bytes: int | None


@dataclass(frozen=True, slots=True)
class Override:
    """Tensors whose name the regular expression is found in go to a device by number, or to HOST."""

    pattern: str
    device: int


@dataclass(frozen=True, slots=True)
class Settings:
    """What the engine makes of a request, all defaults filled in and all padding done.

    `context_tokens` is the total, `sequence_tokens` what one sequence may hold; unified: all sequences share one run of
    cells. `output_rows` is how many rows of logits a graph is reserved for at most. `states_per_sequence` counts copies
    of recurrent state, above 1 where drafts may be taken back. `drafts` says that nextn blocks are loaded and used in
    a context of their own. `lazy_bytes` is the size above which tensors that allow it are read by row, None for never.
    `mixed_batches` says that graphs take batches of tokens and vectors together.
    """

    program: Program
    context_tokens: int
    sequence_tokens: int
    sequences: int
    unified: bool
    batch_tokens: int
    micro_batch_tokens: int
    output_rows: int
    type_k: CacheType
    type_v: CacheType
    draft_type_k: CacheType
    draft_type_v: CacheType
    flash_attention: FlashAttention
    full_windows: bool
    offloads_cache: bool
    offloads_operations: bool
    maps_files: bool
    lazy_bytes: int | None
    drafts: bool
    states_per_sequence: int
    mixed_batches: bool

    @property
    def streams(self) -> int:
        """Return how many runs of cells there are."""
        return 1 if self.unified else self.sequences


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which device every slot is on. `slots[i]` is a number of `devices` or HOST: block i, and the head at the end.

    Blocks include nextn blocks, whether they are loaded or not. Overrides move single tensors, first match first; the
    caches of their blocks stay.
    """

    devices: tuple[Device, ...]
    slots: tuple[int, ...]
    overrides: tuple[Override, ...]

    @property
    def blocks(self) -> int:
        """Return how many slots are blocks."""
        return len(self.slots) - 1

    @property
    def head(self) -> int:
        """Return the device of the head."""
        return self.slots[-1]


@dataclass(frozen=True, slots=True)
class CacheCells:
    """One kind of cache of the model: how many cells a stream has, over how many streams, on which blocks."""

    kind: CacheKind
    cells: int
    streams: int
    blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What is known at one device (or the host) when its compute buffer is sized.

    `device` is its number in the assignment or HOST. `blocks` are the loaded blocks whose slot is here, ascending;
    `parted_blocks` those of them some of whose tensors an override has put elsewhere, `guest_blocks` blocks of other
    devices some of whose tensors one has put here. `caches` are all caches of the model, wherever they are;
    `pipeline_copies` is how many copies of every graph input a device keeps (1 without pipeline parallelism).
    """

    inventory: Inventory
    settings: Settings
    assignment: Assignment
    device: int
    blocks: tuple[int, ...]
    parted_blocks: tuple[int, ...]
    guest_blocks: tuple[int, ...]
    has_head: bool
    pipeline_copies: int
    caches: tuple[CacheCells, ...]

    @property
    def is_host(self) -> bool:
        """Return whether this is the host."""
        return self.device == HOST


class ComputeInterval(Protocol):
    """How the compute buffer of a device is bounded."""

    def __call__(self, facts: DeviceFacts) -> tuple[int, int] | None:
        """Return (low, high) in bytes, both included, or None where no rule predicts it."""
        ...


@dataclass(frozen=True, slots=True)
class DeviceBytes:
    """Bytes that a run allocates on one device.

    `compute_bytes` is an interval, None where nothing predicts it. `mapped_bytes` is what the host maps of the model's
    files, None for devices and where files are not mapped: it is file cache, and `model_bytes` is what of it is needed.
    """

    name: str
    model_bytes: int
    cache_bytes: int
    state_bytes: int
    compute_bytes: tuple[int, int] | None
    output_bytes: int
    mapped_bytes: int | None
