"""What a command line asks for, typed: flags with their values become one record."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solver.engines.llamacpp.facts import FlashAttention, Program
    from tensors.cache import CacheType

__all__ = ["CACHE_RAM_BYTES", "Adapters", "ContextTerms", "Draft", "Fit", "Projector", "Request", "SplitMode"]

_MIB = 2**20

CACHE_RAM_BYTES = 8192 * _MIB
"""What a server keeps of prompts at most where nothing is said (common/common.h, cache_ram_mib)."""


class SplitMode(StrEnum):
    """How a model is spread over devices; rows and tensors are not emulated."""

    LAYER = "layer"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether and how the engine adapts what is not said to free memory; margins for all devices, or one for each."""

    enabled: bool
    margin_bytes: tuple[int, ...]
    least_context_tokens: int


@dataclass(frozen=True, slots=True)
class Projector:
    """A file of a vision or audio tower. `device` names one, "" for the first that the engine finds; None: the host."""

    path: str
    device: str | None


@dataclass(frozen=True, slots=True)
class Draft:
    """A model that drafts: its file, layers on devices (None: all), devices (None: the model's), moved tensors."""

    path: str
    layers: int | None
    devices: tuple[str, ...] | None
    overrides: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Adapters:
    """Files of low-rank adapters."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContextTerms:
    """What a command line says of its context. None stands for "not said".

    `draft_tokens` are drafted at once by nextn blocks (`drafts`) or by other means, 0 by none; recurrent states are
    kept for `rolled_back_tokens` of them.
    """

    program: Program
    context_tokens: int | None
    slot_tokens: int | None
    sequences: int | None
    unified: bool | None
    batch_tokens: int
    micro_batch_tokens: int
    type_k: CacheType
    type_v: CacheType
    draft_type_k: CacheType
    draft_type_v: CacheType
    flash_attention: FlashAttention
    full_windows: bool
    offloads_cache: bool
    offloads_operations: bool
    lazy_bytes: int | None
    drafts: bool
    draft_tokens: int
    rolled_back_tokens: int


@dataclass(frozen=True, slots=True)
class Request(ContextTerms):
    """A command line. None stands for "not said".

    `layers` None offloads all; `layers_said` unless that is left to the engine. `shares` are 32-bit floats as given.
    `overrides` are (regular expression, buffer), in order. `rpc_servers` are addresses, of which `devices` may name the
    first `servers_before_devices`. `cache_ram_bytes` is None where prompts are kept without limit.
    """

    model: str
    repacks: bool
    maps_files: bool | None
    layers: int | None
    layers_said: bool
    shares: tuple[float, ...]
    split: SplitMode
    main_device: int
    devices: tuple[str, ...] | None
    rpc_servers: tuple[str, ...]
    servers_before_devices: int
    overrides: tuple[tuple[str, str], ...]
    fit: Fit
    draft: Draft | None
    projector: Projector | None
    adapters: Adapters
    cache_ram_bytes: int | None
    checkpoints: int
    notes: tuple[str, ...]
